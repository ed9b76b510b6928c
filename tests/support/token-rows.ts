import { certificate } from './certificates.ts';
import { publish, rsaKey } from './keys.ts';
import { mintToken, SIGNING_KID, type TokenOverrides } from './mint.ts';

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

/** Decodes base64url. */
export const bytesOf = (part: string) => Buffer.from(part, 'base64url');
/** Changes one part of a finished token: 0 is the header, 2 the signature. */
export const changePart = (index: number, change: (part: string) => string): TokenOverrides => ({
  reshape(token) {
    const parts = token.split('.');
    return parts.map((part, at) => (at === index ? change(part) : part)).join('.');
  },
});

/** Returns a row with this text as the payload, for what JSON.stringify cannot produce. */
export const payload = (name: string, write: (issuer: string) => string | Uint8Array): TokenRow => [
  name,
  (issuer) => ({ payloadText: write(issuer) }),
];

/** The path of the URLs in tokens. It must never be requested. */
export const ELSEWHERE = 'elsewhere';
/** Returns members of a header that point at keys of an attacker, or contain them. */
export const attackersKeys = (issuer: string) => ({
  ...Object.fromEntries(['jku', 'x5u', 'iss'].map((name) => [name, issuer + ELSEWHERE])),
  jwk: publish(rsaKey('stranger'), SIGNING_KID),
  x5c: [certificate('a').der.toString('base64')],
  x5t: 'AAAA',
});
