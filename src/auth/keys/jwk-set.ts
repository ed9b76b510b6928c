import type { Algorithm } from '../jose/algorithms.ts';
import { isJsonObject } from '../jose/encoding.ts';
import { importPublicJwk, readPublicJwk } from '../jose/jwk.ts';
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

/**
 * Returns the usable keys of a JWK Set (RFC 7517 §5), each imported for one of `algorithms`. Keys that are also in
 * `held` are reused, so that cached tokens stay valid. Keys that are malformed, weak or for another purpose are skipped.
 * @throws {FetchError} not a JWK Set, an empty one, too many keys, or no usable key
 */
export async function importJwkSet(jwkSet: unknown, algorithms: readonly Algorithm[], held: Keys): Promise<Keys> {
  const keys = new Map<string, ImportedKey[]>();
  for (const jwk of readNamedKeys(jwkSet)) {
    const key = await importKey(jwk, algorithms, held);
    if (key) keys.set(jwk.kid, [...(keys.get(jwk.kid) ?? []), key]);
  }
  if (keys.size === 0) throw new FetchError('no_usable_key');
  return keys;
}

function readNamedKeys(jwkSet: unknown): readonly NamedJwk[] {
  const keys = isJsonObject(jwkSet) ? jwkSet.keys : undefined;
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
  return isJsonObject(key) && typeof key.kid === 'string' && key.kid !== '';
}

/** A key serves one algorithm (RFC 8725 §3.1): the one that it names, otherwise the first of `accepted` that fits its type. */
async function importKey(jwk: NamedJwk, accepted: readonly Algorithm[], held: Keys): Promise<ImportedKey | undefined> {
  for (const algorithm of accepted) {
    const publicJwk = readPublicJwk(jwk, algorithm);
    if (publicJwk === undefined) continue;
    const identity = JSON.stringify([algorithm, publicJwk]);
    const known = held.get(jwk.kid)?.find((key) => key.identity === identity);
    if (known) return known;
    const cryptoKey = await importPublicJwk(publicJwk, algorithm);
    return cryptoKey && { algorithm, cryptoKey, identity, isCurrent: true };
  }
  return undefined;
}
