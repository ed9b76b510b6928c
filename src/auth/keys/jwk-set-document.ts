import { groupBy } from '../values/group-by.ts';
import { isJsonObject, type Members, withoutNulls } from '../values/json.ts';
import { FetchError, type WrongDocument } from './fetch/fault.ts';

/*
 * Whether a document is a JWK Set (RFC 7517 §5), and what it is otherwise. Which of its keys can be used is decided in
 * jwk-set.ts.
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
  const listed = isJsonObject(json) && Array.isArray(json.keys) ? json.keys : [];
  if (listed.length === 0) throw new FetchError('malformed', { url, found: wrongDocument(json) });
  const keys = listed.map((key: unknown) => (isJsonObject(key) ? withoutNulls(key) : key));
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
