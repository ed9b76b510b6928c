import { describe, expect, test } from 'bun:test';
import { sign } from 'node:crypto';
import { algorithms } from '../../../src/auth/keys/algorithms.ts';
import type { Algorithm } from '../../../src/auth/types.ts';
import { createChecker, ISSUER, publishedBy } from '../../support/checked.ts';
import { type PublishedKey, publish, signingKey } from '../../support/keys.ts';
import type { TokenOverrides } from '../../support/mint.ts';

const KID = 'key';

/** A key of the issuer: of the kind that `kind` signs with, under the `kid` of every row. */
const key = (kind: string, overrides: PublishedKey = {}) => publish(signingKey(kind, KID), KID, overrides);
/** A token that names that key, and is signed by it as `alg` says, unless it says otherwise. */
interface Token extends TokenOverrides {
  readonly alg: string;
}
type Row = readonly [name: string, keys: readonly unknown[], accepted: readonly Algorithm[], token: Token];

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
  { alg, signedAs: other },
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
        const token = { alg, signedAs: 'EdDSA' };
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
  keys_unavailable: [['by P-384', [key('ES384', { alg: 'ES256' })], curves, { alg: 'ES256', signedAs: 'ES384' }]],
  signature_invalid: [
    ['PS256 by RS256', [key('RS256', { alg: 'PS256' })], rsa, { alg: 'PS256', signedAs: 'RS256' }],
    ['RS256 by PS256', [key('RS256')], rsa, { alg: 'RS256', signedAs: 'PS256' }],
    ...mlDsa.flatMap((alg): Row[] => [
      [`${alg} of another length`, [key(alg)], mlDsa, { alg, signWith: () => new Uint8Array(64) }],
      [`${alg} by another key`, [key(alg)], mlDsa, { alg, key: signingKey(alg, 'other') }],
    ]),
    ['DER', [key('ES256')], curves, { alg: 'ES256', signWith: signDer }],
    ['zeros', [key('ES256')], curves, { alg: 'ES256', signWith: () => new Uint8Array(64) }],
  ],
};

describe('createGuard().check()', () => {
  for (const [outcome, rows] of Object.entries(table))
    for (const [name, keys, algorithms, { alg, signedAs = alg, ...overrides }] of rows)
      test(`${outcome}: ${name}`, async () => {
        const check = createChecker({ ...publishedBy({ [ISSUER]: keys }).options, algorithms });
        const token = { header: { alg, kid: KID }, signedAs, key: signingKey(signedAs, KID), ...overrides };
        expect((await check(token)).reason ?? 'accepted').toBe(outcome);
      });
});
