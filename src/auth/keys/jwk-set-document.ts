import { groupBy } from '../values/group-by.ts';
import { isJsonObject, type Members, withoutNulls } from '../values/json.ts';
import { FetchError, type WrongDocument } from './fetch/fault.ts';

/*
 * Whether a document is a JWK Set (RFC 7517 §5), and what it is otherwise. Which of its keys can be used is decided in
 * jwk-set.ts.
 */

export type NamedJwk = Members & { readonly kid: string };

const maxKeys = 1000;
/** Every key with a `kid` is tried on a token that names it, so this limits the cost of one token. */
const maxKeysPerId = 100;

/** Whether a value is an object with a `kid`. */
export function isNamed(key: unknown): key is NamedJwk {
  return isJsonObject(key) && typeof key.kid === 'string' && key.kid !== '';
}

/**
 * Returns the keys of a JWK Set that is not empty, without members that are null.
 * @throws {FetchError} another document, or too many keys
 */
export function readKeySet(json: unknown, url: string | undefined): readonly unknown[] {
  const keys = requireKeySet(json, url).map((key) => (isJsonObject(key) ? withoutNulls(key) : key));
  if (keys.length === 0) throw notKeySet('no keys', url);
  const byId = groupBy(keys.filter(isNamed), ({ kid }) => kid);
  if (keys.length > maxKeys || [...byId.values()].some(({ length }) => length > maxKeysPerId))
    throw new FetchError('too_large', url);
  return keys;
}

/**
 * Returns the members of what has the form of a JWK Set.
 * @throws {FetchError} another document, and which
 */
export function requireKeySet(json: unknown, url: string | undefined): readonly unknown[] {
  if (Array.isArray(json)) throw notKeySet('a list', url);
  if (!isJsonObject(json)) throw notKeySet('no JSON object', url);
  if (Array.isArray(json.keys)) return json.keys;
  if (typeof json.jwks_uri === 'string') throw notKeySet('metadata', url);
  if (typeof json.kty === 'string') throw notKeySet('one key', url);
  const isPem = Object.values(json).some((value) => typeof value === 'string' && value.startsWith('-----BEGIN '));
  throw notKeySet(isPem ? 'certificates' : 'an object', url);
}

const notKeySet = (found: WrongDocument, url: string | undefined) => new FetchError('malformed', url, { found });
