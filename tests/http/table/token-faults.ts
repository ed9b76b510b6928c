import { constants, createCipheriv, createHmac, createPublicKey, publicEncrypt, randomBytes, sign } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import type { RefusalReason } from '../../../src/auth/refusals.ts';
import { ecKey, publish, rsaKey } from '../../support/keys.ts';
import type { TokenOverrides } from '../../support/mint.ts';
import { AUDIENCE, base64url, goodParts, mintToken, nowSeconds, SIGNING_KID } from '../../support/mint.ts';
import { forgeWithGarbage, selfSignedCertificate, signOneModulusUp } from './forgery.ts';

/** The changes to a valid token, or the text of a token; a function if they depend on the issuer's address or the time. */
export type TokenRow = readonly [name: string, token: TokenOverrides | ((issuer: string) => TokenOverrides | string)];

/** A token that is rejected, by the reason of the verifier. */
export interface Fault {
  readonly name: string;
  readonly reason: RefusalReason;
  readonly token: TokenRow[1];
}

export function tokenTextOf(token: TokenRow[1], issuer: string): string {
  const made = typeof token === 'function' ? token(issuer) : token;
  return typeof made === 'string' ? made : mintToken(issuer, made);
}

const show = (value: unknown) => JSON.stringify(value) ?? 'missing';
const headers = (name: string, rule: string, values: readonly unknown[]) =>
  values.map((value): TokenRow => [`${name} ${show(value)} (${rule})`, { header: { [name]: value } }]);
const claims = (name: string, rule: string, values: readonly unknown[]) =>
  values.map((value): TokenRow => [`${name} ${show(value)} (${rule})`, { claims: { [name]: value } }]);

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Changes one part of a finished token. */
const reshaped = (index: 0 | 1 | 2, change: (part: string) => string): TokenOverrides => ({
  reshape: (token) =>
    token
      .split('.')
      .with(index, change(token.split('.')[index] ?? ''))
      .join('.'),
});
const reshape = (change: (token: string) => string): TokenOverrides => ({ reshape: change });
const bytesOf = (part: string) => Buffer.from(part, 'base64url');

/** Flips a bit of the bytes that a part spells. */
function withFlippedBit(part: string): string {
  const bytes = bytesOf(part);
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  return base64url(bytes);
}

/** Spells a part in another way before it is signed. JSON takes blanks at its end, so that the part leaves bits over. */
const respelled = (part: 'header' | 'payload', change: (encoded: string) => string): TokenOverrides => ({
  respell: {
    part,
    as(encoded) {
      let spelt = encoded;
      while (spelt.length % 4 === 0) spelt = base64url(`${bytesOf(spelt)} `);
      return change(spelt);
    },
  },
});
const pad = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4, '=');
/** Sets bits that base64url leaves over: another spelling of the same bytes. */
const spareBits = (part: string, bits = 1) =>
  part.slice(0, -1) + ALPHABET.charAt(ALPHABET.indexOf(part.slice(-1)) + bits);
const atNine = (more: string) => (part: string) => part.slice(0, 9) + more + part.slice(9);

const headerText = (name: string, text: string | Uint8Array): TokenRow => [name, { headerText: text }];
const good = (issuer: string) => `"iss":"${issuer}","aud":"${AUDIENCE}","exp":${nowSeconds() + 300}`;
/** Claims as text, for what JSON.stringify cannot say. */
const payload = (name: string, write: (issuer: string) => string | Uint8Array): TokenRow => [
  name,
  (issuer) => ({ payloadText: write(issuer) }),
];
const signed = (name: string, signWith: NonNullable<TokenOverrides['signWith']>, kid = SIGNING_KID): TokenRow => [
  name,
  { header: { kid }, signWith },
];
const by = (name: string, kid: string, key = rsaKey(kid)): TokenRow => [name, () => ({ header: { kid }, key })];

const publicKey = () => createPublicKey(rsaKey(SIGNING_KID));
const pem = (type: 'spki' | 'pkcs1') => publicKey().export({ type, format: 'pem' }).toString();
const jwk = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);
/** An HMAC over the token, keyed with public data. */
const hmac = (name: string, secret: () => string | Uint8Array, alg = 'HS256', kid = SIGNING_KID): TokenRow => [
  `${alg} keyed with ${name}`,
  {
    header: { alg, kid },
    signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret()).update(input).digest(),
  },
];
const pss = (hash: string, saltLength: number) => (input: Buffer) =>
  sign(hash, input, { key: rsaKey(SIGNING_KID), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });
/** All sixteen ways to write `none`. */
const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
);

const plainToken = (issuer: string) =>
  `${base64url('{"alg":"none"}')}.${base64url(JSON.stringify(goodParts(issuer).claims))}.`;
/** A real JWE in compact serialization (RFC 7516 §7.1), made with the public key only. */
function encrypt(plaintext: string | Uint8Array, header: Record<string, unknown> = {}): string {
  const common = { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: SIGNING_KID, ...header };
  const protectedHeader = base64url(JSON.stringify(common));
  const [contentKey, iv] = [randomBytes(32), randomBytes(12)];
  const key = { key: publicKey(), padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
  const cipher = createCipheriv('aes-256-gcm', contentKey, iv).setAAD(Buffer.from(protectedHeader));
  const text = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return [protectedHeader, ...[publicEncrypt(key, contentKey), iv, text, cipher.getAuthTag()].map(base64url)].join('.');
}
const partsOf = (issuer: string) => {
  const [header = '', claimsPart = '', signature = ''] = mintToken(issuer).split('.');
  return { protected: header, payload: claimsPart, signature };
};

/** The path of the addresses in tokens. It must never be requested. */
export const ELSEWHERE = 'elsewhere';
/** Members of a header that point at keys of an attacker, or bring them. */
const attackersKeys = (issuer: string) => ({
  jku: issuer + ELSEWHERE,
  x5u: issuer + ELSEWHERE,
  iss: issuer + ELSEWHERE,
  jwk: publish(rsaKey('stranger'), SIGNING_KID),
  x5c: [selfSignedCertificate(rsaKey('stranger')).toString('base64')],
  x5t: 'AAAA',
});
const brought = (name: string, members: Record<string, unknown>): TokenRow => [
  `${name} of the attacker (CVE-2018-0114, RFC 8725 §3.10)`,
  (issuer) => {
    const all: Record<string, unknown> = attackersKeys(issuer);
    const header = Object.fromEntries(Object.entries(members).map(([member, value]) => [member, value ?? all[member]]));
    return { header, key: rsaKey('stranger') };
  },
];

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
    ...['ory_at_opaque.too', '.', 'a', '{"payload":"e30","signatures":[]}', '__proto__', 'constructor', 'null'].map(
      (text): TokenRow => [`${text} for a token (CWE-1321)`, () => text],
    ),
    ['a flattened JSON serialization (CVE-2022-39227)', (issuer) => JSON.stringify(partsOf(issuer))],
    [
      'a general JSON serialization (CVE-2022-39227)',
      (issuer) => JSON.stringify({ payload: partsOf(issuer).payload, signatures: [partsOf(issuer)] }),
    ],
    ['a quoted header', reshape((token) => `"${token.split('.')[0]}"`)],
  ],
  token_encrypted: [
    ['five parts', reshape((token) => `${token}.AAAA.AAAA`)],
    ['a JWE around an unsigned token (CVE-2026-29000)', (issuer) => encrypt(plainToken(issuer), { cty: 'JWT' })],
    ['a JWE around a good token (RFC 7519 §5.2)', (issuer) => encrypt(mintToken(issuer), { cty: 'JWT' })],
    ['a JWE that says RS256 of itself (CVE-2026-29000)', (issuer) => encrypt(plainToken(issuer), { alg: 'RS256' })],
    [
      'a JWE that inflates to a megabyte (CVE-2024-28176, CVE-2024-33664)',
      () => encrypt(deflateRawSync(Buffer.alloc(1024 * 1024)), { zip: 'DEF' }),
    ],
    [
      'a JWE with ten million rounds of PBKDF2 (CVE-2022-36083)',
      () => encrypt('{}', { alg: 'PBES2-HS256+A128KW', p2c: 10_000_000, p2s: 'AAAAAAAAAAA' }),
    ],
  ],
  token_malformed: [
    ['a padded header', respelled('header', pad)],
    ['a padded payload', respelled('payload', pad)],
    ['a padded signature (CVE-2026-62995)', reshaped(2, pad)],
    ['spare bits in the header', respelled('header', spareBits)],
    ['spare bits in the payload', respelled('payload', spareBits)],
    // A signature of 256 bytes ends in a letter with four spare bits: fifteen other letters mean the same bytes.
    ...Array.from(
      { length: 15 },
      (_, at): TokenRow => [
        `${at + 1} in the spare bits of the signature (RFC 4648 §3.5, CVE-2026-102269)`,
        reshaped(2, (part) => spareBits(part, at + 1)),
      ],
    ),
    ['a signature in the standard alphabet (RFC 7515 §2)', reshaped(2, (part) => `+/${part.slice(2)}`)],
    ['a payload in the standard alphabet', respelled('payload', (part) => `${part.slice(0, -1)}+`)],
    // 342 characters spell 256 bytes; 345 leave one over, which spells nothing.
    ['a dangling character after the signature', reshape((token) => `${token}AAA`)],
    ['spare bits in three characters', reshaped(1, () => 'AAB')],
    ['a percent-encoded dot', reshape((token) => token.replace('.', '%2E'))],
    ['quotes around it', reshape((token) => `"${token}"`)],
    ...[',', '.', '!!!!', '.AAAA', '.'.repeat(7000)].map(
      (more): TokenRow => [
        `${more.slice(0, 5)} behind it (CVE-2025-30204, CVE-2026-102269)`,
        reshape((token) => token + more),
      ],
    ),
    ['a byte beyond ASCII in it', reshaped(1, atNine('é'))],
    ...['!@$%', '\\11'].map(
      (more): TokenRow => [`${more} in its signature (GHSA-3fvg-4v2m-98jf)`, reshaped(2, atNine(more))],
    ),
    ...([0, 1, 2] as const).map((part): TokenRow => [`nothing in part ${part}`, reshaped(part, () => '')]),
    ['no signature part (CVE-2020-28042)', reshape((token) => token.replace(/\.[^.]*$/, ''))],
    ['its header alone', reshape((token) => token.replace(/\..*/, ''))],
    ['its parts without dots', reshape((token) => token.split('.').join(''))],
    ...['..', '.'.repeat(8000), 'eyJ', 'a.b.c'].map(
      (text): TokenRow => [`${text.slice(0, 5)} for a token (CVE-2025-30204)`, () => text],
    ),
    ...nones.map(
      (alg): TokenRow => [
        `alg ${alg} with an empty signature (CVE-2022-23540, RFC 8725 §2.1)`,
        { header: { alg }, signWith: () => Buffer.alloc(0) },
      ],
    ),
    [
      'a JSON serialization around it (CVE-2022-39227)',
      (issuer) => {
        const { protected: header, payload: body, signature } = partsOf(issuer);
        return `{"${header}.${body}.":"","protected":"${header}","payload":"${body}","signature":"${signature}"}`;
      },
    ],
    ['a header of six thousand brackets (CWE-674)', () => `${base64url('['.repeat(5800))}.e30.AA`],
    ...['not json', '{"alg":"RS256"', 'null', '"RS256"', `["RS256","${SIGNING_KID}"]`].map((text) =>
      headerText(`the header ${text} (RFC 7515 §4)`, text),
    ),
    headerText('text that is not UTF-8 as header (RFC 8259 §8.1)', Uint8Array.of(0x22, 0xff, 0x22)),
    headerText('a byte order mark before the header', `\ufeff{"alg":"RS256","kid":"${SIGNING_KID}"}`),
    headerText(
      'a header with a member that is not UTF-8 (RFC 8259 §8.1)',
      Buffer.from(`{"alg":"RS256","kid":"${SIGNING_KID}","x":"\xff"}`, 'latin1'),
    ),
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
    // The published key says nothing of algorithms, and the signature is really made with it.
    ['PS256, a real signature (CVE-2026-22817)', { header: { alg: 'PS256' }, signWith: pss('sha256', 32) }],
    ['PS512, a real signature (CVE-2026-22818)', { header: { alg: 'PS512' }, signWith: pss('sha512', 64) }],
    ...['384', '512'].map(
      (bits): TokenRow => [
        `RS${bits}, a real signature (CVE-2026-22817)`,
        { header: { alg: `RS${bits}` }, signWith: (input) => sign(`RSA-SHA${bits}`, input, rsaKey(SIGNING_KID)) },
      ],
    ),
    [
      'ES256, a real signature by a published key (RFC 8725 §3.1)',
      {
        header: { alg: 'ES256', kid: 'elliptic' },
        signWith: (input) => sign('sha256', input, { key: ecKey('elliptic'), dsaEncoding: 'ieee-p1363' }),
      },
    ],
    ...headers('alg', 'RFC 8725 §3.1, RFC 7515 §4.1.1', [
      ...nones,
      ...[undefined, null, '', 0, [], ['RS256'], { RS256: 1 }, 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256'],
    ]),
    headerText('an empty object as header', '{}'),
    headerText('members in __proto__ (CVE-2024-34273)', `{"__proto__":{"alg":"RS256","kid":"${SIGNING_KID}"}}`),
    headerText('a second alg, none', `{"alg":"RS256","kid":"${SIGNING_KID}","alg":"none"}`),
    ['three empty objects', () => 'e30.e30.e30'],
  ],
  critical_header: [
    ['an unknown extension (CVE-2026-35042)', { header: { crit: ['x-policy'], 'x-policy': 'mfa' } }],
    ...[true, false].map((b64): TokenRow => [`b64 ${b64} (RFC 7797 §6)`, { header: { crit: ['b64'], b64 } }]),
    ...headers('crit', 'RFC 7515 §4.1.11', [[], ['alg'], ['exp', 'exp'], ['absent'], [1], [''], 'exp', null, 0, {}]),
    headerText('crit by an escaped name', `{"alg":"RS256","kid":"${SIGNING_KID}","\\u0063rit":["exp"]}`),
  ],
  type_unsupported: [
    ...headers('typ', 'RFC 8725 §3.11', ['logout+jwt', 'id+jwt', 'dpop+jwt', 'secevent+jwt', 'JWS', ' JWT', '']),
    ...headers('typ', 'RFC 8725 §3.11', ['application/logout+jwt', 'token-introspection+jwt', 'oauth-authz-req+jwt']),
    ...headers('typ', 'RFC 8725 §3.11', ['at+jwt; charset=utf-8', null, 1, ['JWT']]),
    headerText('a second typ', `{"alg":"RS256","kid":"${SIGNING_KID}","typ":"JWT","typ":"logout+jwt"}`),
  ],
  key_id_missing: [
    ...headers('kid', 'GHSA-29f5-h73v-w8j9', [undefined, null, '', 0, true, [SIGNING_KID], { [SIGNING_KID]: 1 }]),
    brought('a jwk, and no kid,', { kid: undefined, jwk: publish(rsaKey('stranger'), 'stranger') }),
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
    ...headers('kid', 'RFC 8725 §3.10', [
      `${SIGNING_KID}\0`,
      ` ${SIGNING_KID}`,
      SIGNING_KID.toUpperCase(),
      '*',
      '| id',
    ]),
    headerText('a second kid, unknown', `{"alg":"RS256","kid":"${SIGNING_KID}","kid":"unknown"}`),
    by('a signature by a key for encryption (GHSA-29f5-h73v-w8j9)', 'encrypting'),
    by('a signature by a key of 1024 bits (CVE-2022-23539, RFC 7518 §3.3)', 'weak', rsaKey('weak', 1024)),
    ['an expired token of an unknown key', { claims: { exp: 1 }, header: { kid: 'never-published' } }],
  ],
  signature_invalid: [
    ...[0, 1, 0xff].map((byte) => signed(`a signature of ${byte}s (CVE-2022-21449)`, () => Buffer.alloc(256, byte))),
    signed('a signature that is the number 1 (RFC 8017 §8.2.2)', () => Buffer.alloc(256).fill(1, 255)),
    signed('a signature of one byte (RFC 8017 §8.2.2)', () => Buffer.alloc(1)),
    signed('a signature of PS256 (RFC 8725 §3.1)', pss('sha256', 32)),
    signed('a signature of RS1 (RFC 8725 §3.2)', (input) => sign('RSA-SHA1', input, rsaKey(SIGNING_KID))),
    signed('a forged cube root, for a key with exponent 3 (CVE-2006-4339, CVE-2016-1494)', forgeWithGarbage, 'cubic'),
    signed('a good signature one modulus up', (input) => signOneModulusUp(input, rsaKey(SIGNING_KID))),
    by('a signature by an unpublished key (RFC 8725 §3.3)', SIGNING_KID, rsaKey('stranger')),
    by('a signature by another published key (RFC 8725 §3.10)', SIGNING_KID, rsaKey('other')),
    by('the kid of another published key (RFC 8725 §3.10)', 'other', rsaKey(SIGNING_KID)),
    by('a signature by neither of two keys under one kid', 'twins', rsaKey(SIGNING_KID)),
    ['a signature with one bit flipped', reshaped(2, withFlippedBit)],
    ['a signature a byte short', reshaped(2, (part) => base64url(bytesOf(part).subarray(1)))],
    [
      'a leading zero byte in its signature',
      reshaped(2, (part) => base64url(Buffer.concat([Buffer.of(0), bytesOf(part)]))),
    ],
    ['a byte behind its signature', reshaped(2, (part) => base64url(Buffer.concat([bytesOf(part), Buffer.of(0)])))],
    ['a payload altered after it was signed (RFC 8725 §3.3)', reshaped(1, () => base64url('{"admin":true}'))],
    ['a payload with one bit flipped', reshaped(1, withFlippedBit)],
    ['a header altered after it was signed', reshaped(0, (part) => base64url(`${bytesOf(part)} `))],
    brought('a jwk', { jwk: undefined }),
    brought('an x5c', { x5c: undefined, x5t: undefined }),
    brought('a jku and an x5u', { jku: undefined, x5u: undefined, iss: undefined }),
    ...[{ exp: 1 }, { aud: 'other' }, { iss: 'x' }].map(
      (wrong): TokenRow => [
        `a bad signature and ${show(wrong)}, which must not be reported (CVE-2024-51744)`,
        () => ({ key: rsaKey('stranger'), claims: wrong }),
      ],
    ),
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
    ...[{ exp: 1 }, { exp: undefined }, { nbf: 2 ** 40 }].map(
      (wrong): TokenRow => [`another aud and ${show(wrong)}`, { claims: { aud: other, ...wrong } }],
    ),
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
    payload('claims that are not UTF-8 (RFC 8725 §3.7)', (issuer) =>
      Buffer.from(`{${good(issuer)},"sub":"\xff"}`, 'latin1'),
    ),
    payload('a JWT in a JWT (RFC 7519 §5.2)', (issuer) => mintToken(issuer)),
    ...claims('exp', 'CVE-2026-25537', [undefined, null, '', '9999999999', true, [9999999999], {}]),
    ...claims('nbf', 'CVE-2026-25537', [null, '', '0', '9999999999', false, [0], {}]),
    ...claims('iat', 'RFC 7519 §4.1.6', [null, '0', [], {}]),
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
  token_bound: claims('cnf', 'RFC 9449 §7.1, RFC 8705 §3', [
    { jkt: 'x' },
    { 'x5t#S256': 'x' },
    { jwk: {} },
    {},
    null,
    '',
  ]),
} satisfies Partial<Record<RefusalReason, readonly TokenRow[]>>;

const faultsIn = (table: Readonly<Partial<Record<RefusalReason, readonly TokenRow[]>>>): readonly Fault[] =>
  Object.entries(table).flatMap(([reason, rows]) =>
    rows.map(([name, token]) => ({ name, reason: reason as RefusalReason, token })),
  );

export const faultsBeforeKeys = faultsIn(beforeKeys);
/** Every fault of a token but its scope: known attacks with their advisories, and sections of standards. */
export const tokenFaults: readonly Fault[] = [...faultsBeforeKeys, ...faultsIn(withKeys)];
