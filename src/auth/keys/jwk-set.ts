import type { CryptoKey } from 'jose';
import type { Algorithm } from '../types.ts';
import { isJsonObject, type Members, withoutNulls } from '../values/json.ts';
import { printable } from '../values/url.ts';
import { FetchError } from './fetch-json.ts';
import { importPublicJwk, isMeantFor, type PublicJwk, readPublicJwk } from './jwk.ts';

/** A key of the set, imported for one algorithm. Once it leaves the set or is replaced, it is never current again. */
export interface ImportedKey {
  readonly algorithm: Algorithm;
  readonly cryptoKey: CryptoKey;
  /** Its member `issuer`, which limits a key of all tenants to those of one. */
  readonly issuer?: string | undefined;
  /** The members that identify the key. If this value differs, it is another key. */
  readonly identity: string;
  isCurrent: boolean;
}

/** By `kid`. Several keys can have the same one. */
export type Keys = ReadonlyMap<string, readonly ImportedKey[]>;

/** A key of a JWK Set that is meant for an accepted algorithm. */
export interface ReadKey {
  readonly kid: string;
  readonly algorithm: Algorithm;
  /** Undefined if the key is malformed or weak. */
  readonly publicJwk: PublicJwk | undefined;
  readonly issuer?: string | undefined;
  /** Whether the key has no `alg`, and fits several of the accepted algorithms. */
  readonly isAmbiguous: boolean;
}

type NamedJwk = Members & { readonly kid: string };

const maxKeys = 1000;
/** Every key with a `kid` is tried on a token that names it, so this limits the cost of one token. */
const maxKeysPerId = 100;

/**
 * Returns the keys of a JWK Set (RFC 7517 §5), each for one of `accepted`. Keys for another purpose are skipped.
 * @throws {FetchError} not a JWK Set, an empty one, too many keys, or no usable key
 * @param url of the set, for the error
 */
export function readJwkSet(jwkSet: unknown, accepted: readonly Algorithm[], url?: string): readonly ReadKey[] {
  const named = readNamedKeys(jwkSet, url);
  const keys = named.flatMap((jwk) => readKey(jwk, accepted));
  if (keys.some(({ publicJwk }) => publicJwk)) return keys;
  throw noUsableKey(
    url,
    named.map(({ alg, kty }) => String(alg ?? kty)),
  );
}

export interface ImportedKeys {
  readonly keys: Keys;
  /** The IDs of keys without `alg` that fit several of the accepted algorithms. */
  readonly ambiguous: readonly string[];
  /** The IDs of keys that are skipped, because the runtime does not support their algorithm. */
  readonly unsupported: readonly string[];
  /** The IDs of keys that are skipped, because they are malformed or weak. */
  readonly unusable: readonly string[];
}

/**
 * Imports keys. Those that are also in `held` are reused, so that cached tokens stay valid. Keys that are malformed or
 * weak, or that the runtime does not support, are skipped.
 * @throws {FetchError} no usable key
 * @param url of the set, for the error
 */
export async function importKeys(read: readonly ReadKey[], held: Keys, url?: string): Promise<ImportedKeys> {
  const keys = new Map<string, ImportedKey[]>();
  const skipped: string[] = [];
  const unsupported: string[] = [];
  const unusable: string[] = [];
  for (const { kid, algorithm, publicJwk, issuer } of read) {
    const identity = JSON.stringify([algorithm, publicJwk, issuer]);
    const known = held.get(kid)?.find((key) => key.identity === identity);
    const cryptoKey = known?.cryptoKey ?? (publicJwk ? await importPublicJwk(publicJwk, algorithm) : 'invalid');
    if (cryptoKey === 'unsupported') unsupported.push(kid);
    if (cryptoKey === 'invalid') unusable.push(kid);
    if (typeof cryptoKey === 'string')
      skipped.push(cryptoKey === 'invalid' ? algorithm : `${algorithm} (not supported by this runtime)`);
    else
      keys.set(kid, [...(keys.get(kid) ?? []), known ?? { algorithm, cryptoKey, issuer, identity, isCurrent: true }]);
  }
  if (keys.size === 0) throw noUsableKey(url, skipped);
  const ambiguous = read.flatMap(({ kid, isAmbiguous }) => (isAmbiguous ? [kid] : []));
  return { keys, ambiguous, unsupported, unusable };
}

/** @param kinds of the keys: their algorithms or types */
const noUsableKey = (url: string | undefined, kinds: readonly string[]) =>
  new FetchError('no_usable_key', url, { found: printable([...new Set(kinds)].join(', ')) });

/** Makes the keys in `before` that are not in `after` no longer current, and returns the IDs of what was added and removed. */
export function replaceKeys(before: Keys, after: Keys): { added: string[]; removed: string[] } {
  const kept = new Set([...after.values()].flat());
  for (const key of [...before.values()].flat()) key.isCurrent = kept.has(key);
  const only = (these: Keys, those: Keys) =>
    [...these].flatMap(([kid, keys]) => (keys.every((key) => those.get(kid)?.includes(key)) ? [] : [printable(kid)]));
  return { added: only(after, before), removed: only(before, after) };
}

function readNamedKeys(jwkSet: unknown, url: string | undefined): readonly NamedJwk[] {
  const keys = isJsonObject(jwkSet) ? jwkSet.keys : undefined;
  if (!Array.isArray(keys) || keys.length === 0) throw new FetchError('malformed', url);
  if (keys.length > maxKeys) throw new FetchError('too_large', url);
  const named = keys.map((key) => (isJsonObject(key) ? withoutNulls(key) : key)).filter(isNamed);
  const counts = new Map<string, number>();
  for (const { kid } of named) {
    const count = (counts.get(kid) ?? 0) + 1;
    if (count > maxKeysPerId) throw new FetchError('too_large', url);
    counts.set(kid, count);
  }
  return named;
}

/** Whether a value is an object with a `kid`. */
export function isNamed(key: unknown): key is NamedJwk {
  return isJsonObject(key) && typeof key.kid === 'string' && key.kid !== '';
}

/** A key serves one algorithm (RFC 8725 §3.1): the one that it names, otherwise the first of `accepted` that fits its type. */
function readKey(jwk: NamedJwk, accepted: readonly Algorithm[]): readonly ReadKey[] {
  const [algorithm, second] = accepted.filter((each) => isMeantFor(jwk, each));
  if (algorithm === undefined) return [];
  const publicJwk = readPublicJwk(jwk, algorithm);
  // What is not a string is no issuer.
  const issuer = jwk.issuer === undefined || typeof jwk.issuer === 'string' ? jwk.issuer : '';
  return [{ kid: jwk.kid, algorithm, publicJwk, issuer, isAmbiguous: publicJwk !== undefined && second !== undefined }];
}
