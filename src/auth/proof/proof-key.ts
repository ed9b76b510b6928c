import { base64url, importJWK } from 'jose';
import type { Algorithm } from '../jose/algorithms.ts';
import { isForVerifying } from '../keys/jwk-set.ts';
import { isCanonicalBase64Url } from '../token/header.ts';

/** The algorithms with which a proof can be signed. */
export const proofAlgorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'] as const satisfies readonly Algorithm[];

export type ProofAlgorithm = (typeof proofAlgorithms)[number];

/** The public members of a key, which are imported and from which the thumbprint is computed (RFC 7638 §3.2). */
export type PublicJwk = Readonly<Record<'kty', string> & Partial<Record<'crv' | 'x' | 'y' | 'n' | 'e', string>>>;

type Members = Readonly<Record<string, unknown>>;

/** The key that an algorithm requires (RFC 7518 §6, RFC 8037 §2): `bytes` long coordinates, or at most so long an RSA modulus. */
const shapes: Readonly<Record<ProofAlgorithm, { readonly kty: string; readonly crv: string; readonly bytes: number }>> =
  {
    ES256: { kty: 'EC', crv: 'P-256', bytes: 32 },
    ES384: { kty: 'EC', crv: 'P-384', bytes: 48 },
    EdDSA: { kty: 'OKP', crv: 'Ed25519', bytes: 32 },
    // Limited because clients choose the key: a modulus of four times the size takes sixteen times as long to verify.
    RS256: { kty: 'RSA', crv: '', bytes: 512 },
    PS256: { kty: 'RSA', crv: '', bytes: 512 },
  };
const minModulusBits = 2048;
/** Exponents are 3 or 65537 in practice. A large one makes verification hundreds of times slower. */
const maxExponentBytes = 4;
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/**
 * Returns the public key in the `jwk` of a proof, without other members. Returns undefined if it does not fit the algorithm, is
 * weak, too large, not canonically encoded or for another purpose, or has private members. Does NOT check whether a point is on
 * its curve: {@link importProofKey} does.
 */
export function readProofKey(jwk: unknown, algorithm: ProofAlgorithm): PublicJwk | undefined {
  // Of what is no object there are no members.
  const members: Members = { ...(jwk as Members) };
  const { n, e, x, y } = members;
  const { kty, crv, bytes } = shapes[algorithm];
  if (members.kty !== kty || !isForVerifying(members, algorithm)) return undefined;
  if (secretMembers.some((name) => Object.hasOwn(members, name))) return undefined;
  if (kty === 'RSA') return isSoundModulus(n, bytes) && isSoundExponent(e) ? { kty, n, e } : undefined;
  if (members.crv !== crv || !isCoordinate(x, bytes)) return undefined;
  if (kty === 'OKP') return { kty, crv, x };
  return isCoordinate(y, bytes) ? { kty, crv, x, y } : undefined;
}

/** Returns the imported key, or undefined if its point is not on the curve. */
export async function importProofKey(jwk: PublicJwk, algorithm: ProofAlgorithm): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(jwk, algorithm);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}

function bytesOf(value: unknown): Uint8Array {
  return typeof value === 'string' && isCanonicalBase64Url(value) ? base64url.decode(value) : new Uint8Array();
}

function isCoordinate(value: unknown, bytes: number): value is string {
  return bytesOf(value).length === bytes;
}

/** RFC 7518 §6.3.1.1: there are no leading zeros, so the first byte determines the number of bits. */
function isSoundModulus(value: unknown, maxBytes: number): value is string {
  const bytes = bytesOf(value);
  const [first = 0] = bytes;
  const bits = bytes.length * 8 - (Math.clz32(first) - 24);
  return first > 0 && bits >= minModulusBits && bytes.length <= maxBytes && isOdd(bytes);
}

function isSoundExponent(value: unknown): value is string {
  const bytes = bytesOf(value);
  const isOne = bytes.length === 1 && bytes[0] === 1;
  return bytes.length <= maxExponentBytes && bytes[0] !== 0 && isOdd(bytes) && !isOne;
}

function isOdd(bytes: Uint8Array): boolean {
  return (bytes.at(-1) ?? 0) % 2 === 1;
}
