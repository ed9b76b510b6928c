import { describe, expect, test } from 'bun:test';
import { createPublicKey } from 'node:crypto';
import type { Fixture } from '../../support/fixture.ts';
import { ecKey, exactRsaKey, type PublishedKey, publish, rsaKey } from '../../support/keys.ts';
import { nowSeconds, SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { accepts, refuses, type TokenRow } from './token-rows.ts';

interface KeyRow {
  readonly name: string;
  readonly kid: string;
  /** What is published under this kid. */
  readonly published: () => readonly PublishedKey[];
  /** Signs the row's token; the published key's private half. */
  readonly signer?: () => TokenOverrides['key'];
}

const row = (name: string, kid: string, overrides: PublishedKey, signer = () => rsaKey(kid)): KeyRow => ({
  name,
  kid,
  published: () => [publish(signer(), kid, overrides)],
  signer,
});

const usable: readonly KeyRow[] = [
  row('a key with alg RS256', 'with-alg', { alg: 'RS256' }),
  row('a key without use', 'without-use', { use: undefined }),
  row('a key whose key_ops has verify', 'to-verify', { use: undefined, key_ops: ['verify'] }),
  row('a key whose key_ops has verify among others', 'to-verify-too', { use: undefined, key_ops: ['sign', 'verify'] }),
  row('a key of 3072 bits', 'strong', {}, () => rsaKey('strong', 3072)),
  row('a key with members it does not know', 'annotated', { x5t: 'AAAA', 'x-note': { a: [1] } }),
  {
    name: 'the second of two keys under one kid',
    kid: 'twins',
    published: () => [publish(rsaKey('first twin'), 'twins'), publish(rsaKey('second twin'), 'twins')],
    signer: () => rsaKey('second twin'),
  },
  {
    name: 'the first of two keys under one kid',
    kid: 'twins',
    published: () => [],
    signer: () => rsaKey('first twin'),
  },
  {
    name: 'a good key behind a malformed and a weak one under one kid',
    kid: 'spoilt',
    published: () => [
      publish(rsaKey('spoilt'), 'spoilt', { n: '!!!' }),
      publish(rsaKey('weak', 1024), 'spoilt'),
      publish(rsaKey('spoilt'), 'spoilt'),
    ],
  },
];

const unusable: readonly KeyRow[] = [
  row('a key of 1024 bits', 'weak', {}, () => rsaKey('weak', 1024)),
  row('a key of 2047 bits', 'nearly', {}, () => exactRsaKey('nearly', 2047)),
  row('a key to encrypt with', 'to-encrypt', { use: 'enc' }),
  row('a key whose use is not text', 'numeric-use', { use: 1 }),
  row('a key with alg RS512', 'for-rs512', { alg: 'RS512' }),
  row('a key with alg PS256', 'for-ps256', { alg: 'PS256' }),
  row('a key whose key_ops lacks verify', 'to-sign', { use: undefined, key_ops: ['sign'] }),
  row('a key with empty key_ops', 'for-nothing', { use: undefined, key_ops: [] }),
  row('a key without n', 'without-n', { n: undefined }),
  row('a key whose n is empty', 'empty-n', { n: '' }),
  row('a key whose n is not base64url', 'garbled-n', { n: '!!!' }),
  row('a key whose n is a number', 'numeric-n', { n: 65537 }),
  row('a key without e', 'without-e', { e: undefined }),
  row('a key whose e is not base64url', 'garbled-e', { e: '***' }),
  row('a key without kty', 'without-kty', { kty: undefined }),
  row('a key whose kty is another', 'other-kty', { kty: 'oct' }),
  {
    name: 'a key on an elliptic curve',
    kid: 'elliptic',
    published: () => [publish(ecKey('elliptic'), 'elliptic')],
  },
  {
    name: 'a shared secret that anyone can read',
    kid: 'symmetric',
    published: () => [{ kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') }],
  },
];

const junk: readonly unknown[] = [null, 1, 'text', [], {}, { kty: 'RSA' }, { kid: 'x' }];

/** Returns a key set with every kind of faulty key. The valid keys in it must still work. */
export function crowdedKeySet(): readonly unknown[] {
  const nameless = { ...createPublicKey(rsaKey('nameless')).export({ format: 'jwk' }), use: 'sig' };
  const rows = [...unusable, ...usable].flatMap(({ published }) => published());
  return [...junk, nameless, ...rows, publish(rsaKey(SIGNING_KID), SIGNING_KID)];
}

const tokenRow =
  (overrides: TokenOverrides = {}) =>
  ({ name, kid, signer = () => rsaKey(kid) }: KeyRow): TokenRow => ({
    name,
    token: () => {
      const key = signer();
      return { header: { kid }, ...(key && { key }), ...overrides };
    },
  });

/** Rows on which keys of the set may verify a token. */
export function keySetRows(fixture: () => Fixture): void {
  describe('a token signed by', () => {
    accepts(fixture, usable.map(tokenRow()));
    refuses(fixture, unusable.map(tokenRow()), 'invalid_header');
    refuses(
      fixture,
      [{ name: 'neither of two keys under one kid', token: () => ({ header: { kid: 'twins' } }) }],
      'invalid_header',
    );
    refuses(
      fixture,
      usable.filter(({ kid }) => kid === 'twins').map(tokenRow({ claims: { exp: nowSeconds() - 60 } })),
      'token_expired',
    );
  });

  test('asks the issuer no more than twice in all of this: at the start, and once within the cooldown', () => {
    expect(fixture().issuer.fetches).toBeGreaterThan(0);
    expect(fixture().issuer.fetches).toBeLessThanOrEqual(2);
  });
}
