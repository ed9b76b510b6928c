import { constants, createHmac, createPublicKey, sign } from 'node:crypto';
import { ecKey, publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import type { Attack } from './attack.ts';

const publicKey = () => createPublicKey(rsaKey(SIGNING_KID));
const spkiPem = () => publicKey().export({ type: 'spki', format: 'pem' }).toString();
const pkcs1Pem = () => publicKey().export({ type: 'pkcs1', format: 'pem' }).toString();
const jwk = () => publish(rsaKey(SIGNING_KID), SIGNING_KID);

/** An HMAC over the token, keyed with something that anyone can know. */
const hmac = (
  alg: 'HS256' | 'HS384' | 'HS512',
  secret: () => string | Uint8Array,
  kid = SIGNING_KID,
): TokenOverrides => ({
  header: { alg, kid },
  signWith: (input) => createHmac(alg.replace('HS', 'sha'), secret()).update(input).digest(),
});

const confusion: readonly Attack[] = [
  {
    name: 'HS256 keyed with the public key as PEM',
    advisory: 'CVE-2015-9235, CVE-2016-10555',
    token: hmac('HS256', spkiPem),
  },
  {
    name: 'HS256 keyed with the PEM less its last line end',
    advisory: 'CVE-2015-9235',
    token: hmac('HS256', () => spkiPem().trim()),
  },
  {
    name: 'HS256 keyed with the public key as PKCS #1 PEM',
    advisory: 'CVE-2017-11424',
    token: hmac('HS256', pkcs1Pem),
  },
  {
    name: 'HS256 keyed with the PEM behind white space',
    advisory: 'CVE-2026-34950',
    token: hmac('HS256', () => ` \n${spkiPem()}`),
  },
  {
    name: 'HS256 keyed with the public key as DER',
    advisory: 'CVE-2022-29217',
    token: hmac('HS256', () => publicKey().export({ type: 'spki', format: 'der' })),
  },
  {
    name: 'HS256 keyed with the JWK as text',
    advisory: 'CVE-2026-107724',
    token: hmac('HS256', () => JSON.stringify(jwk())),
  },
  {
    name: 'HS256 keyed with the JWK Set as text',
    advisory: 'CVE-2026-107724',
    token: hmac('HS256', () => JSON.stringify({ keys: [jwk()] })),
  },
  {
    name: 'HS256 keyed with the modulus as bytes',
    advisory: 'RFC 8725 §2.1',
    token: hmac('HS256', () => Buffer.from(String(jwk().n), 'base64url')),
  },
  {
    name: 'HS256 keyed with the modulus as text',
    advisory: 'RFC 8725 §2.1',
    token: hmac('HS256', () => String(jwk().n)),
  },
  { name: 'HS256 keyed with nothing', advisory: 'CVE-2026-44351', token: hmac('HS256', () => '') },
  {
    name: 'HS256 keyed with nothing, its kid an empty file',
    advisory: 'CVE-2026-44351',
    token: hmac('HS256', () => '', '/dev/null'),
  },
  {
    name: 'HS256 keyed with a shared secret that the issuer published',
    advisory: 'RFC 8725 §3.1',
    token: hmac('HS256', () => Buffer.alloc(32, 1), 'symmetric'),
  },
  { name: 'HS384 keyed with the public key as PEM', advisory: 'CVE-2023-48223', token: hmac('HS384', spkiPem) },
  { name: 'HS512 keyed with the public key as PEM', advisory: 'CVE-2024-54150', token: hmac('HS512', spkiPem) },
];

const pss =
  (hash: string, saltLength: number) =>
  (input: Buffer): Uint8Array =>
    sign(hash, input, { key: rsaKey(SIGNING_KID), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });

/** The published key says nothing of algorithms, and the signature is really made with it. */
const fromHeader: readonly Attack[] = [
  {
    name: 'PS256, a real signature',
    advisory: 'CVE-2026-22817, CVE-2026-22818',
    token: { header: { alg: 'PS256' }, signWith: pss('sha256', 32) },
  },
  {
    name: 'PS512, a real signature',
    advisory: 'CVE-2026-22817',
    token: { header: { alg: 'PS512' }, signWith: pss('sha512', 64) },
  },
  ...(['384', '512'] as const).map((bits) => ({
    name: `RS${bits}, a real signature`,
    advisory: 'CVE-2026-22817, CVE-2026-22818',
    token: {
      header: { alg: `RS${bits}` },
      signWith: (input: Buffer) => sign(`RSA-SHA${bits}`, input, rsaKey(SIGNING_KID)),
    },
  })),
  {
    name: 'ES256, a real signature by a published key',
    advisory: 'RFC 8725 §3.1',
    token: {
      header: { alg: 'ES256', kid: 'elliptic' },
      signWith: (input) => sign('sha256', input, { key: ecKey('elliptic'), dsaEncoding: 'ieee-p1363' }),
    },
  },
  { name: 'PS256 that calls itself RS256', advisory: 'RFC 8725 §3.1', token: { signWith: pss('sha256', 32) } },
  {
    name: 'RS1 that calls itself RS256',
    advisory: 'RFC 8725 §3.2',
    token: { signWith: (input) => sign('RSA-SHA1', input, rsaKey(SIGNING_KID)) },
  },
];

/** All sixteen ways to write `none`. */
const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
);

const none: readonly Attack[] = [
  ...nones.map((alg) => ({
    name: `alg ${alg} with an empty signature`,
    advisory: 'CVE-2022-23540, RFC 8725 §2.1',
    token: { header: { alg }, signWith: () => Buffer.alloc(0) },
  })),
  ...nones.map((alg) => ({
    name: `alg ${alg} over a good signature`,
    advisory: 'RFC 8725 §3.1',
    token: { header: { alg } },
  })),
  ...[undefined, null, '', 0, [], ['RS256'], { RS256: 1 }, 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256'].map((alg) => ({
    name: `alg ${JSON.stringify(alg) ?? 'missing'} over a good signature`,
    advisory: 'RFC 8725 §3.1, RFC 7515 §4.1.1',
    token: { header: { alg } },
  })),
];

/** The token chooses how it is verified. */
export const algorithmAttacks: readonly Attack[] = [...confusion, ...fromHeader, ...none];
