import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';

/** DigestInfo of SHA-256 (RFC 8017 §9.2, note 1). */
const SHA_256_PREFIX = Buffer.from('3031300d060960864801650304020105000420', 'hex');
const SIGNATURE_BYTES = 256;

function cubeRootAbove(value: bigint): bigint {
  let low = 0n;
  let high = 1n << 700n;
  while (low < high) {
    const middle = (low + high) / 2n;
    if (middle ** 3n < value) low = middle + 1n;
    else high = middle;
  }
  return low;
}

const toBytes = (value: bigint) => Buffer.from(value.toString(16).padStart(SIGNATURE_BYTES * 2, '0'), 'hex');
const toInteger = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);

/**
 * Returns a signature that is right as far as the hash and garbage after it, made without the private key: a verifier which does not
 * see that the padding ends too early takes it when the exponent is 3 (Bleichenbacher 2006).
 */
export function forgeWithGarbage(input: Uint8Array): Buffer {
  const hash = createHash('sha256').update(input).digest();
  const start = Buffer.concat([Buffer.of(0, 1), Buffer.alloc(8, 0xff), Buffer.of(0), SHA_256_PREFIX, hash]);
  const block = Buffer.concat([start, Buffer.alloc(SIGNATURE_BYTES - start.length)]);
  const forged = toBytes(cubeRootAbove(toInteger(block)));
  const opened = toBytes(toInteger(forged) ** 3n);
  if (!opened.subarray(0, start.length).equals(start)) throw new TypeError('The forgery failed');
  return forged;
}

/** Returns a good signature written as the same number modulo n, one modulus up: RFC 8017 §8.2.2 has it refused. */
export function signOneModulusUp(input: Uint8Array, key: KeyObject): Buffer {
  const { n = '' } = createPublicKey(key).export({ format: 'jwk' });
  const sum = toInteger(sign('RSA-SHA256', input, key)) + toInteger(Buffer.from(n, 'base64url'));
  const digits = sum.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
}

const der = (tag: number, ...contents: readonly Uint8Array[]) => {
  const content = Buffer.concat(contents);
  const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...length), content]);
};

/** Returns a self-signed X.509 certificate for this key in DER, valid from 2020 to 2049. */
export function selfSignedCertificate(key: KeyObject): Buffer {
  const sha256WithRsa = der(0x30, Buffer.from('06092a864886f70d01010b0500', 'hex'));
  const commonName = der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('evil')))));
  const validity = der(0x30, der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('490101000000Z')));
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const body = der(0x30, der(0x02, Buffer.of(1)), sha256WithRsa, commonName, validity, commonName, publicKey);
  return der(0x30, body, sha256WithRsa, der(0x03, Buffer.of(0), sign('RSA-SHA256', body, key)));
}
