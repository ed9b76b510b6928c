import { sign } from 'node:crypto';
import type { RefusalReason } from '../../../src/auth/refusals.ts';
import { rsaKey, signingKey } from '../../support/keys.ts';
import { AUDIENCE, base64url, mintToken, nowSeconds, SIGNING_KID } from '../../support/mint.ts';
import { forgeCubeRoot, signOneModulusUp } from '../../support/signatures.ts';
import {
  attackersKeys,
  by,
  bytesOf,
  changeBytes,
  changePart,
  claims,
  ELSEWHERE,
  each,
  encodeOtherwise,
  encrypted,
  flipBit,
  good,
  headers,
  hmac,
  insert,
  jwk,
  membersInWords,
  nones,
  pad,
  payload,
  pem,
  publicKey,
  serialized,
  setSpareBits,
  signed,
  type TokenRow,
  texts,
  withAttackersKeys,
} from '../../support/token-rows.ts';

/** A token that is rejected, by the reason of the verifier. */
export interface Fault {
  readonly name: string;
  readonly reason: RefusalReason;
  readonly token: TokenRow[1];
}

export const acceptedTokens: readonly TokenRow[] = [
  ['nothing special', {}],
  ...headers('typ', 'RFC 7515 §4.1.9', [undefined, 'JWT', 'jwt', 'Jwt', 'at+jwt', 'AT+JWT', 'application/jwt']),
  ...headers('typ', 'RFC 9068 §2.1', ['application/at+jwt', 'Application/AT+JWT']),
  ...headers('x-note', 'RFC 7515 §4', [{ deep: [1] }]),
  ['keys of an attacker in its header', (issuer) => ({ header: attackersKeys(issuer) })],
  ...claims('aud', 'RFC 7519 §4.1.3', [[AUDIENCE], ['https://other.example.test/', AUDIENCE]]),
  ['no iat, sub and scope', { claims: { iat: undefined, sub: undefined, scope: undefined } }],
  ['an exp with a fraction', () => ({ claims: { exp: nowSeconds() + 3600.5 } })],
  ...claims('nbf', 'RFC 7519 §4.1.5', [1]),
  ['unknown claims', { claims: { azp: 'client-1', 'https://example.test/x': [{ y: null }], name: 'Zoë 🦊' } }],
];

/** Faults that are found before a key is looked up. */
const beforeKeys = {
  token_oversized: [['more than 8 KiB', { claims: { note: 'n'.repeat(8192) } }]],
  token_opaque: [
    ...texts('CWE-1321', ['ory_at_opaque.too', '.', 'a', '{"payload":"e30"}', '__proto__', 'constructor', 'null']),
    ['a flattened JSON serialization (CVE-2022-39227)', (issuer) => JSON.stringify(serialized(issuer))],
    [
      'a general JSON serialization (CVE-2022-39227)',
      (issuer) => JSON.stringify({ payload: serialized(issuer).payload, signatures: [serialized(issuer)] }),
    ],
    ['a quoted header', { reshape: (token) => `"${token.split('.')[0]}"` }],
  ],
  token_encrypted: [
    ['five parts', { reshape: (token) => `${token}.AAAA.AAAA` }],
    encrypted('a JWE around a token (CVE-2026-29000, RFC 7519 §5.2)', { cty: 'JWT' }),
    encrypted('a JWE that says RS256 of itself (CVE-2026-29000)', { alg: 'RS256' }),
    encrypted('a JWE that is compressed (CVE-2024-28176, CVE-2024-33664)', { zip: 'DEF' }),
    encrypted('a JWE with rounds of PBKDF2 (CVE-2022-36083)', { alg: 'PBES2-HS256+A128KW', p2c: 1e7, p2s: 'AA' }),
  ],
  token_malformed: [
    ['a padded header', encodeOtherwise('header', pad)],
    ['a padded payload', encodeOtherwise('payload', pad)],
    ['a padded signature (CVE-2026-62995)', changePart(2, pad)],
    ['spare bits in the header', encodeOtherwise('header', setSpareBits)],
    ['spare bits in the payload', encodeOtherwise('payload', setSpareBits)],
    // A signature of 256 bytes ends in a letter with four spare bits: fifteen other letters mean the same bytes.
    ...each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], (bits) => [
      `${bits} in the spare bits of the signature (RFC 4648 §3.5, CVE-2026-102269)`,
      changePart(2, (part) => setSpareBits(part, bits)),
    ]),
    ['a signature in the standard alphabet (RFC 7515 §2)', changePart(2, (part) => `+/${part.slice(2)}`)],
    ['a payload in the standard alphabet', encodeOtherwise('payload', (part) => `${part.slice(0, -1)}+`)],
    // 342 characters spell 256 bytes; 345 leave one over, which spells nothing.
    ['a dangling character after the signature', { reshape: (token) => `${token}AAA` }],
    ['spare bits in three characters', changePart(1, () => 'AAB')],
    ['a percent-encoded dot', { reshape: (token) => token.replace('.', '%2E') }],
    ['quotes around it', { reshape: (token) => `"${token}"` }],
    ...each([',', '.', '!!!!', '.AAAA', '.'.repeat(7000)], (more) => [
      `${more.slice(0, 5)} behind it (CVE-2025-30204, CVE-2026-102269)`,
      { reshape: (token) => token + more },
    ]),
    ['a byte beyond ASCII in it', changePart(1, insert('é'))],
    ...each(['!@$%', '\\11'], (more) => [
      `${more} in its signature (GHSA-3fvg-4v2m-98jf)`,
      changePart(2, insert(more)),
    ]),
    ...each([0, 1, 2], (part) => [`nothing in part ${part}`, changePart(part, () => '')]),
    ['no signature part (CVE-2020-28042)', { reshape: (token) => token.replace(/\.[^.]*$/, '') }],
    ['its header alone', { reshape: (token) => token.replace(/\..*/, '') }],
    ['its parts without dots', { reshape: (token) => token.split('.').join('') }],
    ...texts('CVE-2025-30204', ['..', '.'.repeat(8000), 'eyJ', 'a.b.c']),
    ...each(nones, (alg) => [
      `alg ${alg} with an empty signature (CVE-2022-23540, RFC 8725 §2.1)`,
      { header: { alg }, signWith: () => Buffer.alloc(0) },
    ]),
    [
      'a JSON serialization around it (CVE-2022-39227)',
      { reshape: (token) => `{"${token.replace(/[^.]*$/, '')}":"",${JSON.stringify(serialized('x')).slice(1)}` },
    ],
    ['a header of six thousand brackets (CWE-674)', () => `${base64url('['.repeat(5800))}.e30.AA`],
    ...each(['not json', '{"alg":"RS256"', 'null', '"RS256"', `["RS256","${SIGNING_KID}"]`], (text) => [
      `the header ${text} (RFC 7515 §4)`,
      { headerText: text },
    ]),
    ['text that is not UTF-8 as header (RFC 8259 §8.1)', { headerText: Uint8Array.of(0x22, 0xff, 0x22) }],
    ['a byte order mark before the header', { headerText: `\ufeff{"alg":"RS256","kid":"${SIGNING_KID}"}` }],
    [
      'a header with a member that is not UTF-8 (RFC 8259 §8.1)',
      { headerText: Buffer.from(`{"alg":"RS256","kid":"${SIGNING_KID}","x":"\xff"}`, 'latin1') },
    ],
    payload('the payload of nothing', () => ''),
  ],
  algorithm_unsupported: [
    hmac('the public key as PEM (CVE-2015-9235, CVE-2016-10555)', () => pem('spki')),
    hmac('the PEM less its last line end (CVE-2015-9235)', () => pem('spki').trim()),
    hmac('the PEM behind white space (CVE-2026-34950)', () => ` \n${pem('spki')}`),
    hmac('the public key as PKCS #1 PEM (CVE-2017-11424)', () => pem('pkcs1')),
    hmac('the public key as DER (CVE-2022-29217)', () => publicKey().export({ type: 'spki', format: 'der' })),
    hmac('the JWK as text (CVE-2026-107724)', () => JSON.stringify(jwk())),
    hmac('the JWK Set as text (CVE-2026-107724)', () => JSON.stringify({ keys: [jwk()] })),
    hmac('the modulus as bytes (RFC 8725 §2.1)', () => bytesOf(String(jwk().n))),
    hmac('the modulus as text (RFC 8725 §2.1)', () => String(jwk().n)),
    hmac('nothing (CVE-2026-44351)', () => ''),
    hmac('nothing, its kid an empty file (CVE-2026-44351)', () => '', 'HS256', '/dev/null'),
    hmac('a secret that the issuer published (RFC 8725 §3.1)', () => Buffer.alloc(32, 1), 'HS256', 'symmetric'),
    hmac('the public key as PEM (CVE-2023-48223)', () => pem('spki'), 'HS384'),
    hmac('the public key as PEM (CVE-2024-54150)', () => pem('spki'), 'HS512'),
    // The published key names no algorithm, and the signature is really made with it.
    ...each(['PS256', 'PS512', 'RS384', 'RS512', 'ES256'], (alg) => {
      const kid = alg === 'ES256' ? 'elliptic' : SIGNING_KID;
      const name = `${alg}, a real signature (CVE-2026-22817, CVE-2026-22818, RFC 8725 §3.1)`;
      return [name, { header: { alg, kid }, signedAs: alg, key: signingKey(alg, kid) }];
    }),
    ...headers('alg', 'RFC 8725 §3.1, RFC 7515 §4.1.1', [
      ...nones,
      ...[undefined, null, '', 0, [], ['RS256'], { RS256: 1 }, 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256'],
    ]),
    ['an empty object as header', { headerText: '{}' }],
    ['members in __proto__ (CVE-2024-34273)', { headerText: `{"__proto__":{"alg":"RS256","kid":"${SIGNING_KID}"}}` }],
    ['a second alg, none', { headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","alg":"none"}` }],
    ['three empty objects', () => 'e30.e30.e30'],
  ],
  critical_header: [
    ['an unknown extension (CVE-2026-35042)', { header: { crit: ['x-policy'], 'x-policy': 'mfa' } }],
    ...each([true, false], (b64) => [`b64 ${b64} (RFC 7797 §6)`, { header: { crit: ['b64'], b64 } }]),
    ...headers('crit', 'RFC 7515 §4.1.11', [[], ['alg'], ['exp', 'exp'], ['absent'], [1], [''], 'exp', null, 0, {}]),
    ['crit by an escaped name', { headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","\\u0063rit":["exp"]}` }],
  ],
  type_unsupported: [
    ...headers('typ', 'RFC 8725 §3.11', ['logout+jwt', 'id+jwt', 'dpop+jwt', 'secevent+jwt', 'JWS', ' JWT', '']),
    ...headers('typ', 'RFC 8725 §3.11', ['application/logout+jwt', 'token-introspection+jwt', 'oauth-authz-req+jwt']),
    ...headers('typ', 'RFC 8725 §3.11', ['at+jwt; charset=utf-8', null, 1, ['JWT']]),
    ['a second typ', { headerText: `{"alg":"RS256","kid":"${SIGNING_KID}","typ":"JWT","typ":"logout+jwt"}` }],
  ],
  key_id_missing: [
    ...headers('kid', 'GHSA-29f5-h73v-w8j9', [undefined, null, '', 0, true, [SIGNING_KID], { [SIGNING_KID]: 1 }]),
    ['a jwk, and no kid', (issuer) => ({ header: { kid: undefined, jwk: attackersKeys(issuer).jwk } })],
  ],
} satisfies Partial<Record<RefusalReason, readonly TokenRow[]>>;

const other = 'https://other.example.test/';
const withIss = (name: string, iss: (issuer: string) => unknown): TokenRow => [
  `iss ${name} (CVE-2025-30144, CVE-2024-53861)`,
  (issuer) => ({ claims: { iss: iss(issuer) } }),
];
/** Faults that are found with the keys, in the order of the checks. */
const withKeys = {
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

const faultsIn = (table: Readonly<Partial<Record<RefusalReason, readonly TokenRow[]>>>): readonly Fault[] =>
  Object.entries(table).flatMap(([reason, rows]) =>
    rows.map(([name, token]) => ({ name, reason: reason as RefusalReason, token })),
  );

export const faultsBeforeKeys = faultsIn(beforeKeys);
/** Every fault of a token but its scope: known attacks with their advisories, and sections of standards. */
export const tokenFaults: readonly Fault[] = [...faultsBeforeKeys, ...faultsIn(withKeys)];
