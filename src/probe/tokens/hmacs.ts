import { createHmac, createPublicKey, type KeyObject } from 'node:crypto';
import { type Base, bytesOf, type Forgery } from '../forge/forge.ts';
import type { Trial } from '../row/row.ts';
import { tokens } from '../row/topic.ts';

// Tokens whose signature is an HMAC, keyed with what everybody knows.

const keyOf = ({ publicKey }: Base): KeyObject => createPublicKey({ key: { ...publicKey }, format: 'jwk' });
const pem = (base: Base, type: 'spki' | 'pkcs1' = 'spki') => keyOf(base).export({ type, format: 'pem' }).toString();
/** A token whose signature is an HMAC keyed with public data. */
const hmac =
  (secret: (base: Base) => string | Uint8Array, alg = 'HS256', header: object = {}): Forgery =>
  (base) => ({
    header: { alg, ...header },
    signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret(base)).update(input).digest(),
  });
const isKeyKnown = ({ base }: Trial) => (base.publicKey ? undefined : "The issuer's public key is not known");
const isRsa = ({ base }: Trial) =>
  isKeyKnown({ base } as Trial) ?? (base.publicKey?.n ? undefined : 'Its key is not RSA');

export const hmacs = tokens(
  'hmac',
  {
    rule: 'RFC 8725 §2.1, §3.1',
    needs: 'nothing',
    remedy: 'List asymmetric algorithms only, and remove secrets that stand in examples',
    ownCode: 'Choose between HMAC and signature by the type of the key, and reject an empty secret',
    skip: isKeyKnown,
  },
  {
    pem: ['HS256 keyed with the public key as PEM (CVE-2015-9235, CVE-2016-10555)', hmac((base) => pem(base))],
    'pem-no-kid': [
      'HS256 keyed with the public key as PEM, and no kid',
      hmac((base) => pem(base), 'HS256', { kid: undefined }),
    ],
    'pem-trimmed': ['HS256 keyed with the PEM less its last line end', hmac((base) => pem(base).trim())],
    'pem-blank': ['HS256 keyed with the PEM behind white space (CVE-2026-34950)', hmac((base) => ` \n${pem(base)}`)],
    'pem-hs384': ['HS384 keyed with the PEM (CVE-2023-48223)', hmac((base) => pem(base), 'HS384')],
    'pem-hs512': ['HS512 keyed with the PEM (CVE-2024-54150)', hmac((base) => pem(base), 'HS512')],
    pkcs1: ['HS256 keyed with the PKCS #1 PEM (CVE-2017-11424)', hmac((base) => pem(base, 'pkcs1')), { skip: isRsa }],
    der: [
      'HS256 keyed with the key as DER (CVE-2022-29217)',
      hmac((base) => keyOf(base).export({ type: 'spki', format: 'der' })),
    ],
    jwk: ['HS256 keyed with the JWK as text (CVE-2026-107724)', hmac(({ publicKey }) => JSON.stringify(publicKey))],
    'jwk-set': [
      'HS256 keyed with the JWK Set as text (CVE-2026-107724)',
      hmac(({ publicKey }) => JSON.stringify({ keys: [publicKey] })),
    ],
    modulus: [
      'HS256 keyed with the modulus',
      [hmac((b) => bytesOf(String(b.publicKey?.n))), hmac((b) => String(b.publicKey?.n))],
      { skip: isRsa },
    ],
    empty: ['HS256 keyed with nothing (CVE-2026-44351)', hmac(() => ''), { skip: undefined }],
    'empty-file': [
      'HS256 keyed with nothing, kid an empty file (CVE-2026-44351)',
      ['/dev/null', '../../../../../../dev/null'].map((kid) => hmac(() => '', 'HS256', { kid })),
      {
        skip: undefined,
        remedy: "Look a kid up among the issuer's keys, and never use it as the name of a file",
        ownCode: 'Look a kid up in a Map of the published keys',
      },
    ],
    secret: [
      'HS256 keyed with words that are in examples',
      ['secret', 'your-256-bit-secret', 'changeme'].map((word) => hmac(() => word)),
      { skip: undefined },
    ],
  },
);
