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
