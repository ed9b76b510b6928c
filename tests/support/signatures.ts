import { constants, createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { ecKey, namedKey, rsaKey } from './keys.ts';

const CURVES: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };

/** Returns the private key of this name for a JWS algorithm. */
export function signingKey(alg: string, name: string): KeyObject {
  if (/^[RPH]S/.test(alg)) return rsaKey(name);
  if (alg === 'ES256') return ecKey(name);
  const kind = alg === 'Ed25519' ? 'EdDSA' : alg;
  return namedKey(`${kind} ${name}`, () => makeKey(kind));
}

function makeKey(alg: string): KeyObject {
  const namedCurve = CURVES[alg];
  if (namedCurve) return generateKeyPairSync('ec', { namedCurve }).privateKey;
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey;
  throw new TypeError(`No key for ${alg}`);
}

/** Returns the signature of a JWS algorithm (RFC 7518 §3, RFC 8037 §3.1) over `input`; HMAC uses the public key as its secret, as in an attack. */
export function signAs(alg: string, key: KeyObject, input: Buffer): Uint8Array {
  const hash = `sha${alg.slice(2)}`;
  switch (alg.slice(0, 2)) {
    case 'RS':
      return sign(hash, input, key);
    case 'PS':
      return sign(hash, input, {
        key,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      });
    case 'ES':
      return sign(hash, input, { key, dsaEncoding: 'ieee-p1363' });
    case 'HS':
      return createHmac(hash, key.export({ type: 'pkcs8', format: 'pem' }))
        .update(input)
        .digest();
    default:
      return sign(null, input, key);
  }
}

/** Every encoding of a point of order 1, 2, 4 or 8 on Ed25519, for which anyone can sign: the values of y, with either sign of x. */
export const smallOrder = [
  `00${'00'.repeat(30)}`,
  `01${'00'.repeat(30)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03',
  ...['ec', 'ed', 'ee'].map((first) => first + 'ff'.repeat(30)),
].flatMap((start, index) => {
  const last = [0x00, 0x00, 0x05, 0x7a][index] ?? 0x7f;
  return [last, last + 0x80].map((byte) =>
    Buffer.from(start + byte.toString(16).padStart(2, '0'), 'hex').toString('base64url'),
  );
});
