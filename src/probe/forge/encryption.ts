import { Buffer } from 'node:buffer';
import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto';
import type { Members } from '../values/json.ts';
import { base64url } from './forge.ts';

// Here a text is encrypted to a public key as anybody can do it (RFC 7516 §5.1, RFC 7518 §4.3).

/** Returns a JWE in RSA-OAEP-256 and A256GCM around a text. */
export function encryptedTo(publicKey: Members, header: Members, text: string): string {
  const [key, iv] = [randomBytes(32), randomBytes(12)];
  const head = base64url(JSON.stringify({ alg: 'RSA-OAEP-256', enc: 'A256GCM', ...header }));
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(head));
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  const to = { key: createPublicKey({ key: { ...publicKey }, format: 'jwk' }), oaepHash: 'sha256' };
  const wrapped = publicEncrypt({ ...to, padding: constants.RSA_PKCS1_OAEP_PADDING }, key);
  return [head, ...[wrapped, iv, sealed, cipher.getAuthTag()].map(base64url)].join('.');
}
