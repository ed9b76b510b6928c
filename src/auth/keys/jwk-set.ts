import type { CryptoKey } from 'jose';
import type { Algorithm } from '../types.ts';
import { listed, printable } from '../values/ascii.ts';
import { groupBy } from '../values/group-by.ts';
import { isJsonObject, type Members, withoutNulls } from '../values/json.ts';
import { FetchError, type WrongDocument } from './fetch/fault.ts';
import { algorithmsFor, importPublicJwk, readPublicJwk } from './jwk.ts';

/*
 * Whether a document is a JWK Set (RFC 7517 §5), which of its keys can be used, and why not the others. What a single
 * key must be is decided in jwk.ts.
 */

type NamedJwk = Members & { readonly kid: string };

const maxKeys = 1000;
/** Every key with a `kid` is tried on a token that names it, so this limits the cost of one token. */
const maxKeysPerId = 100;

/** Whether a value is an object with a `kid`. */
export function isNamed(key: unknown): key is NamedJwk {
  return isJsonObject(key) && typeof key.kid === 'string' && key.kid !== '';
}

/**
 * Returns the keys of a JWK Set, without members that are null.
 * @throws {FetchError} an empty set, too many keys, or another document
 */
export function readKeySet(json: unknown, url?: string): readonly unknown[] {
  const members = isJsonObject(json) && Array.isArray(json.keys) ? json.keys : [];
  if (members.length === 0) throw new FetchError('malformed', { url, found: wrongDocument(json) });
  const keys = members.map((key: unknown) => (isJsonObject(key) ? withoutNulls(key) : key));
  const byId = groupBy(keys.filter(isNamed), ({ kid }) => kid);
  if (keys.length > maxKeys || [...byId.values()].some(({ length }) => length > maxKeysPerId))
    throw new FetchError('too_large', { url });
  return keys;
}

/** Returns what a document without keys is. */
function wrongDocument(json: unknown): WrongDocument {
  if (Array.isArray(json)) return 'a list';
  if (!isJsonObject(json)) return 'no JSON object';
  if (Array.isArray(json.keys)) return 'no keys';
  if (typeof json.jwks_uri === 'string') return 'metadata';
  if (typeof json.kty === 'string') return 'one key';
  const isPem = Object.values(json).some((value) => typeof value === 'string' && value.startsWith('-----BEGIN '));
  return isPem ? 'certificates' : 'an object';
}

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
type ReadKey = Exclude<ReturnType<typeof readKey>, string>;

/**
 * Returns the keys of a JWK Set (RFC 7517 §5), each for one of `accepted`, and those that have no `kid` or another
 * purpose, each with the reason: `k1: use is enc`.
 * @throws {FetchError} no usable key
 * @param url of the set, for the error
 */
export function readKeys(members: readonly unknown[], accepted: readonly Algorithm[], url?: string) {
  const keys: ReadKey[] = [];
  const skipped: string[] = [];
  for (const [index, jwk] of members.entries()) {
    const read = readKey(jwk, accepted);
    if (typeof read === 'object') keys.push(read);
    else skipped.push(`${isNamed(jwk) ? printable(jwk.kid, 64) : `key ${index + 1}`}: ${read}`);
  }
  if (keys.some(({ publicJwk }) => typeof publicJwk === 'object')) return { keys, skipped };
  const reasons = [...skipped, ...keys.map(({ kid, publicJwk }) => `${printable(kid, 64)}: ${publicJwk}`)];
  throw new FetchError('no_usable_key', { url, found: listed(reasons) });
}

/** A key that is not used as its issuer may intend. */
export interface ReportedKey {
  /** Used for one of several algorithms that it fits, not supported by the runtime, or malformed or weak. */
  readonly type: 'ambiguous' | 'unsupported' | 'unusable';
  readonly kid: string;
  /** Such as `1024 bits`. Empty if the key is used. */
  readonly reason: string;
}

export type ImportedKeys = Awaited<ReturnType<typeof importKeys>>;

/**
 * Imports keys. Those that are also in `held` are reused, so that cached tokens stay valid. Keys that are malformed or
 * weak, or that the runtime does not support, are skipped.
 * @throws {FetchError} no usable key
 * @param url of the set, for the error
 */
export async function importKeys(read: ReturnType<typeof readKeys>, held: Keys, url?: string) {
  const keys = new Map<string, ImportedKey[]>();
  const reported: ReportedKey[] = [];
  for (const { kid, algorithm, publicJwk, issuer, isAmbiguous } of read.keys) {
    const report = (type: ReportedKey['type'], reason: string) => reported.push({ type, kid, reason });
    const identity = JSON.stringify([algorithm, publicJwk, issuer]);
    const known = held.get(kid)?.find((key) => key.identity === identity);
    const isReadable = typeof publicJwk === 'object';
    const cryptoKey = known?.cryptoKey ?? (isReadable ? await importPublicJwk(publicJwk, algorithm) : 'invalid');
    if (cryptoKey === 'unsupported') report('unsupported', `this runtime does not support ${algorithm}`);
    else if (cryptoKey === 'invalid') report('unusable', isReadable ? 'not on its curve' : publicJwk);
    else {
      keys.set(kid, [...(keys.get(kid) ?? []), known ?? { algorithm, cryptoKey, issuer, identity, isCurrent: true }]);
      if (isAmbiguous) report('ambiguous', '');
    }
  }
  if (keys.size > 0) return { keys, reported };
  const reasons = [...read.skipped, ...reported.map(({ kid, reason }) => `${printable(kid, 64)}: ${reason}`)];
  throw new FetchError('no_usable_key', { url, found: listed(reasons) });
}

/** Makes keys in `before` that are not in `after` no longer current. Returns the IDs of what was added and removed. */
export function replaceKeys(before: Keys, after: Keys): { added: string[]; removed: string[] } {
  const kept = new Set([...after.values()].flat());
  for (const key of [...before.values()].flat()) key.isCurrent = kept.has(key);
  const only = (these: Keys, those: Keys) =>
    [...these].flatMap(([kid, keys]) => (keys.every((key) => those.get(kid)?.includes(key)) ? [] : [printable(kid)]));
  return { added: only(after, before), removed: only(before, after) };
}

/**
 * Reads a key for one algorithm (RFC 8725 §3.1): the one that it names, otherwise the first of `accepted` that fits its
 * type. Returns why there is none.
 */
function readKey(jwk: unknown, accepted: readonly Algorithm[]) {
  if (!isJsonObject(jwk)) return 'not an object';
  if (!isNamed(jwk)) return jwk.kid === undefined ? 'no kid' : 'kid is not text';
  const { kid, issuer } = jwk;
  const meant = algorithmsFor(jwk, accepted);
  if (typeof meant === 'string') return meant;
  const [algorithm, second] = meant;
  const publicJwk = readPublicJwk(jwk, algorithm);
  return {
    kid,
    algorithm,
    /** The public members, or how the key is malformed or weak. */
    publicJwk,
    // What is not a string is no issuer.
    issuer: issuer === undefined || typeof issuer === 'string' ? issuer : '',
    /** Whether the key has no `alg`, and fits several of the accepted algorithms. */
    isAmbiguous: second !== undefined,
  };
}

/** Returns why a key of a set is used for no accepted algorithm; undefined if it is used. It is not imported. */
export function whySkipped(jwk: unknown, accepted: readonly Algorithm[]): string | undefined {
  const read = readKey(jwk, accepted);
  const reason = typeof read === 'string' ? read : read.publicJwk;
  return typeof reason === 'string' ? reason : undefined;
}
