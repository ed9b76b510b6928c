import { createPrivateKey, generatePrimeSync, type KeyObject } from 'node:crypto';

const PUBLIC_EXPONENT = 65537n;

function inverse(value: bigint, modulus: bigint): bigint {
  let [remainder, next, factor, nextFactor] = [modulus, value % modulus, 0n, 1n];
  while (next > 0n) {
    const quotient = remainder / next;
    [remainder, next] = [next, remainder - quotient * next];
    [factor, nextFactor] = [nextFactor, factor - quotient * nextFactor];
  }
  return ((factor % modulus) + modulus) % modulus;
}

function encode(value: bigint): string {
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex').toString('base64url');
}

/**
 * Returns an RSA private key whose modulus has exactly this many bits. BoringSSL, and so Bun, silently rounds the requested size
 * to generate down to a multiple of 128.
 */
export function generateExactRsaKey(bits: number): KeyObject {
  const half = Math.ceil(bits / 2);
  const [p, q] = [half, bits - half].map((size) => generatePrimeSync(size, { bigint: true }));
  const isPair = p !== undefined && q !== undefined && (p * q).toString(2).length === bits;
  if (!isPair || p % PUBLIC_EXPONENT === 1n || q % PUBLIC_EXPONENT === 1n) return generateExactRsaKey(bits);
  const d = inverse(PUBLIC_EXPONENT, (p - 1n) * (q - 1n));
  const members = { n: p * q, e: PUBLIC_EXPONENT, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const jwk = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, encode(value)]));
  return createPrivateKey({ key: { kty: 'RSA', ...jwk }, format: 'jwk' });
}
