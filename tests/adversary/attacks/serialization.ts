import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { rsaKey } from '../../support/keys.ts';
import { base64url, goodParts, mintToken, SIGNING_KID } from '../../support/mint.ts';
import { type Attack, attack } from './attack.ts';

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
  attack('a JWE around an unsigned token', 'CVE-2026-29000', (issuer) =>
    encrypt(Buffer.from(plainToken(issuer)), { cty: 'JWT' }),
  ),
  attack('a JWE around a good token', 'RFC 7519 §5.2', (issuer) =>
    encrypt(Buffer.from(mintToken(issuer)), { cty: 'JWT' }),
  ),
  attack('a JWE that says RS256 of itself', 'CVE-2026-29000', (issuer) =>
    encrypt(Buffer.from(plainToken(issuer)), { alg: 'RS256' }),
  ),
  attack('a JWE that inflates to a megabyte', 'CVE-2024-28176, CVE-2024-28180, CVE-2024-33664', () =>
    encrypt(deflateRawSync(Buffer.alloc(1024 * 1024)), { zip: 'DEF' }),
  ),
  attack('a JWE with ten million rounds of PBKDF2', 'CVE-2022-36083', () =>
    encrypt(Buffer.from('{}'), { alg: 'PBES2-HS256+A128KW', p2c: 10_000_000, p2s: 'AAAAAAAAAAA' }),
  ),
  attack('a flattened JSON serialization', 'CVE-2022-39227', (issuer) => JSON.stringify(parts(issuer))),
  attack('a general JSON serialization', 'CVE-2022-39227', (issuer) =>
    JSON.stringify({ payload: parts(issuer).payload, signatures: [parts(issuer)] }),
  ),
  attack('a compact token with a JSON serialization around it', 'CVE-2022-39227', (issuer) => {
    const { protected: header, payload, signature } = parts(issuer);
    return `{"${header}.${payload}.":"","protected":"${header}","payload":"${payload}","signature":"${signature}"}`;
  }),
  attack(
    'a detached payload',
    'RFC 7515 appendix F',
    (issuer) => `${parts(issuer).protected}..${parts(issuer).signature}`,
  ),
  attack('eight thousand dots', 'CVE-2025-30204', () => '.'.repeat(8000)),
  attack('a token and eight thousand dots', 'CVE-2025-30204', (issuer) => `${mintToken(issuer)}${'.'.repeat(7000)}`),
  attack('a header of six thousand brackets', 'CWE-674', () => `${base64url('['.repeat(5800))}.e30.AA`),
  ...['__proto__', 'constructor', 'undefined', 'null', '..', 'e30.e30.e30'].map((text) =>
    attack(`${text} for a token`, 'CWE-1321', () => text),
  ),
];
