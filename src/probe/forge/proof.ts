import { Buffer } from 'node:buffer';
import { createHash, randomUUID } from 'node:crypto';
import { nowSeconds } from '../values/time.ts';
import { assemble, type Change, keyNamed, publish } from './forge.ts';

// Here a proof of possession (RFC 9449 §4.2) is made, with or without a fault.

/** Returns the SHA-256 of a text in base64url. */
export const hashOf = (text: string) => createHash('sha256').update(text).digest('base64url');
const jwkOf = (name: string) => {
  const { use: _, kid: __, ...jwk } = publish(keyNamed(name, 'ES256'), '');
  return jwk;
};
/** Returns the thumbprint of a key for proofs (RFC 7638). */
export const thumbprintOf = (name: string): string => {
  const { crv, kty, x, y } = jwkOf(name);
  return hashOf(JSON.stringify({ crv, kty, x, y }));
};

/** Returns a proof for a request with a token, changed. */
export function proofFor(
  request: { readonly method: string; readonly url: string },
  token: string,
  change: Change = {},
  nonce?: string,
): string {
  const claims = {
    jti: randomUUID(),
    htm: request.method,
    htu: request.url.replace(/[?#].*$/s, ''),
    iat: nowSeconds(),
    ath: hashOf(token),
    nonce,
  };
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: jwkOf('client') };
  return assemble({ header, claims }, { key: keyNamed('client', 'ES256'), signedAs: 'ES256', ...change });
}

/** The order of P-256 (FIPS 186-5). */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** Returns the other signature of ES256 that a value has: s and the order less s are both right. */
export function otherSignature(signature: Uint8Array): Uint8Array {
  const s = BigInt(`0x${Buffer.from(signature).toString('hex', 32)}`);
  return Buffer.concat([signature.subarray(0, 32), Buffer.from((order - s).toString(16).padStart(64, '0'), 'hex')]);
}
