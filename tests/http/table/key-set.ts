import { describe, expect, test } from 'bun:test';
import { createPublicKey } from 'node:crypto';
import type { Fixture } from '../../support/fixture.ts';
import { cubicKey, type PublishedKey, publish, rsaKey, signingKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';
import type { TokenRow } from '../../support/token-rows.ts';
import { accepts, refuses } from './tokens.ts';

/** A key of the set: the token that names it is signed with its private half. */
type KeyRow = readonly [name: string, kid: string, overrides: PublishedKey, signer?: ReturnType<typeof rsaKey>];

const usable: readonly KeyRow[] = [
  ['alg RS256', 'with-alg', { alg: 'RS256' }],
  ['no use', 'without-use', { use: undefined }],
  ['key_ops with verify', 'to-verify', { use: undefined, key_ops: ['verify'] }],
  ['key_ops with verify among others', 'to-verify-too', { use: undefined, key_ops: ['sign', 'verify'] }],
  ['3072 bits', 'strong', {}, rsaKey('strong', 3072)],
  ['unknown members', 'annotated', { x5t: 'AAAA', 'x-note': { a: [1] } }],
  ['a twin behind it under its kid', 'twins', {}, rsaKey('first twin')],
  ['a twin before it under its kid', 'twins', {}, rsaKey('second twin')],
];

/** tests/auth/keys/jwk-set.test.ts has a row for each fault of a key. */
const unusable: readonly KeyRow[] = [
  ['1024 bits', 'weak', {}, rsaKey('weak', 1024)],
  ['use enc', 'encrypting', { use: 'enc' }],
  ['a use that is not text', 'numeric-use', { use: 1 }],
  ['alg PS256', 'for-ps256', { alg: 'PS256' }],
];

const keyRows = [...usable, ...unusable];
const publishRow = ([, kid, overrides, signer = rsaKey(kid)]: KeyRow) => publish(signer, kid, overrides);

/** Returns a key set with every kind of faulty key, and every key that an attack could use. The valid keys in it must still work. */
export const crowdedKeySet = (): readonly unknown[] => [
  ...[null, 1, 'text', [], {}, { kty: 'RSA' }, { kid: 'x' }],
  { ...createPublicKey(rsaKey('nameless')).export({ format: 'jwk' }), use: 'sig' },
  publish(rsaKey('other'), 'other'),
  publish(cubicKey(), 'cubic'),
  publish(signingKey('ES256', 'elliptic'), 'elliptic'),
  { kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') },
  publish(rsaKey('spoilt'), 'spoilt', { n: '!!!' }),
  publish(rsaKey('weak', 1024), 'spoilt'),
  publish(rsaKey('spoilt'), 'spoilt'),
  ...keyRows.map(publishRow),
  publish(rsaKey(SIGNING_KID), SIGNING_KID),
];

const signedBy = ([name, kid, , key = rsaKey(kid)]: KeyRow): TokenRow => [name, { header: { kid }, key }];

/** Rows on which keys of the set may verify a token. */
export function keySetRows(fixture: () => Fixture): void {
  describe('a token by a key', () => {
    accepts(fixture, [...usable.map(signedBy), signedBy(['bad ones before it under its kid', 'spoilt', {}])]);
    const faulty = [...unusable, ...['elliptic', 'symmetric'].map((kid): KeyRow => [kid, kid, {}])].map(signedBy);
    for (const [name, token] of faulty) refuses(fixture, [{ name, reason: 'key_unknown', token }]);
    for (const twin of ['first twin', 'second twin']) {
      const token = { key: rsaKey(twin), header: { kid: 'twins' }, claims: { exp: 1 } };
      refuses(fixture, [{ name: `the ${twin}, expired`, reason: 'token_expired', token }]);
    }
  });

  test('fetches from the issuer at most twice: at the start, and once within the cooldown', () => {
    expect(fixture().issuer.fetches).toBeGreaterThan(0);
    expect(fixture().issuer.fetches).toBeLessThanOrEqual(2);
  });
}
