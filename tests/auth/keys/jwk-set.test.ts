import { describe, expect, test } from 'bun:test';
import { algorithms } from '../../../src/auth/keys/algorithms.ts';
import { describeFault, type FetchError } from '../../../src/auth/keys/fetch/fault.ts';
import { importKeys, type Keys, readKeySet, readKeys } from '../../../src/auth/keys/jwk-set.ts';
import type { Algorithm } from '../../../src/auth/types.ts';
import { exactRsaKey, type PublishedKey, publish, rsaKey, signingKey } from '../../support/keys.ts';
import { smallOrder } from '../../support/signatures.ts';

const rsa = (overrides: PublishedKey = {}) => publish(rsaKey('rsa'), 'rsa', overrides);
const ec = (overrides: PublishedKey = {}) => publish(signingKey('ES256', 'ec'), 'ec', overrides);
const ed = (overrides: PublishedKey = {}) => publish(signingKey('EdDSA', 'ed'), 'ed', overrides);
const mlDsa = (overrides: PublishedKey = {}) => publish(signingKey('ML-DSA-44', 'ml'), 'ml', overrides);
const importSet = async (jwkSet: unknown, held: Keys = new Map()) =>
  (await importKeys(readKeys(readKeySet(jwkSet), algorithms), held)).keys;
const fail = () => {
  throw new Error('It was a key set');
};
const importAll = (keys: readonly unknown[], held?: Keys) => importSet({ keys }, held);

const modulus = Buffer.from(String(rsa().n), 'base64url');
const encode = (...bytes: readonly number[]) => Buffer.from(bytes).toString('base64url');
const evenModulus = Buffer.concat([modulus.subarray(0, -1), Buffer.of(0)]).toString('base64url');
const weak = publish(rsaKey('weak', 1024), 'rsa');
const paddedWeak = Buffer.concat([Buffer.alloc(128), Buffer.from(String(weak.n), 'base64url')]).toString('base64url');

const p384 = (overrides: PublishedKey = {}) => publish(signingKey('ES384', 'ec'), 'ec', overrides);
const exact = (bits: number) => publish(exactRsaKey(String(bits), bits), 'rsa', { alg: 'RS256' });
const allOnes = (...first: readonly number[]) => encode(...first, ...Buffer.alloc(2048, 0xff));

const usable: Readonly<Partial<Record<Algorithm, readonly PublishedKey[]>>> = {
  RS256: [
    rsa(),
    ...[
      { use: undefined },
      { key_ops: ['encrypt', 'verify'] },
      { crv: 'P-256' },
      { d: 'c2VjcmV0' },
      { e: encode(3) },
    ].map((overrides) => rsa({ alg: 'RS256', ...overrides })),
    // 16,384 bits, zeros before the modulus, and no whole byte more than 2048 bits.
    ...[allOnes(), encode(0, 0, ...modulus)].map((n) => rsa({ alg: 'RS256', n })),
    exact(2049),
  ],
  PS512: [rsa({ alg: 'PS512' })],
  ES256: [ec()],
  ES384: [p384()],
  ES512: [publish(signingKey('ES512', 'ec'), 'ec')],
  EdDSA: [ed(), ed({ alg: 'Ed25519' })],
  'ML-DSA-44': [mlDsa()],
  'ML-DSA-87': [publish(signingKey('ML-DSA-87', 'ml'), 'ml')],
};

const unusable: readonly unknown[] = [
  ...[null, 'text', [[]], {}, { kty: 'oct', kid: 'rsa', k: 'c2VjcmV0' }],
  { kty: 'RSA', kid: 'rsa', use: 'sig', x5c: ['MIIC'] },
  ...[{ kid: undefined }, { kid: '' }, { kid: 7 }, { kty: undefined }, { kty: 'EC' }, { use: 'enc' }].map(rsa),
  ...[{ alg: 'RSA-OAEP' }, { key_ops: ['sign'] }, { key_ops: 'verify' }, { n: [], e: null, key_ops: 0 }].map(rsa),
  // Moduli: none, of zeros, even, of 1024 bits padded to 2048, and of 16,385 bits.
  ...[undefined, '!', '', 'A'.repeat(342), evenModulus, paddedWeak, allOnes(1)].map((n) => rsa({ n })),
  // Exponents: none, longer than n, n itself, too small, and even.
  ...[undefined, 'f'.repeat(400), rsa().n, ...['AA', 'AQ', 'Ag', 'BA', 'AQAA']].map((e) => rsa({ e })),
  ...[weak, exact(2047)],
  // Off its curve, without y, of another curve than its point, too long, and for something else.
  ...[{ x: 'A'.repeat(43) }, { y: undefined }, { crv: 'P-384' }, { crv: 'secp256k1' }, { alg: 'ECDH-ES' }].map(ec),
  ...['x', 'y'].map((name) => ec({ [name]: encode(0, ...Buffer.from(String(ec()[name]), 'base64url')) })),
  p384({ alg: 'ES256' }),
  ...[{ alg: 'ES256' }, { x: 'AAAA' }, { crv: 'X25519' }, { crv: 'Ed448' }].map(ed),
  ...smallOrder.map((x) => ed({ x })),
  // Without alg, for another size, and without a key or with one of a byte more.
  ...[{ alg: undefined }, { alg: 'ML-DSA-65' }, { kty: 'OKP' }, { pub: undefined }, { pub: [mlDsa().pub] }].map(mlDsa),
  mlDsa({ pub: encode(0, ...Buffer.from(String(mlDsa().pub), 'base64url')) }),
  ...['use', 'alg', 'kty'].map((name) => rsa({ [name]: { toString: null } })),
];
const show = (key: unknown) => (JSON.stringify(key) ?? '').replace(/"([\w-]{20})[\w-]+"/g, '"$1…"');

describe('importKeys()', () => {
  for (const [algorithm, published] of Object.entries(usable))
    for (const key of published)
      test(`imports ${show(key)} for ${algorithm}, to verify only`, async () => {
        const keys = (await importAll([key])).get(String(key.kid)) ?? [];
        expect(keys).toMatchObject([{ algorithm, cryptoKey: { usages: ['verify'] } }]);
      });

  for (const key of unusable)
    test(`skips ${show(key)}, and keeps the valid key beside it`, async () => {
      const good = publish(rsaKey('good'), 'good', { alg: 'RS256' });
      for (const keys of [[key, good], [key, good].toReversed()])
        expect([...(await importAll(keys)).keys()]).toEqual(['good']);
      await expect(importAll([key])).rejects.toMatchObject({ fault: { failure: 'no_usable_key' } });
    });

  test.each([
    ['for encryption', { use: 'enc' }, 'use is enc'],
    ['of an operation', { key_ops: ['sign'] }, 'key_ops is sign'],
    ['of an operation that is no list', { key_ops: 'verify' }, 'key_ops is verify'],
    ['for an algorithm that is not accepted', { alg: 'RSA-OAEP' }, 'alg is RSA-OAEP'],
    ['with an alg that a terminal interprets', { alg: '\u001b[2J' }, 'alg is \\u001b[2J'],
    ['of another type', { kty: 'oct' }, 'kty is oct'],
    ['without a type', { kty: undefined }, 'kty is missing'],
    ['of another type than its alg', { kty: 'EC', alg: 'RS256' }, 'kty is EC'],
    ['of a curve that no algorithm has', { kty: 'EC', crv: 'secp256k1' }, 'crv is secp256k1'],
    ['whose use is an object without text', { use: { toString: null } }, 'use is malformed'],
    ['whose operations are lists', { key_ops: [[['sign']]] }, 'key_ops is malformed'],
    ['of 1024 bits', { ...weak, kid: 'k' }, '1024 bits'],
    ['with an even modulus', { n: evenModulus }, 'n is even'],
    ['without a modulus', { n: undefined }, 'n is malformed'],
    ['with the exponent 1', { e: 'AQ' }, 'e is malformed'],
    ['of another curve than its alg', { ...ec(), crv: 'P-384', kid: 'k', alg: 'ES256' }, 'crv does not fit alg'],
    ['off its curve', { ...ec(), kid: 'k', x: 'A'.repeat(43) }, 'not on its curve'],
    ['of small order', { ...ed(), kid: 'k', x: smallOrder[0] }, 'x is of small order'],
  ])('says why no key %s can be used', async (_, members, reason) => {
    const fault = { failure: 'no_usable_key', found: `k: ${reason}` };
    await expect(importAll([{ ...rsa(), kid: 'k', ...members }])).rejects.toMatchObject({ fault });
  });

  test.each([
    ['for encryption', { use: 'enc' }],
    ['of 1024 bits', weak],
    ['off its curve', { ...ec(), x: 'A'.repeat(43) }],
  ])('escapes the kid of a key %s, which a terminal interprets', async (_, members) => {
    const found = expect.stringMatching(/^k\\u001b\[2J\\u202e\\u0085: /);
    const keys = [{ ...rsa(), ...members, kid: 'k\u001b[2J\u202e\u0085' }];
    await expect(importAll(keys)).rejects.toMatchObject({ fault: { found } });
  });

  test('says why each of several keys cannot be used, by its number if it has no kid, at most ten', async () => {
    const keys = [{ kid: 'k1', use: 'enc' }, { kid: undefined }, { kid: 7 }, { ...weak, kid: 'k3' }].map(rsa);
    const found = 'k1: use is enc, key 2: no kid, key 3: kid is not text, key 4: not an object, k3: 1024 bits';
    await expect(importAll(keys.toSpliced(3, 0, null as never))).rejects.toMatchObject({ fault: { found } });
    const many = Array.from({ length: 12 }, (_, at) => rsa({ kid: `k${at}`, use: 'enc' }));
    await expect(importAll(many)).rejects.toMatchObject({
      fault: { found: expect.stringMatching(/k9: use is enc, and 2 more$/) },
    });
  });

  const short = Buffer.from(String(publish(signingKey('ES512', 'ec'), 'ec').x), 'base64url').subarray(1);
  test.each([
    ['a P-521 coordinate of 65 octets', publish(signingKey('ES512', 'ec'), 'ec', { x: encode(...short) }), true],
    ['a modulus of 1024 bits', weak, true],
    ['an even exponent, without alg', rsa({ e: 'BA' }), true],
    ['a point off its curve', ec({ x: 'A'.repeat(43) }), true],
    ['another curve than its alg', ec({ crv: 'P-384' }), true],
    ['a point of small order', ed({ x: String(smallOrder[0]) }), true],
    ['a public part that is too short', mlDsa({ pub: 'AAAA' }), true],
    ['another purpose', ec({ use: 'enc', x: 'AAAA' }), false],
    ['another algorithm', rsa({ alg: 'RSA-OAEP', n: 'AAAA' }), false],
    ['a curve that no algorithm has', ec({ alg: undefined, crv: 'secp256k1' }), false],
    ['a type that leaves its size open', mlDsa({ alg: undefined }), false],
    ['no kid', ec({ kid: undefined, x: 'AAAA' }), false],
    ['nothing wrong', ec(), false],
  ])('names a key with %s if only its form is wrong', async (_, key, isNamed) => {
    const good = publish(rsaKey('good'), 'good', { alg: 'RS256' });
    const { reported } = await importKeys(readKeys([key, good], algorithms), new Map());
    expect(reported.map(({ kid }) => kid)).toEqual(isNamed ? [String(key.kid)] : []);
  });

  const issuer = 'https://issuer.example.test';
  for (const [found, notSet, clause] of [
    ['metadata', { issuer, jwks_uri: `${issuer}/keys` }, 'is metadata, not a key set: leave JWKS_URI out'],
    ['an object', {}, 'is an object without keys'],
    ['an object', { keys: null }, 'is an object without keys'],
    ['an object', { keys: {} }, 'is an object without keys'],
    ['an object', { error: 'not_found' }, 'is an object without keys'],
    ['no keys', { keys: [] }, 'is a key set without a key'],
    ['one key', rsa(), 'is a single key, not a key set, …'],
    ['a list', [rsa()], 'is a list, not a key set, …'],
    ['certificates', { k: '-----BEGIN CERTIFICATE-----\nMIIC' }, 'has PEM certificates by key ID, not a key set, …'],
    ['no JSON object', null, 'is not a JSON object'],
    ['no JSON object', 'text', 'is not a JSON object'],
  ] as const)
    test(`says of ${show(notSet)}: ${clause}`, async () => {
      const { fault } = await importSet(notSet).then(fail, (error: FetchError) => error);
      expect(fault).toMatchObject({ failure: 'malformed', found });
      expect(describeFault(fault, 'JWKS_URI')).toStartWith(`the key set ${clause.replace('…', '')}`);
    });

  test('imports at most 100 keys under one kid, and 1,000 in all', async () => {
    const held = await importAll([rsa({ alg: 'RS256' })]);
    for (const limit of [100, 1000]) {
      const kidOf = limit === 100 ? () => 'rsa' : String;
      const keys = Array.from({ length: limit + 1 }, (_, at) => rsa({ alg: 'RS256', kid: kidOf(at) }));
      await expect(importAll(keys, held)).rejects.toMatchObject({ fault: { failure: 'too_large' } });
      expect([...(await importAll(keys.slice(1), held)).values()].flat()).toBeArrayOfSize(limit);
    }
  });

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
    ['the same ML-DSA key', mlDsa(), mlDsa({ use: undefined }), true],
    ['another pub', mlDsa(), publish(signingKey('ML-DSA-44', 'other'), 'ml'), false],
    ['another x', ed(), publish(signingKey('EdDSA', 'other'), 'ed'), false],
  ] as const)
    test(`${isSame ? 'reuses a held key' : 'imports a key again'} with ${name}`, async () => {
      const held = await importAll([before]);
      const [key] = [...(await importAll([after], held)).values()].flat();
      expect([...held.values()].flat().some((each) => each === key)).toBe(isSame);
    });
});
