import { constants, createHmac, createPublicKey, sign } from 'node:crypto';
import { ecKey, publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { type Attack, attack } from './attack.ts';

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
  attack('HS256 keyed with the public key as PEM', 'CVE-2015-9235, CVE-2016-10555', hmac('HS256', spkiPem)),
  attack(
    'HS256 keyed with the PEM less its last line end',
    'CVE-2015-9235',
    hmac('HS256', () => spkiPem().trim()),
  ),
  attack('HS256 keyed with the public key as PKCS #1 PEM', 'CVE-2017-11424', hmac('HS256', pkcs1Pem)),
  attack(
    'HS256 keyed with the PEM behind white space',
    'CVE-2026-34950',
    hmac('HS256', () => ` \n${spkiPem()}`),
  ),
  attack(
    'HS256 keyed with the public key as DER',
    'CVE-2022-29217',
    hmac('HS256', () => publicKey().export({ type: 'spki', format: 'der' })),
  ),
  attack(
    'HS256 keyed with the JWK as text',
    'CVE-2026-107724',
    hmac('HS256', () => JSON.stringify(jwk())),
  ),
  attack(
    'HS256 keyed with the JWK Set as text',
    'CVE-2026-107724',
    hmac('HS256', () => JSON.stringify({ keys: [jwk()] })),
  ),
  attack(
    'HS256 keyed with the modulus as bytes',
    'RFC 8725 §2.1',
    hmac('HS256', () => Buffer.from(String(jwk().n), 'base64url')),
  ),
  attack(
    'HS256 keyed with the modulus as text',
    'RFC 8725 §2.1',
    hmac('HS256', () => String(jwk().n)),
  ),
  attack(
    'HS256 keyed with nothing',
    'CVE-2026-44351',
    hmac('HS256', () => ''),
  ),
  attack(
    'HS256 keyed with nothing, its kid an empty file',
    'CVE-2026-44351',
    hmac('HS256', () => '', '/dev/null'),
  ),
  attack(
    'HS256 keyed with a shared secret that the issuer published',
    'RFC 8725 §3.1',
    hmac('HS256', () => Buffer.alloc(32, 1), 'symmetric'),
  ),
  attack('HS384 keyed with the public key as PEM', 'CVE-2023-48223', hmac('HS384', spkiPem)),
  attack('HS512 keyed with the public key as PEM', 'CVE-2024-54150', hmac('HS512', spkiPem)),
];

const pss =
  (hash: string, saltLength: number) =>
  (input: Buffer): Uint8Array =>
    sign(hash, input, { key: rsaKey(SIGNING_KID), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength });

/** The published key has no `alg`, and has made the signature. */
const fromHeader: readonly Attack[] = [
  attack('PS256, a real signature', 'CVE-2026-22817, CVE-2026-22818', {
    header: { alg: 'PS256' },
    signWith: pss('sha256', 32),
  }),
  attack('PS512, a real signature', 'CVE-2026-22817', { header: { alg: 'PS512' }, signWith: pss('sha512', 64) }),
  ...(['384', '512'] as const).map((bits) =>
    attack(`RS${bits}, a real signature`, 'CVE-2026-22817, CVE-2026-22818', {
      header: { alg: `RS${bits}` },
      signWith: (input: Buffer) => sign(`RSA-SHA${bits}`, input, rsaKey(SIGNING_KID)),
    }),
  ),
  attack('ES256, a real signature by a published key', 'RFC 8725 §3.1', {
    header: { alg: 'ES256', kid: 'elliptic' },
    signWith: (input) => sign('sha256', input, { key: ecKey('elliptic'), dsaEncoding: 'ieee-p1363' }),
  }),
  attack('PS256 that calls itself RS256', 'RFC 8725 §3.1', { signWith: pss('sha256', 32) }),
  attack('RS1 that calls itself RS256', 'RFC 8725 §3.2', {
    signWith: (input) => sign('RSA-SHA1', input, rsaKey(SIGNING_KID)),
  }),
];

/** All sixteen ways to write `none`. */
const nones = Array.from({ length: 16 }, (_, bits) =>
  [...'none'].map((letter, at) => (bits & (1 << at) ? letter.toUpperCase() : letter)).join(''),
);

const none: readonly Attack[] = [
  ...nones.map((alg) =>
    attack(`alg ${alg} with an empty signature`, 'CVE-2022-23540, RFC 8725 §2.1', {
      header: { alg },
      signWith: () => Buffer.alloc(0),
    }),
  ),
  ...nones.map((alg) => attack(`alg ${alg} over a good signature`, 'RFC 8725 §3.1', { header: { alg } })),
  ...[undefined, null, '', 0, [], ['RS256'], { RS256: 1 }, 'rs256', 'RS256 ', 'RS256\0', 'ＲＳ256'].map((alg) =>
    attack(`alg ${JSON.stringify(alg) ?? 'missing'} over a good signature`, 'RFC 8725 §3.1, RFC 7515 §4.1.1', {
      header: { alg },
    }),
  ),
];

/** The token chooses how it is verified. */
export const algorithmAttacks: readonly Attack[] = [...confusion, ...fromHeader, ...none];
