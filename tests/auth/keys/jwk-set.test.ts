import { describe, expect, test } from 'bun:test';
import { type Algorithm, algorithms } from '../../../src/auth/jose/algorithms.ts';
import { importKeys, type Keys, readJwkSet } from '../../../src/auth/keys/jwk-set.ts';
import { exactRsaKey, type PublishedKey, publish, rsaKey } from '../../support/keys.ts';
import { signingKey } from '../../support/signatures.ts';

const rsa = (overrides: PublishedKey = {}) => publish(rsaKey('rsa'), 'rsa', overrides);
const ec = (overrides: PublishedKey = {}) => publish(signingKey('ES256', 'ec'), 'ec', overrides);
const ed = (overrides: PublishedKey = {}) => publish(signingKey('EdDSA', 'ed'), 'ed', overrides);
const importSet = async (jwkSet: unknown, held: Keys = new Map()) => importKeys(readJwkSet(jwkSet, algorithms), held);
const importAll = (keys: readonly unknown[], held?: Keys) => importSet({ keys }, held);

const modulus = Buffer.from(String(rsa().n), 'base64url');
const encode = (...bytes: readonly number[]) => Buffer.from(bytes).toString('base64url');
const evenModulus = Buffer.concat([modulus.subarray(0, -1), Buffer.of(0)]).toString('base64url');
const weak = publish(rsaKey('weak', 1024), 'rsa');
const paddedWeak = Buffer.concat([Buffer.alloc(128), Buffer.from(String(weak.n), 'base64url')]).toString('base64url');

/** Every encoding of a point of order 1, 2, 4 or 8: the values of y, with either sign of x. */
const smallOrder = [
  `00${'00'.repeat(30)}`,
  `01${'00'.repeat(30)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03',
  ...['ec', 'ed', 'ee'].map((first) => first + 'ff'.repeat(30)),
].flatMap((start, index) => {
  const last = [0x00, 0x00, 0x05, 0x7a][index] ?? 0x7f;
  return [last, last + 0x80].map((byte) => start + byte.toString(16).padStart(2, '0'));
});

const usable: readonly (readonly [name: string, key: PublishedKey, algorithm: Algorithm])[] = [
  ['an RSA key', rsa(), 'RS256'],
  ['an RSA key without use', rsa({ use: undefined }), 'RS256'],
  ['an RSA key for RS256', rsa({ alg: 'RS256' }), 'RS256'],
  ['an RSA key with one operation among others', rsa({ alg: 'RS256', key_ops: ['encrypt', 'verify'] }), 'RS256'],
  ['a private RSA key', rsa({ alg: 'RS256', d: 'c2VjcmV0' }), 'RS256'],
  ['an RSA key with exponent 3', rsa({ alg: 'RS256', e: encode(3) }), 'RS256'],
  ['an RSA key of 16,384 bits', rsa({ alg: 'RS256', n: Buffer.alloc(2048, 0xff).toString('base64url') }), 'RS256'],
  ['an RSA key with zeros before its modulus', rsa({ alg: 'RS256', n: encode(0, 0, ...modulus) }), 'RS256'],
  [
    'an RSA key of 2048 bits and no whole byte more',
    { ...publish(exactRsaKey('2049', 2049), 'rsa'), alg: 'RS256' },
    'RS256',
  ],
  ['an RSA key for the last algorithm', rsa({ alg: 'PS512' }), 'PS512'],
  ['a P-256 key', ec(), 'ES256'],
  ['a P-384 key', publish(signingKey('ES384', 'ec'), 'ec'), 'ES384'],
  ['a P-521 key', publish(signingKey('ES512', 'ec'), 'ec'), 'ES512'],
  ['an Ed25519 key', ed(), 'EdDSA'],
  ['an Ed25519 key by the name of RFC 9864', ed({ alg: 'Ed25519' }), 'EdDSA'],
];

const unusable: readonly (readonly [name: string, key: unknown])[] = [
  ['null', null],
  ['text', 'text'],
  ['a list', [[]]],
  ['an empty object', {}],
  ['a key without kid', rsa({ kid: undefined })],
  ['a key with an empty kid', rsa({ kid: '' })],
  ['a key with a number for a kid', rsa({ kid: 7 })],
  ['a key without kty', rsa({ kty: undefined })],
  ['a symmetric key', { kty: 'oct', kid: 'rsa', k: 'c2VjcmV0' }],
  ['an RSA key that says EC', rsa({ kty: 'EC' })],
  ['a key for encryption', rsa({ use: 'enc' })],
  ['a key for decryption', rsa({ alg: 'RSA-OAEP' })],
  ['a key that only signs', rsa({ key_ops: ['sign'] })],
  ['a key whose operations are no list', rsa({ key_ops: 'verify' })],
  ['an RSA key without n', rsa({ n: undefined })],
  ['an RSA key with an n that is no base64url', rsa({ n: '!' })],
  ['an RSA key with an empty n', rsa({ n: '' })],
  ['an RSA key with an n of zeros', rsa({ n: 'A'.repeat(342) })],
  ['an RSA key with an even n', rsa({ n: evenModulus })],
  ['an RSA key of 1024 bits', weak],
  ['an RSA key of 1024 bits, padded to 2048', { ...weak, n: paddedWeak }],
  ['an RSA key of 2047 bits', publish(exactRsaKey('2047', 2047), 'rsa')],
  ['an RSA key with members of the wrong types', rsa({ n: [], e: null, key_ops: 0 })],
  ['an RSA key with an e longer than n', rsa({ e: 'f'.repeat(400) })],
  ['an RSA key of 16,385 bits', rsa({ n: encode(1, ...Buffer.alloc(2048, 0xff)) })],
  ['an RSA key whose exponent is its modulus', rsa({ e: rsa().n })],
  ['an RSA key without e', rsa({ e: undefined })],
  ...[0, 1, 2, 4].map((e) => [`an RSA key with exponent ${e}`, rsa({ e: encode(e) })] as const),
  ['an RSA key with an even e of three bytes', rsa({ e: encode(1, 0, 0) })],
  ['an elliptic key off its curve', ec({ x: 'A'.repeat(43) })],
  ['an elliptic key without y', ec({ y: undefined })],
  ['an elliptic key of another curve than its point', ec({ crv: 'P-384' })],
  ['an elliptic key of P-384 for ES256', publish(signingKey('ES384', 'ec'), 'ec', { alg: 'ES256' })],
  ['a key of secp256k1', ec({ crv: 'secp256k1' })],
  ['a key for key agreement', ec({ alg: 'ECDH-ES' })],
  ['an Ed25519 key for another algorithm', ed({ alg: 'ES256' })],
  ['an Ed25519 key with a short x', ed({ x: 'AAAA' })],
  ...smallOrder.map(
    (x) => [`an Ed25519 key of small order, ${x}`, ed({ x: encode(...Buffer.from(x, 'hex')) })] as const,
  ),
  ['a coordinate of 33 bytes', ec({ x: encode(0, ...Buffer.from(String(ec().x), 'base64url')) })],
  ['a y of 33 bytes', ec({ y: encode(0, ...Buffer.from(String(ec().y), 'base64url')) })],
  ['an X25519 key', ed({ crv: 'X25519' })],
  ['an Ed448 key', ed({ crv: 'Ed448' })],
  ['a certificate', { kty: 'RSA', kid: 'rsa', use: 'sig', x5c: ['MIIC'] }],
];

describe('importKeys()', () => {
  for (const [name, key, algorithm] of usable) {
    test(`imports ${name} for ${algorithm}, to verify only`, async () => {
      const keys = (await importAll([key])).get(String(key.kid)) ?? [];
      expect(keys).toMatchObject([{ algorithm, cryptoKey: { usages: ['verify'] } }]);
    });
  }

  for (const [name, key] of unusable) {
    test(`skips ${name}, and keeps the valid key beside it`, async () => {
      const good = publish(rsaKey('good'), 'good', { alg: 'RS256' });
      for (const keys of [
        [key, good],
        [good, key],
      ])
        expect([...(await importAll(keys)).keys()]).toEqual(['good']);
      await expect(importAll([key])).rejects.toMatchObject({ fault: { failure: 'no_usable_key' } });
    });
  }

  for (const notSet of [null, [], 'text', {}, { keys: null }, { keys: {} }, { keys: 'text' }, { keys: [] }]) {
    test(`calls ${JSON.stringify(notSet)} malformed`, async () => {
      await expect(importSet(notSet)).rejects.toMatchObject({ fault: { failure: 'malformed' } });
    });
  }

  const held = importAll([rsa({ alg: 'RS256' })]);
  const copies = (count: number, kidOf: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => rsa({ alg: 'RS256', kid: kidOf(at) }));
  const oneKid = () => 'rsa';
  for (const [name, count, kidOf, isTaken] of [
    ['100 keys under one kid', 100, oneKid, true],
    ['101 keys under one kid', 101, oneKid, false],
    ['2,300 keys under one kid', 2300, oneKid, false],
    ['1,000 keys', 1000, String, true],
    ['1,001 keys', 1001, String, false],
  ] as const) {
    test(`${isTaken ? 'imports' : 'rejects'} ${name}`, async () => {
      const result = importAll(copies(count, kidOf), await held);
      if (isTaken) expect([...(await result).values()].flat()).toBeArrayOfSize(count);
      else await expect(result).rejects.toMatchObject({ fault: { failure: 'too_large' } });
    });
  }

  // The point with the same x on the other side of P-256.
  const prime = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
  const y = BigInt(`0x${Buffer.from(String(ec().y), 'base64url').toString('hex')}`);
  const negated = Buffer.from((prime - y).toString(16).padStart(64, '0'), 'hex');
  const other = { rsa: publish(rsaKey('other'), 'rsa'), ec: publish(signingKey('ES256', 'other'), 'ec') };
  for (const [name, before, after, isSame] of [
    ['the same RSA key', rsa(), rsa({ x5t: 'new' }), true],
    ['another n', rsa(), rsa({ n: other.rsa.n }), false],
    ['another e', rsa(), rsa({ e: encode(3) }), false],
    ['another kid', rsa(), rsa({ kid: 'renamed' }), false],
    ['the same elliptic key', ec(), ec({ use: undefined }), true],
    ['another point', ec(), other.ec, false],
    ['another y', ec(), ec({ y: encode(...negated) }), false],
    ['the same Ed25519 key', ed(), ed(), true],
    ['another x', ed(), publish(signingKey('EdDSA', 'other'), 'ed'), false],
  ] as const) {
    test(`${isSame ? 'takes over a held key' : 'imports a key anew'} with ${name}`, async () => {
      const keysBefore = await importAll([before]);
      const [key] = (await importAll([after], keysBefore)).get(String(after.kid)) ?? [];
      if (!key) throw new TypeError('There is no key');
      expect([...keysBefore.values()].flat().includes(key)).toBe(isSame);
    });
  }
});
