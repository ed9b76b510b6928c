import { expect, test } from 'bun:test';
import { sign } from 'node:crypto';
import { explainToken } from '../../../src/auth/explain.ts';
import { requirementReasons } from '../../../src/auth/guard/requirements.ts';
import { checkOptions } from '../../../src/auth/options/check-options.ts';
import { createClaimsChecks } from '../../../src/auth/token/claims.ts';
import type { GuardOptions, RejectionReason } from '../../../src/auth/types.ts';
import { createChecker, ISSUER, offline, tokenOf } from '../../support/checked.ts';
import { rsaKey } from '../../support/keys.ts';
import { nowSeconds, type TokenOverrides } from '../../support/mint.ts';
import { bound, makeProof, proofKey, publicJwk } from '../../support/proof.ts';

/** A fault of a token or a proof: the reason to reject it, and the row of explainToken(). */
type Fault = readonly [reason: RejectionReason, row: string, change: TokenOverrides];

const ofHeader: readonly Fault[] = [
  ['token_oversized', 'format', { claims: { note: 'n'.repeat(12_288) } }],
  ['algorithm_unsupported', 'algorithm', { header: { alg: 'HS256' } }],
  ['critical_header', 'type', { header: { crit: ['b64'], b64: true } }],
  ['type_unsupported', 'type', { header: { typ: 'logout+jwt' } }],
  ['key_id_missing', 'key', { header: { kid: undefined } }],
];
const ofKeys: readonly Fault[] = [
  ['key_unknown', 'key', { header: { kid: 'unknown' } }],
  ['signature_invalid', 'signature', { key: rsaKey('stranger') }],
];
const ofIssuer: Fault = ['issuer_mismatch', 'issuer', { claims: { iss: 'https://stranger.example.test/' } }];
const ofAudience: Fault = ['audience_mismatch', 'audience', { claims: { aud: 'https://other.example.test/' } }];
const ofClaims: readonly Fault[] = [
  ofAudience,
  ['required_claim_mismatch', 'claims', { claims: { tid: 'other' } }],
  ['type_unsupported', 'kind', { claims: { token_use: 'id' } }],
  ['claims_malformed', 'forms', { claims: { sub: 1 } }],
  ['token_expired', 'expiry', { claims: { exp: 1 } }],
  ['token_not_yet_valid', 'not before', { claims: { nbf: nowSeconds() + 1000 } }],
  ['token_too_old', 'age', { claims: { iat: 1 } }],
  ['token_bound', 'binding', { claims: { cnf: { jkt: 'x' } } }],
  ['claims_unexpected', 'schema', { claims: { role: 'guest' } }],
  ['authentication_insufficient', 'step-up', { claims: { acr: 'low' } }],
  ['scope_insufficient', 'scope', { claims: { scope: 'other' } }],
];
const ofProof: readonly Fault[] = [
  ['proof_type', 'proof', { header: { typ: 'JWT' } }],
  ['proof_algorithm', 'proof alg', { header: { alg: 'HS256' } }],
  ['proof_critical_header', 'proof alg', { header: { crit: ['b64'] } }],
  ['proof_key', 'proof jwk', { header: { jwk: publicJwk(proofKey('RS256')) } }],
  ['proof_method', 'htm', { claims: { htm: 'POST' } }],
  ['proof_url', 'htu', { claims: { htu: 'https://other.example.test/messages' } }],
  ['proof_time', 'iat', { claims: { iat: 1 } }],
  ['proof_token_hash', 'ath', { claims: { ath: 'x' } }],
  ['proof_id', 'jti', { claims: { jti: '' } }],
  ['proof_signature', 'proof sig', { signWith: (input) => sign('sha256', input, proofKey()) }],
  ['proof_key_mismatch', 'jkt', { key: proofKey('ES256', 'other') }],
];

const requirements = { acr: 'high', scope: 'read:messages' };
const options: Partial<GuardOptions> = {
  requiredClaims: { tid: 'tenant' },
  maxTokenAgeSeconds: 3600,
  claims: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => (Object(value).role === 'admin' ? { value } : { issues: ['role'] }),
    },
  },
};
const several = { ...options, keys: undefined, issuer: [{ ...offline() }, 'https://other.example.test/'] };
const url = 'https://api.example.test/messages';
const dpop = { dpop: 'on', publicUrl: 'https://api.example.test' } as const;
const boundToken = tokenOf({ claims: { cnf: bound, acr: 'high' } });

const good = { tid: 'tenant', role: 'admin', acr: 'high' };
const withToken = (change: TokenOverrides) =>
  `Authorization: Bearer ${tokenOf({ ...change, claims: { ...good, ...change.claims } })}`;
const withProof = (change: TokenOverrides) =>
  `curl ${url} -H 'Authorization: DPoP ${boundToken}' -H 'DPoP: ${makeProof({ url, token: boundToken }, change)}'`;

/** The faults in the order in which they count. With several issuers, `iss` decides which keys are used. */
const orders: Readonly<Record<string, readonly [typeof withToken, Partial<GuardOptions>, readonly Fault[]]>> = {
  'a token': [withToken, options, [...ofHeader, ...ofKeys, ofIssuer, ...ofClaims]],
  'a token of several issuers': [withToken, several, [...ofHeader, ofIssuer, ...ofKeys, ofAudience]],
  'a proof': [withProof, dpop, ofProof],
};

/** Returns both changes in one; undefined if they exclude each other. */
function both(one: TokenOverrides, other: TokenOverrides): TokenOverrides | undefined {
  const [names, others] = [one, other].map(({ header, claims }) => ({ ...header, ...claims }));
  if (one !== other && Object.keys({ ...names }).some((name) => name in { ...others })) return undefined;
  const parts = { header: { ...one.header, ...other.header }, claims: { ...one.claims, ...other.claims } };
  return { ...one, ...other, ...parts };
}

for (const [what, [write, given, faults]] of Object.entries(orders)) {
  const check = createChecker(given);
  for (const [at, [reason, row, change]] of faults.entries())
    test(`createGuard() and explainToken() reject ${what} for ${reason} (${row}), whatever else is wrong`, async () => {
      for (const [, laterRow, laterChange] of faults.slice(at)) {
        const changes = both(change, laterChange);
        if (changes === undefined) continue;
        const text = write(changes);
        const headers = [...text.matchAll(/(Authorization|DPoP): ([^'\n]+)/g)].map(([, name, value]) => [name, value]);
        const decided = await check(new Headers(headers as [string, string][]), requirements);
        const { checks } = await explainToken(text, { ...offline(), ...given } as GuardOptions, { requirements });
        const rejecting = checks.find(({ verdict }) => verdict === 'rejected')?.name;
        expect([decided.reason, rejecting, laterRow]).toEqual([reason, row, laterRow]);
        // Of a token that is too long, nothing is shown.
        expect(checks.find(({ name }) => name === laterRow)?.verdict).not.toBe('passed');
      }
    });
}

test('each check of claims and each requirement is in the pairs', () => {
  const checked = { ...checkOptions({ ...offline(), ...options }), issuer: ISSUER };
  const checks = createClaimsChecks(checked).map(({ rejection }) => rejection.reason);
  const faults = [ofIssuer, ...ofClaims].map(([reason]) => reason);
  expect(faults).toEqual([...checks, 'token_bound', 'claims_unexpected', ...requirementReasons]);
});
