import { describe, expect, test } from 'bun:test';
import { sign } from 'node:crypto';
import { type Algorithm, algorithms } from '../../../src/auth/jose/algorithms.ts';
import { createIssuers, mintSigned, type SignedBy } from '../../support/issuers.ts';
import { type PublishedKey, publish } from '../../support/keys.ts';
import { signAs, signingKey } from '../../support/signatures.ts';

const ISSUER = 'https://issuer.example.test/';
const KID = 'key';

/** A key of the issuer: of the kind that `kind` signs with, under the `kid` of every row. */
const key = (kind: string, overrides: PublishedKey = {}) => publish(signingKey(kind, KID), KID, overrides);
/** A token that names that key; by default it is signed by it too. */
const verify = (keys: readonly unknown[], accepted: readonly Algorithm[], token: SignedBy) =>
  createIssuers({ [ISSUER]: keys }, accepted).verify(mintSigned(ISSUER, { kid: KID, ...token }));

interface Row {
  readonly name: string;
  readonly keys: readonly unknown[];
  readonly accepted: readonly Algorithm[];
  readonly token: SignedBy;
  readonly outcome: string;
}

const rsa: readonly Algorithm[] = ['RS256', 'PS256'];
const curves: readonly Algorithm[] = ['ES256', 'ES384', 'ES512'];
const everyKind = [key('RS256'), key('ES256'), key('ES384'), key('ES512'), key('EdDSA')];

const rows: readonly Row[] = [
  ...algorithms.map((alg) => ({
    name: `${alg}, by a key that names no algorithm`,
    keys: [key(alg)],
    accepted: [alg],
    token: { alg },
    outcome: 'accepted',
  })),
  ...algorithms.map((alg) => ({
    name: `${alg}, by one of five keys of every kind under one kid, all algorithms accepted, this one first`,
    keys: everyKind,
    accepted: [alg, ...algorithms.filter((other) => other !== alg)],
    token: { alg },
    outcome: 'accepted',
  })),
  ...rsa.map((alg) => ({
    name: `${alg}, by an RSA key for ${alg}`,
    keys: [key('RS256', { alg })],
    accepted: rsa,
    token: { alg },
    outcome: 'accepted',
  })),
  ...['EdDSA', 'Ed25519'].flatMap((alg) =>
    [undefined, 'EdDSA', 'Ed25519'].map((named) => ({
      name: `a token that says ${alg}, by a key that says ${named}`,
      keys: [key('EdDSA', { alg: named })],
      accepted: ['EdDSA'] as const,
      token: { alg, signature: 'EdDSA' },
      outcome: 'accepted',
    })),
  ),

  ...algorithms.map((alg) => ({
    name: `${alg}, when every other algorithm is accepted`,
    keys: everyKind,
    accepted: algorithms.filter((other) => other !== alg),
    token: { alg },
    outcome: 'algorithm_unsupported',
  })),
  {
    name: 'PS256, by an RSA key for RS256',
    keys: [key('RS256', { alg: 'RS256' })],
    accepted: rsa,
    token: { alg: 'PS256' },
    outcome: 'key_unknown',
  },
  {
    name: 'RS256, by an RSA key for PS256',
    keys: [key('RS256', { alg: 'PS256' })],
    accepted: rsa,
    token: { alg: 'RS256' },
    outcome: 'key_unknown',
  },
  {
    name: 'PS256, by a key that names no algorithm, while RS256 is listed first',
    keys: [key('RS256')],
    accepted: rsa,
    token: { alg: 'PS256' },
    outcome: 'key_unknown',
  },
  {
    name: 'a token that says PS256, with a signature of RS256',
    keys: [key('RS256', { alg: 'PS256' })],
    accepted: rsa,
    token: { alg: 'PS256', signature: 'RS256' },
    outcome: 'signature_invalid',
  },
  {
    name: 'a token that says RS256, with a signature of PS256',
    keys: [key('RS256')],
    accepted: rsa,
    token: { alg: 'RS256', signature: 'PS256' },
    outcome: 'signature_invalid',
  },
  {
    name: 'a token that says RS256, with a signature of RS512',
    keys: [key('RS256')],
    accepted: ['RS256', 'RS512'],
    token: { alg: 'RS256', signature: 'RS512' },
    outcome: 'signature_invalid',
  },
  ...curves.flatMap((alg) =>
    curves
      .filter((other) => other !== alg)
      .map((other) => ({
        name: `a token that says ${alg}, by a key of the curve of ${other}`,
        keys: [key(other)],
        accepted: curves,
        token: { alg, signature: other },
        outcome: 'key_unknown',
      })),
  ),
  {
    name: 'a token that says ES256, by a key of P-384 that says ES256 of itself',
    keys: [key('ES384', { alg: 'ES256' })],
    accepted: curves,
    token: { alg: 'ES256', signature: 'ES384' },
    outcome: 'keys_unavailable',
  },
  {
    name: 'a token that says EdDSA, by an elliptic key',
    keys: [key('ES256')],
    accepted: algorithms,
    token: { alg: 'EdDSA', signature: 'ES256' },
    outcome: 'key_unknown',
  },
  {
    name: 'a token that says ES256, by an RSA key',
    keys: [key('RS256')],
    accepted: algorithms,
    token: { alg: 'ES256', signature: 'RS256' },
    outcome: 'key_unknown',
  },
  {
    name: 'HS256, with the public key as the secret',
    keys: everyKind,
    accepted: algorithms,
    token: { alg: 'HS256' },
    outcome: 'algorithm_unsupported',
  },
  {
    name: 'none',
    keys: everyKind,
    accepted: algorithms,
    token: { alg: 'none', signature: 'RS256' },
    outcome: 'algorithm_unsupported',
  },
  {
    name: 'es256 in lower case',
    keys: everyKind,
    accepted: algorithms,
    token: { alg: 'es256', signature: 'ES256' },
    outcome: 'algorithm_unsupported',
  },
  {
    name: 'Ed448 and ES256K, which are no algorithms of ours',
    keys: everyKind,
    accepted: algorithms,
    token: { alg: 'ES256K', signature: 'ES256' },
    outcome: 'algorithm_unsupported',
  },
  {
    name: 'ES256 with a signature in DER',
    keys: [key('ES256')],
    accepted: ['ES256'],
    token: {
      alg: 'ES256',
      overrides: { signWith: (input) => sign('sha256', input, signingKey('ES256', KID)) },
    },
    outcome: 'signature_invalid',
  },
  {
    name: 'ES256 with a signature of zeros',
    keys: [key('ES256')],
    accepted: ['ES256'],
    token: { alg: 'ES256', overrides: { signWith: () => new Uint8Array(64) } },
    outcome: 'signature_invalid',
  },
  {
    name: 'EdDSA with a second signature of the same key, made by adding the order of the group',
    keys: [key('EdDSA')],
    accepted: ['EdDSA'],
    token: {
      alg: 'EdDSA',
      overrides: { signWith: (input) => addOrder(signAs('EdDSA', signingKey('EdDSA', KID), input)) },
    },
    outcome: 'signature_invalid',
  },
];

/** RFC 8032 §5.1.7: S must be below the order of the group, or a signature has other spellings. */
function addOrder(signature: Uint8Array): Uint8Array {
  const order = 2n ** 252n + 27742317777372353535851937790883648493n;
  let s = order;
  for (const [index, byte] of signature.subarray(32).entries()) s += BigInt(byte) << BigInt(8 * index);
  return Uint8Array.from({ length: 64 }, (_, index) =>
    index < 32 ? (signature[index] ?? 0) : Number((s >> BigInt(8 * (index - 32))) & 255n),
  );
}

describe('createVerifier()', () => {
  for (const { name, keys, accepted, token, outcome } of rows) {
    test(`${name}: ${outcome}`, async () => {
      expect(await verify(keys, accepted, token)).toBe(outcome);
    });
  }
});
