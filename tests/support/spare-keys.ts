import type * as Crypto from 'node:crypto';
import sparePrimes from './spare-primes.json' with { type: 'json' };

type Make = (
  type: 'rsa',
  options: { readonly modulusLength: number; readonly publicExponent?: number },
) => { readonly privateKey: Crypto.KeyObject; readonly publicKey: Crypto.KeyObject };

/**
 * A new RSA key takes 80 ms of CPU time, and tests need hundreds. This has `generateKeyPairSync` return the keys of a
 * file, each once, and then new ones. Processes that tests start get others than the tests. No module may have imported
 * node:crypto before, because imported functions stay as they are.
 */
export function useSpareKeys(by: 'tests' | 'processes'): void {
  const crypto: Pick<typeof Crypto, 'createPrivateKey' | 'createPublicKey'> & {
    readonly generateKeyPairSync: Make & { readonly make?: Make };
  } = require('node:crypto');
  const known = crypto.generateKeyPairSync;
  const make = known.make ?? known;
  const left = by === 'tests' ? sparePrimes.slice(16) : sparePrimes.slice(0, 16);
  const take: Make = (type, options) => {
    const { modulusLength, publicExponent = 65537, ...others } = Object(options);
    const isUsual = type === 'rsa' && modulusLength === 2048 && publicExponent === 65537;
    const primes = isUsual && Object.keys(others).length === 0 ? left.shift() : undefined;
    if (primes === undefined) return make(type, options);
    const privateKey = crypto.createPrivateKey({ key: keyOf(Buffer.from(primes, 'base64url')), format: 'jwk' });
    return { privateKey, publicKey: crypto.createPublicKey(privateKey) };
  };
  Object.assign(crypto, { generateKeyPairSync: Object.assign(take, { make }) });
}

/** Returns the private key of two primes (RFC 8017 §3.2). */
function keyOf(primes: Buffer) {
  const [p = 0n, q = 0n] = [primes.subarray(0, 128), primes.subarray(128)].map((bytes) =>
    BigInt(`0x${bytes.toString('hex')}`),
  );
  const e = 65537n;
  const d = inverse(e, (p - 1n) * (q - 1n));
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const encode = (number: bigint) => {
    const hex = number.toString(16);
    return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex').toString('base64url');
  };
  return { kty: 'RSA', ...Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, encode(number)])) };
}

/** Returns the multiplicative inverse of a number by the extended Euclidean algorithm. */
function inverse(number: bigint, modulus: bigint): bigint {
  let [remainder, next, factor, after] = [modulus, number, 0n, 1n];
  while (next !== 0n) {
    const quotient = remainder / next;
    [remainder, next] = [next, remainder - quotient * next];
    [factor, after] = [after, factor - quotient * after];
  }
  return ((factor % modulus) + modulus) % modulus;
}
