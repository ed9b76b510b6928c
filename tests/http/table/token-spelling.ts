import { expect, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import type { TokenOverrides } from '../../support/mint.ts';
import { rawGet } from '../../support/raw-http.ts';
import { PRIVATE, refuses, type TokenRow } from './token-rows.ts';

const MAX_TOKEN_BYTES = 8192;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** Changes one part of a finished token. */
const reshaped =
  (index: 0 | 1 | 2, change: (part: string) => string) =>
  (token: string): string =>
    token
      .split('.')
      .map((part, at) => (at === index ? change(part) : part))
      .join('.');

/** Sets an unused bit of base64url, which spells the same bytes differently. The length of the part must have unused bits. */
function withSpareBits(part: string): string {
  if (part.length % 4 === 0) throw new TypeError('This part has no spare bits');
  return part.slice(0, -1) + ALPHABET.charAt(ALPHABET.indexOf(part.slice(-1)) + 1);
}

/** Flips a bit of the bytes that a part spells. */
function withFlippedBit(part: string): string {
  const bytes = Buffer.from(part, 'base64url');
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  return bytes.toString('base64url');
}

/** Pads JSON with spaces at its end to make a part of any length. */
function paddedJson(part: 'header' | 'payload', isFitting: (encoded: string) => boolean) {
  return {
    part,
    as(encoded: string): string {
      let json = Buffer.from(encoded, 'base64url').toString();
      while (!isFitting(Buffer.from(json).toString('base64url'))) json += ' ';
      return Buffer.from(json).toString('base64url');
    },
  };
}

const leavesBitsOver = (encoded: string) => encoded.length % 4 !== 0;

const respelled = (part: 'header' | 'payload', change: (encoded: string) => string): TokenOverrides => ({
  respell: { part, as: (encoded) => change(paddedJson(part, leavesBitsOver).as(encoded)) },
});

const standardAlphabet = (part: string) => part.replaceAll('-', '+').replaceAll('_', '/');
const padded = (part: string) => part.padEnd(Math.ceil(part.length / 4) * 4, '=');

const spellings: readonly TokenRow[] = [
  { name: 'a padded header', token: respelled('header', padded) },
  { name: 'a padded payload', token: respelled('payload', padded) },
  { name: 'a padded signature', token: { reshape: reshaped(2, padded) } },
  { name: 'spare bits in the header', token: respelled('header', withSpareBits) },
  { name: 'spare bits in the payload', token: respelled('payload', withSpareBits) },
  { name: 'spare bits in the signature', token: { reshape: reshaped(2, withSpareBits) } },
  {
    name: 'a signature in the standard alphabet',
    token: { reshape: reshaped(2, (part) => `+/${standardAlphabet(part)}`) },
  },
  { name: 'a payload in the standard alphabet', token: respelled('payload', (part) => `${part.slice(0, -1)}+`) },
  // 342 characters spell 256 bytes; 345 leave one over, which spells nothing.
  { name: 'a dangling character after the signature', token: { reshape: (token) => `${token}AAA` } },
  { name: 'spare bits in three characters', token: { reshape: reshaped(1, () => 'AAB') } },
  { name: 'a percent-encoded dot', token: { reshape: (token) => token.replace('.', '%2E') } },
  { name: 'a quoted token', token: { reshape: (token) => `"${token}"` } },
  { name: 'a token with a comma after it', token: { reshape: (token) => `${token},` } },
  {
    name: 'a token with a non-ASCII byte in it',
    token: { reshape: reshaped(1, (part) => `${part.slice(0, 9)}é${part.slice(9)}`) },
  },
];

const shapes: readonly TokenRow[] = [
  { name: 'no header', token: { reshape: reshaped(0, () => '') } },
  { name: 'no payload', token: { reshape: reshaped(1, () => '') } },
  { name: 'no signature', token: { reshape: reshaped(2, () => '') } },
  { name: 'two parts', token: { reshape: (token) => token.split('.').slice(0, 2).join('.') } },
  { name: 'two parts that are no JWT', token: { reshape: () => 'ory_at_opaque.too' }, reason: 'token_opaque' },
  { name: 'a header alone', token: { reshape: (token) => token.replace(/\..*/, '') } },
  { name: 'one part', token: { reshape: (token) => token.split('.').join('') } },
  { name: 'four parts', token: { reshape: (token) => `${token}.AAAA` } },
  { name: 'an empty fourth part', token: { reshape: (token) => `${token}.` } },
  {
    name: 'five parts, as an encrypted token has',
    token: { reshape: (token) => `${token}.AAAA.AAAA` },
    reason: 'token_encrypted',
  },
  { name: 'two dots', token: { reshape: () => '..' } },
  { name: 'one dot', token: { reshape: () => '.' }, reason: 'token_opaque' },
  { name: 'one letter', token: { reshape: () => 'a' }, reason: 'token_opaque' },
  {
    name: 'a JWS in JSON serialization',
    token: { reshape: () => '{"payload":"e30","signatures":[]}' },
    reason: 'token_opaque',
  },
];

const signatures: readonly TokenRow[] = [
  { name: 'a signature with one bit flipped', token: { reshape: reshaped(2, withFlippedBit) } },
  {
    name: 'a signature a byte short',
    token: { reshape: reshaped(2, (part) => Buffer.from(part, 'base64url').subarray(1).toString('base64url')) },
  },
  { name: 'a good signature with a byte after it', token: { reshape: (token) => `${token}A` } },
  {
    name: 'a payload altered after it was signed',
    token: { reshape: reshaped(1, () => Buffer.from('{"admin":true}').toString('base64url')) },
  },
  { name: 'a payload with one bit flipped', token: { reshape: reshaped(1, withFlippedBit) } },
  {
    name: 'a header altered after it was signed',
    token: { reshape: reshaped(0, (part) => Buffer.from(`${Buffer.from(part, 'base64url')} `).toString('base64url')) },
  },
];

/** Faults that are found before the token is read, so that no key is fetched. */
export const faultySpellings: readonly TokenRow[] = [...spellings, ...shapes];

/** Returns overrides that make the finished token exactly this long: a base64url part cannot have every length, two can. */
function ofLength(fixture: Fixture, bytes: number): TokenOverrides {
  const longest = Math.floor((bytes * 3) / 4);
  for (const pad of ['', 'p', 'pp', 'ppp']) {
    for (let letters = longest; letters > longest - 1024; letters -= 1) {
      const overrides = { header: { 'x-pad': pad }, claims: { note: 'n'.repeat(letters) } };
      const { length } = fixture.mint({ ...overrides, signWith: () => Buffer.alloc(256) });
      if (length === bytes) return overrides;
      if (length < bytes) break;
    }
  }
  throw new TypeError(`No token is ${bytes} bytes long`);
}

function lengths(fixture: () => Fixture): void {
  test(`accepts a token of ${MAX_TOKEN_BYTES} bytes`, async () => {
    const token = fixture().mint(ofLength(fixture(), MAX_TOKEN_BYTES));
    expect(token).toHaveLength(MAX_TOKEN_BYTES);
    await expectMessage(await fixture().get(PRIVATE, token));
  });

  test(`refuses a good token of ${MAX_TOKEN_BYTES + 1} bytes: invalid_header`, async () => {
    const token = fixture().mint(ofLength(fixture(), MAX_TOKEN_BYTES + 1));
    expect(token).toHaveLength(MAX_TOKEN_BYTES + 1);
    await expectError(await fixture().get(PRIVATE, token), 401, 'invalid_header');
  });

  for (const bytes of [1, 2, 100, 1024, 8192, 8193, 12 * 1024]) {
    test(`refuses ${bytes} bytes that are no token: invalid_header`, async () => {
      await expectError(await fixture().get(PRIVATE, 'A'.repeat(bytes)), 401, 'invalid_header');
    });
  }

  for (const kibibytes of [16, 32, 64]) {
    test(`survives a token of ${kibibytes} KiB, which the server itself may turn away`, async () => {
      const { service, mint } = fixture();
      const token = mint({ claims: { note: 'n'.repeat(kibibytes * 768) } });
      const { status } = await rawGet(service.origin, PRIVATE, [`Authorization: Bearer ${token}`]);
      // 0: the connection was reset before the answer could be read.
      expect([0, 400, 401, 431]).toContain(status);
      await expectMessage(await fixture().get(PRIVATE, mint()));
    });
  }
}

/** Rows on how a token is written down: its parts, their encoding, its signature's bytes and its length. */
export function tokenSpellingRows(fixture: () => Fixture): void {
  refuses(fixture, faultySpellings, 'invalid_header');
  refuses(fixture, signatures, 'invalid_header');
  lengths(fixture);
}
