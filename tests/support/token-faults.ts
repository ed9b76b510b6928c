import type { RejectionReason } from '../../src/auth/types.ts';
import { type Forgery, forge } from '../../src/probe/forge/forge.ts';
import { rows } from '../../src/probe/run/rows.ts';
import { certificate } from './certificates.ts';
import { rsaKey, signingKey } from './keys.ts';
import { baseOf } from './mint.ts';
import { forgeCubeRoot } from './signatures.ts';

export type TokenRow = readonly [name: string, token: Forgery];
export interface Fault {
  readonly name: string;
  readonly reason: RejectionReason;
  readonly token: Forgery;
  readonly isBeforeKeys: boolean;
}

export const tokenTextOf = (token: Forgery, issuer: string): string => forge(baseOf(issuer), token);

/** The rows of the probe that a reason rejects, by ID or by topic. */
const rowsByReason: Readonly<Partial<Record<RejectionReason, string>>> = {
  token_opaque: 'text',
  token_encrypted: 'encrypted',
  token_malformed: 'none altered encoding header text-dots text-json-around',
  algorithm_unsupported: 'none-signed hmac alg text-empty-objects',
  critical_header: 'crit embedded-crit',
  type_unsupported: 'type header-repeated-typ kind',
  key_id_missing: 'embedded-jwk-alone embedded-jku-alone embedded-x5c-alone kid-type',
  key_unknown: 'kid header-repeated-kid embedded-kid signature-unknown-kid',
  signature_invalid: `embedded signature altered-header ${['claims', 'replaced', 'bit'].map((name) => `altered-payload-${name}`).join(' ')}
    ${['bit', 'short', 'zero', 'longer'].map((name) => `altered-signature-${name}`).join(' ')}`,
  issuer_mismatch: 'issuer',
  audience_mismatch: 'audience kind-id-token kind-logout-other',
  claims_malformed: 'claims',
  token_expired: 'expiry',
  token_not_yet_valid: 'notbefore',
  token_bound: 'bound',
};
const reasons = new Map(
  Object.entries(rowsByReason).flatMap(([reason, ids]) =>
    ids.split(/\s+/).map((id) => [id, reason as RejectionReason] as const),
  ),
);

/** Rules of our own, and faults that need a key of `crowdedKeySet()` or of a file. */
const own: Readonly<Partial<Record<RejectionReason, readonly TokenRow[]>>> = {
  token_oversized: [['more than 16 KiB', { claims: { note: 'n'.repeat(12_288) } }]],
  token_malformed: [['an empty payload', { payloadText: '' }]],
  algorithm_unsupported: [
    [
      'ES256 by a published key (CVE-2026-22818)',
      () => ({ header: { alg: 'ES256', kid: 'elliptic' }, signedAs: 'ES256', key: signingKey('ES256', 'elliptic') }),
    ],
  ],
  critical_header: [['b64 that changes nothing (RFC 7797 §6)', { header: { crit: ['b64'], b64: true } }]],
  key_id_missing: [undefined, ''].map((kid): TokenRow => [`kid ${JSON.stringify(kid)}`, { header: { kid } }]),
  key_unknown: [
    ['a key of 1024 bits', () => ({ header: { kid: 'weak' }, key: rsaKey('weak', 1024) })],
    ['a use that is not text', () => ({ header: { kid: 'numeric-use' }, key: rsaKey('numeric-use') })],
    ['an elliptic key for RS256', () => ({ header: { kid: 'elliptic' }, key: rsaKey('elliptic') })],
    ['a symmetric key for RS256', () => ({ header: { kid: 'symmetric' }, key: rsaKey('symmetric') })],
  ],
  signature_invalid: [
    [
      'a forged cube root, for a key with exponent 3 (CVE-2006-4339, CVE-2016-1494)',
      { header: { kid: 'cubic' }, signWith: forgeCubeRoot },
    ],
    ['a signature by another published key', () => ({ key: rsaKey('other') })],
    ['the kid of another published key', { header: { kid: 'other' } }],
    ['a signature by neither of two keys under one kid', { header: { kid: 'twins' } }],
    [
      'x5c and x5t of the attacker (CVE-2018-0114)',
      () => ({ header: { x5c: [certificate('a').der.toString('base64')], x5t: 'AAAA' }, key: rsaKey('stranger') }),
    ],
    ...[{ aud: 'other' }, { iss: 'x' }].map(
      (claims): TokenRow => [
        `a bad signature and ${JSON.stringify(claims)}, which must not be reported (CVE-2024-51744)`,
        () => ({ key: rsaKey('stranger'), claims }),
      ],
    ),
  ],
  token_expired: ['first twin', 'second twin'].map(
    (twin): TokenRow => [
      `an expired token by the ${twin}`,
      () => ({ key: rsaKey(twin), header: { kid: 'twins' }, claims: { exp: 1 } }),
    ],
  ),
};

const beforeKeys = /^token_(?:oversized|opaque|encrypted|malformed)|^(?:algorithm|critical|type|key_id)_/;
const faultOf = (name: string, reason: RejectionReason, token: Forgery): Fault => ({
  ...{ name, reason, token, isBeforeKeys: beforeKeys.test(reason) && !name.startsWith('kind-') },
});

/** Every fault of a token but its scope: known attacks with their advisories, and sections of standards. */
export const tokenFaults: readonly Fault[] = [
  ...rows.flatMap(({ id, forgeries = [] }) => {
    const reason = reasons.get(id) ?? reasons.get(id.replace(/-.*/, ''));
    // Which keys may verify is in the probe, whose issuer publishes them, and typ JWT is a matter of the profile.
    if (reason === undefined || id === 'type-jwt') return [];
    return forgeries.map((token, at) => {
      // A signature of another algorithm is never looked at.
      const { header: { alg = 'RS256' } = {} } = typeof token === 'function' ? {} : token;
      const found = reason === 'signature_invalid' && alg !== 'RS256' ? 'algorithm_unsupported' : reason;
      return faultOf(forgeries.length > 1 ? `${id} ${at + 1}` : id, found, token);
    });
  }),
  ...Object.entries(own).flatMap(([reason, list]) =>
    list.map(([name, token]) => faultOf(name, reason as RejectionReason, token)),
  ),
];
/** One fault for each reason that is found before a key is looked up. The verifier is tried with all of them. */
export const faultsBeforeKeys: readonly Fault[] = [
  ...new Map(tokenFaults.flatMap((fault) => (fault.isBeforeKeys ? [[fault.reason, fault]] : []))).values(),
];

const by = (name: string, kid = name, bits = 2048): TokenRow => [
  `a signature by the key ${name}`,
  () => ({ header: { kid }, key: rsaKey(name, bits) }),
];
export const acceptedTokens: readonly TokenRow[] = [
  ['nothing special', {}],
  ...[undefined, 'JWT', 'jwt', 'application/jwt'].map((typ): TokenRow => [`typ ${typ}`, { header: { typ } }]),
  ...rows.flatMap(({ id, forgeries = [] }) =>
    id.startsWith('accepts') ? forgeries.map((token, at): TokenRow => [`${id} ${at + 1}`, token]) : [],
  ),
];
/** Tokens by the good keys of `crowdedKeySet()`, and by one that has bad ones before it under its kid. */
export const acceptedByKeys: readonly TokenRow[] = [
  ...['with-alg', 'without-use', 'to-verify', 'annotated', 'spoilt'].map((name) => by(name)),
  by('strong', 'strong', 3072),
  ...['first twin', 'second twin'].map((name) => by(name, 'twins')),
];
