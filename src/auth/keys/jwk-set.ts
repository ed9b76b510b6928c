import { base64url, importJWK, type JWK } from 'jose';
import { type Algorithm, algorithmOf } from '../jose/algorithms.ts';
import { FetchError } from './fetch-json.ts';

/** A key of the set, imported for one algorithm. Once it leaves the set or is replaced, it is never current again. */
export interface ImportedKey {
  readonly algorithm: Algorithm;
  readonly cryptoKey: CryptoKey;
  /** The public members that identify the key. A key with another value is another key. */
  readonly identity: string;
  isCurrent: boolean;
}

/** By `kid`. Several keys can have the same one. */
export type Keys = ReadonlyMap<string, readonly ImportedKey[]>;

/** A member of a JWK Set that has a `kid`. Its other members are not validated yet. */
interface NamedJwk {
  readonly kid: string;
  readonly [member: string]: unknown;
}

const maxKeys = 1000;
/** Every key with a `kid` is tried on a token that names it, so this limits the cost of one token. */
const maxKeysPerId = 100;

/** The key type that an algorithm requires (RFC 7518 §6, RFC 8037 §2). */
const keyTypes: Readonly<Record<Algorithm, { readonly kty: string; readonly crv?: string }>> = {
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
};

/**
 * Returns the usable keys of a JWK Set (RFC 7517 §5), imported for each of `algorithms` that they fit. Keys that are also in
 * `held` are reused, so that cached tokens stay valid. Keys that are malformed, weak or for another purpose are skipped.
 * @throws {FetchError} not a JWK Set, an empty one, too many keys, or no usable key
 */
export async function importJwkSet(jwkSet: unknown, algorithms: readonly Algorithm[], held: Keys): Promise<Keys> {
  const keys = new Map<string, ImportedKey[]>();
  for (const jwk of readNamedKeys(jwkSet)) {
    for (const algorithm of algorithms.filter((name) => isFor(jwk, name))) {
      const identity = identityOf(jwk, algorithm);
      const known = held.get(jwk.kid)?.find((key) => key.identity === identity);
      const key = known ?? (await importKey(jwk, algorithm, identity));
      if (key) keys.set(jwk.kid, [...(keys.get(jwk.kid) ?? []), key]);
    }
  }
  if (keys.size === 0) throw new FetchError('no_usable_key');
  return keys;
}

function readNamedKeys(jwkSet: unknown): readonly NamedJwk[] {
  const keys = isObject(jwkSet) ? jwkSet.keys : undefined;
  if (!Array.isArray(keys) || keys.length === 0) throw new FetchError('malformed');
  if (keys.length > maxKeys) throw new FetchError('too_large');
  const named = keys.filter(isNamed);
  const counts = new Map<string, number>();
  for (const { kid } of named) {
    const count = (counts.get(kid) ?? 0) + 1;
    if (count > maxKeysPerId) throw new FetchError('too_large');
    counts.set(kid, count);
  }
  return named;
}

function isNamed(key: unknown): key is NamedJwk {
  return isObject(key) && typeof key.kid === 'string' && key.kid !== '';
}

/** Whether the members of the key allow it to verify signatures of this algorithm. Missing members allow everything. */
function isFor(jwk: NamedJwk, algorithm: Algorithm): boolean {
  const { kty, crv } = keyTypes[algorithm];
  return jwk.kty === kty && (crv === undefined || jwk.crv === crv) && isForVerifying(jwk, algorithm);
}

/** Whether `use`, `alg` and `key_ops` of a key allow it to verify signatures of this algorithm (RFC 7517 §4). */
export function isForVerifying(
  { use, alg, key_ops: operations }: Readonly<Record<string, unknown>>,
  algorithm: Algorithm,
): boolean {
  return (
    (use === undefined || use === 'sig') &&
    (alg === undefined || algorithmOf(alg) === algorithm) &&
    (operations === undefined || (Array.isArray(operations) && operations.includes('verify')))
  );
}

function identityOf({ kty, crv, n, e, x, y }: NamedJwk, algorithm: Algorithm): string {
  return JSON.stringify([algorithm, kty, crv, n, e, x, y]);
}

/** Returns undefined for a malformed or weak key, which must not affect the others. Only public members are imported. */
async function importKey(
  { kty, crv, n, e, x, y }: NamedJwk,
  algorithm: Algorithm,
  identity: string,
): Promise<ImportedKey | undefined> {
  try {
    if (kty === 'RSA' && !isSoundRsaKey(n, e)) return undefined;
    const jwk = (kty === 'RSA' ? { kty, n, e } : { kty, crv, x, ...(kty === 'EC' && { y }) }) as JWK;
    const cryptoKey = await importJWK(jwk, algorithm);
    return cryptoKey instanceof Uint8Array ? undefined : { algorithm, cryptoKey, identity, isCurrent: true };
  } catch {
    return undefined;
  }
}

/** OpenSSL and BoringSSL verify no signature with a longer modulus. */
const maxModulusBits = 16_384;

/**
 * Requires at least 2048 bits (RFC 7518 §3.3), counted here because a CryptoKey rounds up to whole bytes, an odd modulus, and
 * an odd exponent of at least 3 below it. With other values, signatures can be forged without the private key, or none is good.
 */
function isSoundRsaKey(n: unknown, e: unknown): boolean {
  const modulus = toBigInt(n);
  const exponent = toBigInt(e);
  const bits = modulus.toString(2).length;
  const isOdd = modulus % 2n === 1n && exponent % 2n === 1n;
  return bits >= 2048 && bits <= maxModulusBits && isOdd && exponent >= 3n && exponent < modulus;
}

function toBigInt(value: unknown): bigint {
  const bytes = typeof value === 'string' ? base64url.decode(value) : [];
  return BigInt(`0x0${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
