import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { rsaKey } from '../../support/keys.ts';
import { base64url, goodParts, mintToken, SIGNING_KID } from '../../support/mint.ts';
import type { Attack } from './attack.ts';

/** A real JWE in compact serialization (RFC 7516 §7.1), which anyone can make with nothing but the public key. */
function encrypt(plaintext: Uint8Array, header: Record<string, unknown> = {}): string {
  const protectedHeader = base64url(
    JSON.stringify({ alg: 'RSA-OAEP-256', enc: 'A256GCM', kid: SIGNING_KID, ...header }),
  );
  const contentKey = randomBytes(32);
  const iv = randomBytes(12);
  const key = {
    key: createPublicKey(rsaKey(SIGNING_KID)),
    padding: constants.RSA_PKCS1_OAEP_PADDING,
    oaepHash: 'sha256',
  };
  const cipher = createCipheriv('aes-256-gcm', contentKey, iv).setAAD(Buffer.from(protectedHeader));
  const text = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return [protectedHeader, ...[publicEncrypt(key, contentKey), iv, text, cipher.getAuthTag()].map(base64url)].join('.');
}

const plainToken = (issuer: string) =>
  `${base64url('{"alg":"none"}')}.${base64url(JSON.stringify(goodParts(issuer).claims))}.`;

const parts = (issuer: string) => {
  const [header = '', payload = '', signature = ''] = mintToken(issuer).split('.');
  return { protected: header, payload, signature };
};

/** A token in another serialization than the compact one, or none at all. */
export const serializationAttacks: readonly Attack[] = [
  {
    name: 'a JWE around an unsigned token',
    advisory: 'CVE-2026-29000',
    token: (issuer) => encrypt(Buffer.from(plainToken(issuer)), { cty: 'JWT' }),
  },
  {
    name: 'a JWE around a good token',
    advisory: 'RFC 7519 §5.2',
    token: (issuer) => encrypt(Buffer.from(mintToken(issuer)), { cty: 'JWT' }),
  },
  {
    name: 'a JWE that says RS256 of itself',
    advisory: 'CVE-2026-29000',
    token: (issuer) => encrypt(Buffer.from(plainToken(issuer)), { alg: 'RS256' }),
  },
  {
    name: 'a JWE that inflates to a megabyte',
    advisory: 'CVE-2024-28176, CVE-2024-28180, CVE-2024-33664',
    token: () => encrypt(deflateRawSync(Buffer.alloc(1024 * 1024)), { zip: 'DEF' }),
  },
  {
    name: 'a JWE with ten million rounds of PBKDF2',
    advisory: 'CVE-2022-36083',
    token: () => encrypt(Buffer.from('{}'), { alg: 'PBES2-HS256+A128KW', p2c: 10_000_000, p2s: 'AAAAAAAAAAA' }),
  },
  {
    name: 'a flattened JSON serialization',
    advisory: 'CVE-2022-39227',
    token: (issuer) => JSON.stringify(parts(issuer)),
  },
  {
    name: 'a general JSON serialization',
    advisory: 'CVE-2022-39227',
    token: (issuer) => JSON.stringify({ payload: parts(issuer).payload, signatures: [parts(issuer)] }),
  },
  {
    name: 'a compact token with a JSON serialization around it',
    advisory: 'CVE-2022-39227',
    token: (issuer) => {
      const { protected: header, payload, signature } = parts(issuer);
      return `{"${header}.${payload}.":"","protected":"${header}","payload":"${payload}","signature":"${signature}"}`;
    },
  },
  {
    name: 'a detached payload',
    advisory: 'RFC 7515 appendix F',
    token: (issuer) => `${parts(issuer).protected}..${parts(issuer).signature}`,
  },
  { name: 'eight thousand dots', advisory: 'CVE-2025-30204', token: () => '.'.repeat(8000) },
  {
    name: 'a token and eight thousand dots',
    advisory: 'CVE-2025-30204',
    token: (issuer) => `${mintToken(issuer)}${'.'.repeat(7000)}`,
  },
  {
    name: 'a header of six thousand brackets',
    advisory: 'CWE-674',
    token: () => `${base64url('['.repeat(5800))}.e30.AA`,
  },
  {
    name: 'a token of 12 KiB',
    advisory: 'CVE-2026-48525',
    token: (issuer) => mintToken(issuer, { claims: { pad: 'x'.repeat(9000) } }),
  },
  ...['__proto__', 'constructor', 'undefined', 'null', '..', 'e30.e30.e30'].map((text) => ({
    name: `${text} for a token`,
    advisory: 'CWE-1321',
    token: () => text,
  })),
];
