import { sign } from 'node:crypto';
import type { RefusalReason } from '../../../src/auth/types.ts';
import { rsaKey } from '../../support/keys.ts';
import { AUDIENCE, base64url, mintToken, nowSeconds, SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { forgeCubeRoot, signOneModulusUp } from '../../support/signatures.ts';
import {
  attackersKeys,
  bytesOf,
  changePart,
  claims,
  ELSEWHERE,
  each,
  headers,
  membersInWords,
  payload,
  type TokenRow,
} from '../../support/token-rows.ts';

/** Changes the bytes that one part of a finished token encodes. */
const changeBytes = (index: number, change: (bytes: Buffer) => Uint8Array | string) =>
  changePart(index, (part) => base64url(change(bytesOf(part))));
/** Flips a bit in the middle. */
const flipBit = (bytes: Buffer) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte));
/** Returns valid claims as JSON members, without the braces. */
const good = (issuer: string) => `"iss":"${issuer}","aud":"${AUDIENCE}","exp":${nowSeconds() + 300}`;
/** Returns a row that is signed in another way. */
const signed = (name: string, signWith: NonNullable<TokenOverrides['signWith']>, kid = SIGNING_KID): TokenRow => [
  name,
  { header: { kid }, signWith },
];
/** Returns a row that names the key `kid` and is signed by `key`. */
const by = (name: string, kid: string, key = rsaKey(kid)): TokenRow => [name, () => ({ header: { kid }, key })];
/** Returns a row that an attacker signed, with these members of the header. */
const withAttackersKeys = (...names: readonly string[]): TokenRow => [
  `${names.join(', ')} of the attacker (CVE-2018-0114, RFC 8725 §3.10)`,
  (issuer) => ({
    header: Object.fromEntries(Object.entries(attackersKeys(issuer)).filter(([name]) => names.includes(name))),
    key: rsaKey('stranger'),
  }),
];

const other = 'https://other.example.test/';
const withIss = (name: string, iss: (issuer: string) => unknown): TokenRow => [
  `iss ${name} (CVE-2025-30144, CVE-2024-53861)`,
  (issuer) => ({ claims: { iss: iss(issuer) } }),
];
/** Faults that are found with the keys, in the order of the checks. */
export const withKeys = {
  key_unknown: [
    ...headers('kid', 'CVE-2024-34273, RFC 8725 §3.10', ['__proto__', 'constructor', 'hasOwnProperty', 'length', '0']),
    ...headers('kid', 'RFC 8725 §3.10', ['../../../../dev/null', 'file:///dev/null', "' UNION SELECT 'secret' -- "]),
    ...headers('kid', 'RFC 8725 §3.10', [`${SIGNING_KID}\0`, ` ${SIGNING_KID}`, SIGNING_KID.toUpperCase(), '*']),
    ['a second kid, unknown', { headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","kid":"unknown"}` }],
    by('a signature by a key for encryption (GHSA-29f5-h73v-w8j9)', 'encrypting'),
    by('a signature by a key of 1024 bits (CVE-2022-23539, RFC 7518 §3.3)', 'weak', rsaKey('weak', 1024)),
    ['an expired token of an unknown key', { claims: { exp: 1 }, header: { kid: 'never-published' } }],
  ],
  signature_invalid: [
    ...[0, 1, 0xff].map((byte) => signed(`a signature of ${byte}s (CVE-2022-21449)`, () => Buffer.alloc(256, byte))),
    signed('a signature that is the number 1 (RFC 8017 §8.2.2)', () => Buffer.alloc(256).fill(1, 255)),
    signed('a signature of one byte (RFC 8017 §8.2.2)', () => Buffer.alloc(1)),
    ['a signature of PS256 (RFC 8725 §3.1)', { signedAs: 'PS256' }],
    signed('a signature of RS1 (RFC 8725 §3.2)', (input) => sign('RSA-SHA1', input, rsaKey(SIGNING_KID))),
    signed('a forged cube root, for a key with exponent 3 (CVE-2006-4339, CVE-2016-1494)', forgeCubeRoot, 'cubic'),
    signed('a signature one modulus up (RFC 8017 §8.2.2)', (input) => signOneModulusUp(input, rsaKey(SIGNING_KID))),
    by('a signature by an unpublished key (RFC 8725 §3.3)', SIGNING_KID, rsaKey('stranger')),
    by('a signature by another published key (RFC 8725 §3.10)', SIGNING_KID, rsaKey('other')),
    by('the kid of another published key (RFC 8725 §3.10)', 'other', rsaKey(SIGNING_KID)),
    by('a signature by neither of two keys under one kid', 'twins', rsaKey(SIGNING_KID)),
    ['a signature with one bit flipped', changeBytes(2, flipBit)],
    ['a signature a byte short', changeBytes(2, (bytes) => bytes.subarray(1))],
    ['a leading zero byte in its signature', changeBytes(2, (bytes) => Buffer.of(0, ...bytes))],
    ['a byte behind its signature', changeBytes(2, (bytes) => Buffer.of(...bytes, 0))],
    ['a payload altered after it was signed (RFC 8725 §3.3)', changeBytes(1, () => '{"admin":true}')],
    ['a payload with one bit flipped', changeBytes(1, flipBit)],
    ['a header altered after it was signed', changeBytes(0, (bytes) => `${bytes} `)],
    withAttackersKeys('jwk'),
    withAttackersKeys('x5c', 'x5t'),
    withAttackersKeys('jku', 'x5u', 'iss'),
    ...each([{ exp: 1 }, { aud: 'other' }, { iss: 'x' }], (wrong) => [
      `a bad signature and ${membersInWords(wrong)}, which must not be reported (CVE-2024-51744)`,
      () => ({ key: rsaKey('stranger'), claims: wrong }),
    ]),
  ],
  issuer_mismatch: [
    withIss('in a list', (issuer) => [issuer]),
    withIss('in a list of several', (issuer) => [other, issuer]),
    withIss('as a name', (issuer) => ({ [issuer]: true })),
    withIss('in part', (issuer) => issuer.slice(0, 7)),
    withIss('less its slash', (issuer) => issuer.slice(0, -1)),
    withIss('and more', (issuer) => `${issuer}evil`),
    withIss('in upper case', (issuer) => issuer.toUpperCase()),
    withIss('behind a blank', (issuer) => ` ${issuer}`),
    withIss('of an attacker who has keys', (issuer) => issuer + ELSEWHERE),
    ...claims('iss', 'RFC 8725 §3.8', [undefined, null, '', other, 0, true]),
    ['a wrong iss and aud, expired', { claims: { exp: 1, iss: 'x', aud: 'other' } }],
    payload('claims in __proto__ (CVE-2024-34273)', (issuer) => `{"__proto__":{${good(issuer)}}}`),
    payload('a second iss (RFC 7519 §4)', (issuer) => `{${good(issuer)},"iss":"other"}`),
  ],
  audience_mismatch: [
    ...claims('aud', 'CVE-2020-26160, CVE-2025-62610', [undefined, [], '', null, [AUDIENCE, 1], [[AUDIENCE]], 0]),
    ...claims('aud', 'CVE-2020-26160', [{ 0: AUDIENCE, length: 1 }, { [AUDIENCE]: true }, [null, AUDIENCE]]),
    ...claims('aud', 'RFC 8725 §3.9', ['other', ['other'], AUDIENCE.slice(0, -1), `${AUDIENCE}x`, `${AUDIENCE}/`]),
    ...claims('aud', 'RFC 8725 §3.9', [`x ${AUDIENCE} y`, AUDIENCE.toUpperCase()]),
    ...each([{ exp: 1 }, { exp: undefined }, { nbf: 2 ** 40 }], (wrong) => [
      `another aud and ${membersInWords(wrong)}`,
      { claims: { aud: other, ...wrong } },
    ]),
    ['an audience beside a number, expired (RFC 7519 §4.1.3)', { claims: { aud: [AUDIENCE, 1], exp: 1 } }],
    payload('a second aud (RFC 7519 §4)', (issuer) => `{${good(issuer)},"aud":"other"}`),
    ['an ID token (RFC 8725 §2.8, RFC 9068 §5)', { claims: { aud: 'client-1', azp: 'client-1', nonce: 'n' } }],
    ['a logout token without a type (RFC 8725 §2.8)', { header: { typ: undefined }, claims: { aud: 'c', events: {} } }],
  ],
  claims_malformed: [
    ...['not json', '{"iss":', '[]', 'null', 'true', '0', '"text"', ' ', '{"a":1}{'].map((text) =>
      payload(`the payload ${text} (CVE-2026-107723)`, () => text),
    ),
    payload('claims in an array (CVE-2026-107723)', (issuer) => `[{${good(issuer)}}]`),
    payload('claims and more behind them (RFC 7519 §7.2)', (issuer) => `{${good(issuer)}}{}`),
    payload('claims behind a byte order mark', (issuer) => `\ufeff{${good(issuer)}}`),
    payload('claims beyond UTF-8 (RFC 8725 §3.7)', (issuer) => Buffer.from(`{${good(issuer)},"sub":"\xff"}`, 'latin1')),
    payload('a JWT in a JWT (RFC 7519 §5.2)', (issuer) => mintToken(issuer)),
    ...claims('exp', 'CVE-2026-25537', [undefined, null, '', '9999999999', true, [9999999999], {}]),
    ...claims('nbf', 'CVE-2026-25537', [null, '', '0', '9999999999', false, [0], {}]),
    ...claims('iat', 'RFC 7519 §4.1.6', [null, '0', [], {}]),
    ...claims('sub', 'RFC 7519 §4.1.2', [null, 1, ['a'], {}]),
    ...claims('client_id', 'RFC 8693 §4.3', [null, 1]),
    ...['exp', 'nbf'].flatMap((name) =>
      ['1e400', '-1e400'].map((text) =>
        payload(`${name} ${text} (RFC 8259 §6)`, (issuer) => `{${good(issuer)},"${name}":${text}}`),
      ),
    ),
  ],
  token_expired: [
    ...claims('exp', 'RFC 7519 §4.1.4', [0, -1, -1e308]),
    ['an exp at this very second', () => ({ claims: { exp: nowSeconds() } })],
    ['an exp with digits behind the point (HSEC-2026-0010)', () => ({ claims: { exp: nowSeconds() - 60 + 0.0001 } })],
    ['no scope either', { claims: { exp: 1, scope: '' } }],
    payload('a second exp, past (RFC 7519 §4)', (issuer) => `{${good(issuer)},"exp":1}`),
  ],
  token_not_yet_valid: [
    ...claims('nbf', 'RFC 7519 §4.1.5', [1e308]),
    ['an nbf a minute ahead (RFC 7519 §4.1.5)', () => ({ claims: { nbf: nowSeconds() + 60 } })],
  ],
  token_bound: claims('cnf', 'RFC 9449 §7.1, RFC 8705 §3', [{ jkt: 'x' }, { 'x5t#S256': 'x' }, { jwk: {} }, {}, null]),
} satisfies Partial<Record<RefusalReason, readonly TokenRow[]>>;
