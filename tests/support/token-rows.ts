import { createHmac, createPublicKey } from 'node:crypto';
import { certificate } from './certificates.ts';
import { publish, rsaKey } from './keys.ts';
import { AUDIENCE, base64url, mintToken, nowSeconds, SIGNING_KID, type TokenOverrides } from './mint.ts';

/** The changes to a valid token, or the text of a token; a function if they depend on the issuer's URL or the time. */
export type TokenRow = readonly [name: string, token: TokenOverrides | ((issuer: string) => TokenOverrides | string)];

/** Returns the token of a row. */
export function tokenTextOf(token: TokenRow[1], issuer: string): string {
  const made = typeof token === 'function' ? token(issuer) : token;
  return typeof made === 'string' ? made : mintToken(issuer, made);
}

const unseen = { ' ': 'space', '\t': 'tab', '\n': 'line feed', '\0': 'NUL' } as const;
/** Describes the value of a claim or a header member in words. */
export function inWords(value: unknown): string {
  if (value === undefined || value === '') return value === '' ? 'empty' : 'missing';
  if (typeof value === 'string')
    return value.replace(/^ | $|[\0\t\n]/g, (text) => `<${unseen[text as keyof typeof unseen]}>`);
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.map(inWords).join(' and ')}`;
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : `the ${typeof value} ${value}`;
  return Object.keys(value).length === 0 ? 'an empty object' : `an object with ${membersInWords(value)}`;
}
/** Describes the members of an object in words. */
export const membersInWords = (members: object) =>
  Object.entries(members)
    .map(([name, value]) => `${name} ${inWords(value)}`)
    .join(' and ');
/** Returns a row for each value. */
export const each = <Value>(values: readonly Value[], row: (value: Value) => TokenRow) => values.map(row);
/** Returns a row for each value of a member of the header. */
export const headers = (name: string, rule: string, values: readonly unknown[]) =>
  each(values, (value) => [`${name} ${inWords(value)} (${rule})`, { header: { [name]: value } }]);
/** Returns a row for each value of a claim. */
export const claims = (name: string, rule: string, values: readonly unknown[]) =>
  each(values, (value) => [`${name} ${inWords(value)} (${rule})`, { claims: { [name]: value } }]);
/** Returns a row for each text that is sent as a token. */
export const texts = (rule: string, values: readonly string[]) =>
  each(values, (text) => [`${text.slice(0, 20)} for a token (${rule})`, () => text]);

/** Decodes base64url. */
export const bytesOf = (part: string) => Buffer.from(part, 'base64url');
/** Changes one part of a finished token: 0 is the header, 2 the signature. */
export const changePart = (index: number, change: (part: string) => string): TokenOverrides => ({
  reshape(token) {
    const parts = token.split('.');
    return parts.map((part, at) => (at === index ? change(part) : part)).join('.');
  },
});
/** Changes the bytes that one part of a finished token encodes. */
export const changeBytes = (index: number, change: (bytes: Buffer) => Uint8Array | string) =>
  changePart(index, (part) => base64url(change(bytesOf(part))));
/** Flips a bit in the middle. */
export const flipBit = (bytes: Buffer) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte));

/** Encodes a part in another way before it is signed. JSON allows blanks at its end, which give the part spare bits. */
export const encodeOtherwise = (part: 'header' | 'payload', change: (encoded: string) => string): TokenOverrides => ({
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
export const pad = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4, '=');
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Sets the bits that base64url does not use: the part encodes the same bytes. */
export const setSpareBits = (part: string, bits = 1) =>
  part.slice(0, -1) + alphabet.charAt(alphabet.indexOf(part.slice(-1)) + bits);
/** Inserts a text into a part. */
export const insert = (text: string) => (part: string) => part.slice(0, 9) + text + part.slice(9);

/** Returns valid claims as JSON members, without the braces. */
export const good = (issuer: string) => `"iss":"${issuer}","aud":"${AUDIENCE}","exp":${nowSeconds() + 300}`;
/** Returns a row with this text as the payload, for what JSON.stringify cannot produce. */
export const payload = (name: string, write: (issuer: string) => string | Uint8Array): TokenRow => [
  name,
  (issuer) => ({ payloadText: write(issuer) }),
];
/** Returns a row that is signed in another way. */
export const signed = (
  name: string,
  signWith: NonNullable<TokenOverrides['signWith']>,
  kid = SIGNING_KID,
): TokenRow => [name, { header: { kid }, signWith }];
/** Returns a row that names the key `kid` and is signed by `key`. */
export const by = (name: string, kid: string, key = rsaKey(kid)): TokenRow => [name, () => ({ header: { kid }, key })];

/** Returns the public key of valid tokens, as an attacker can read it. */
export const publicKey = () => createPublicKey(rsaKey(SIGNING_KID));
export const pem = (type: 'spki' | 'pkcs1') => publicKey().export({ type, format: 'pem' }).toString();
export const jwk = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);
/** Returns a row whose signature is an HMAC, keyed with public data. */
export const hmac = (name: string, secret: () => string | Uint8Array, alg = 'HS256', kid = SIGNING_KID): TokenRow => [
  `${alg} keyed with ${name}`,
  {
    header: { alg, kid },
    signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret()).update(input).digest(),
  },
];
/** All sixteen ways to write `none`. */
export const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
);

/** Returns a row in the format of a JWE (RFC 7516 §7.1), for which there is no key. */
export const encrypted = (name: string, header: object): TokenRow => {
  const all = { alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: SIGNING_KID, ...header };
  return [name, () => `${base64url(JSON.stringify(all))}.${'A'.repeat(342)}.AAAAAAAAAAAAAAAA.AAAA.AAAA`];
};
/** Returns a valid token in the JSON serialization (RFC 7515 §7.2). */
export const serialized = (issuer: string) => {
  const [header, payload, signature] = mintToken(issuer).split('.');
  return { protected: header, payload, signature };
};

/** The path of the URLs in tokens. It must never be requested. */
export const ELSEWHERE = 'elsewhere';
/** Returns members of a header that point at keys of an attacker, or contain them. */
export const attackersKeys = (issuer: string) => ({
  ...Object.fromEntries(['jku', 'x5u', 'iss'].map((name) => [name, issuer + ELSEWHERE])),
  jwk: publish(rsaKey('stranger'), SIGNING_KID),
  x5c: [certificate('a').der.toString('base64')],
  x5t: 'AAAA',
});
/** Returns a row that an attacker signed, with these members of the header. */
export const withAttackersKeys = (...names: readonly string[]): TokenRow => [
  `${names.join(', ')} of the attacker (CVE-2018-0114, RFC 8725 §3.10)`,
  (issuer) => ({
    header: Object.fromEntries(Object.entries(attackersKeys(issuer)).filter(([name]) => names.includes(name))),
    key: rsaKey('stranger'),
  }),
];
