import { createHmac, createPublicKey } from 'node:crypto';
import type { RefusalReason } from '../../../src/auth/types.ts';
import { publish, rsaKey, signingKey } from '../../support/keys.ts';
import { base64url, mintToken, SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { attackersKeys, bytesOf, changePart, each, headers, payload, type TokenRow } from '../../support/token-rows.ts';

/** Returns a row for each text that is sent as a token. */
const texts = (rule: string, values: readonly string[]) =>
  each(values, (text) => [`${text.slice(0, 20)} for a token (${rule})`, () => text]);

/** Encodes a part in another way before it is signed. JSON allows blanks at its end, which give the part spare bits. */
const encodeOtherwise = (part: 'header' | 'payload', change: (encoded: string) => string): TokenOverrides => ({
  respell: {
    part,
    as(encoded) {
      let spelt = encoded;
      while (spelt.length % 4 === 0) spelt = base64url(`${bytesOf(spelt)} `);
      return change(spelt);
    },
  },
});
/** Appends the padding that base64url omits. */
const pad = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4, '=');
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Sets the bits that base64url does not use: the part encodes the same bytes. */
const setSpareBits = (part: string, bits = 1) =>
  part.slice(0, -1) + alphabet.charAt(alphabet.indexOf(part.slice(-1)) + bits);
/** Inserts a text into a part. */
const insert = (text: string) => (part: string) => part.slice(0, 9) + text + part.slice(9);

/** Returns the public key of valid tokens, as an attacker can read it. */
const publicKey = () => createPublicKey(rsaKey(SIGNING_KID));
const pem = (type: 'spki' | 'pkcs1') => publicKey().export({ type, format: 'pem' }).toString();
const jwk = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);
/** Returns a row whose signature is an HMAC, keyed with public data. */
const hmac = (name: string, secret: () => string | Uint8Array, alg = 'HS256', kid = SIGNING_KID): TokenRow => [
  `${alg} keyed with ${name}`,
  {
    header: { alg, kid },
    signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret()).update(input).digest(),
  },
];

/** All sixteen ways to write `none`. */
const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
);
/** Returns a row in the format of a JWE (RFC 7516 §7.1), for which there is no key. */
const encrypted = (name: string, header: object): TokenRow => {
  const all = { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: SIGNING_KID, ...header };
  return [name, () => `${base64url(JSON.stringify(all))}.${'A'.repeat(342)}.AAAAAAAAAAAAAAAA.AAAA.AAAA`];
};
/** Returns a valid token in the JSON serialization (RFC 7515 §7.2). */
const serialized = (issuer: string) => {
  const [header, payload, signature] = mintToken(issuer).split('.');
  return { protected: header, payload, signature };
};

/** Faults that are found before a key is looked up. */
export const beforeKeys = {
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
