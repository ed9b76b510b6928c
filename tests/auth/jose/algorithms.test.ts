import { describe, expect, test } from 'bun:test';
import { sign } from 'node:crypto';
import { type Algorithm, algorithms } from '../../../src/auth/jose/algorithms.ts';
import { createIssuers, mintSigned, type SignedBy } from '../../support/issuers.ts';
import { type PublishedKey, publish } from '../../support/keys.ts';
import { signingKey } from '../../support/signatures.ts';

const ISSUER = 'https://issuer.example.test/';
const KID = 'key';

/** A key of the issuer: of the kind that `kind` signs with, under the `kid` of every row. */
const key = (kind: string, overrides: PublishedKey = {}) => publish(signingKey(kind, KID), KID, overrides);
/** A token that names that key, and is signed by it, unless it says otherwise. */
type Row = readonly [name: string, keys: readonly unknown[], accepted: readonly Algorithm[], token: SignedBy];

const rsa: readonly Algorithm[] = ['RS256', 'PS256'];
const curves: readonly Algorithm[] = ['ES256', 'ES384', 'ES512'];
const mlDsa: readonly Algorithm[] = ['ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87'];
const everyKind = ['RS256', 'ES256', 'ES384', 'ES512', 'EdDSA', ...mlDsa].map((kind) => key(kind));
const signDer = (input: Buffer) => sign('sha256', input, signingKey('ES256', KID));
const without = (list: readonly Algorithm[], alg: Algorithm) => list.filter((other) => other !== alg);

const byKeyOf = (alg: string, other: string, accepted: Row[2]): Row => [
  `${alg}, by a key for ${other}`,
  [key(other)],
  accepted,
  { alg, signature: other },
];

const table: Readonly<Record<string, readonly Row[]>> = {
  accepted: [
    ...algorithms.map((alg): Row => {
      const accepted = [alg, ...without(algorithms, alg)];
      return [`${alg}, by one of keys of every kind under one kid`, everyKind, accepted, { alg }];
    }),
    ...rsa.map((alg): Row => [`${alg}, by an RSA key for ${alg}`, [key('RS256', { alg })], rsa, { alg }]),
    ...['EdDSA', 'Ed25519'].flatMap((alg) =>
      [undefined, 'EdDSA', 'Ed25519'].map((named): Row => {
        const token = { alg, signature: 'EdDSA' };
        return [`${alg}, by a key that says ${named}`, [key('EdDSA', { alg: named })], ['EdDSA'], token];
      }),
    ),
  ],
  algorithm_unsupported: algorithms.map((alg) => [`${alg}, alone`, everyKind, without(algorithms, alg), { alg }]),
  key_unknown: [
    ['PS256, by an RSA key for RS256', [key('RS256', { alg: 'RS256' })], rsa, { alg: 'PS256' }],
    ['RS256, by an RSA key for PS256', [key('RS256', { alg: 'PS256' })], rsa, { alg: 'RS256' }],
    ['PS256, by a key without alg, RS256 being the first', [key('RS256')], rsa, { alg: 'PS256' }],
    ...curves.flatMap((alg) => without(curves, alg).map((other) => byKeyOf(alg, other, curves))),
    byKeyOf('EdDSA', 'ES256', algorithms),
    ...mlDsa.flatMap((alg) => without(mlDsa, alg).map((other) => byKeyOf(alg, other, mlDsa))),
    byKeyOf('ES256', 'RS256', algorithms),
  ],
  keys_unavailable: [['by P-384', [key('ES384', { alg: 'ES256' })], curves, { alg: 'ES256', signature: 'ES384' }]],
  signature_invalid: [
    ['PS256 by RS256', [key('RS256', { alg: 'PS256' })], rsa, { alg: 'PS256', signature: 'RS256' }],
    ['RS256 by PS256', [key('RS256')], rsa, { alg: 'RS256', signature: 'PS256' }],
    ...mlDsa.flatMap((alg): Row[] => [
      [`${alg} of another length`, [key(alg)], mlDsa, { alg, overrides: { signWith: () => new Uint8Array(64) } }],
      [`${alg} by another key`, [key(alg)], mlDsa, { alg, signer: 'other' }],
    ]),
    ['DER', [key('ES256')], curves, { alg: 'ES256', overrides: { signWith: signDer } }],
    ['zeros', [key('ES256')], curves, { alg: 'ES256', overrides: { signWith: () => new Uint8Array(64) } }],
  ],
};

describe('createVerifier()', () => {
  for (const [outcome, rows] of Object.entries(table))
    for (const [name, keys, accepted, token] of rows)
      test(`${outcome}: ${name}`, async () => {
        const { verify } = createIssuers({ [ISSUER]: keys }, accepted);
        expect(await verify(mintSigned(ISSUER, { kid: KID, ...token }))).toBe(outcome);
      });
});
