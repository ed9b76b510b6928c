import type { Algorithm } from '../jose/algorithms.ts';
import { isJsonObject } from '../jose/encoding.ts';
import { Refusal } from '../refusals.ts';
import { FetchError, type FetchFault, faultOf } from './fetch-json.ts';
import { importKeys, isNamed, type Keys, type ReadKey, readJwkSet } from './jwk-set.ts';
import { emit, type FoundKeys, type KeySet, type OnKeySetEvent, reportKeys } from './key-set.ts';

export interface FixedKeySetOptions {
  /** Named in the event and in the state. */
  readonly issuer: string;
  /** A JWK Set. It is copied. */
  readonly keys: unknown;
  readonly algorithms: readonly Algorithm[];
  readonly onEvent?: OnKeySetEvent | undefined;
}

/**
 * Returns the keys of a given JWK Set. Nothing is fetched, and they never expire. They are imported on `start` or on first use.
 * Points that are not on their curve and algorithms that the runtime does not support are found only then. If no other key is
 * left, `failed` is reported, and requests get `keys_unavailable`.
 * @throws {TypeError} not a JWK Set, an empty one, too many keys, or none that one of `algorithms` can use
 */
export function createFixedKeySet({ issuer, keys, algorithms, onEvent }: FixedKeySetOptions): KeySet {
  const read = readGivenKeys(keys, algorithms);
  let imported: Keys | undefined;
  let lastFailure: FetchFault | undefined;
  let pending: Promise<Keys> | undefined;

  async function importOnce(): Promise<Keys> {
    try {
      const found = await importKeys(read, new Map());
      imported = found.keys;
      reportKeys(onEvent, issuer, found);
    } catch (error) {
      imported = new Map();
      lastFailure = faultOf(error);
      emit(onEvent, { issuer, type: 'failed', ...lastFailure, failures: 1 });
    }
    return imported;
  }

  function load(): Promise<Keys> {
    pending ??= importOnce();
    return pending;
  }

  function lookUp(all: Keys, kid: string): FoundKeys {
    return all.size > 0 ? (all.get(kid) ?? []) : new Refusal('keys_unavailable');
  }

  return {
    find: (kid) => (imported ? lookUp(imported, kid) : load().then((all) => lookUp(all, kid))),
    isCurrent: () => true,
    state: () => ({
      issuer,
      keys: imported?.size ?? 0,
      ageMs: imported && imported.size > 0 ? 0 : undefined,
      lastFailure,
      nextAttemptMs: 0,
    }),
    start() {
      void load();
    },
    async reload() {
      await load();
    },
    stop() {},
  };
}

function readGivenKeys(keys: unknown, algorithms: readonly Algorithm[]): readonly ReadKey[] {
  if (isJsonObject(keys) && Array.isArray(keys.keys) && !keys.keys.every(isNamed))
    throw new TypeError('Cannot create a guard: each key in keys must have a kid');
  try {
    return readJwkSet(keys, algorithms);
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    throw new TypeError(
      `Cannot create a guard: keys must be a JWK Set that contains a public key for ${algorithms.join(', ')}`,
    );
  }
}
