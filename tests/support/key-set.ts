import type { Fetch } from '../../src/auth/fetch-json.ts';
import { createKeySet, type KeySet, type KeySetOptions } from '../../src/auth/key-set.ts';
import { createKeySetSource } from '../../src/auth/key-set-source.ts';

export const KEY_SET_ISSUER = 'https://issuer.example.test/';

/** Returns the RS256 keys at `uri`. */
export function keySetAt(
  uri: string,
  { fetch = globalThis.fetch, ...options }: Omit<KeySetOptions, 'issuer' | 'source' | 'algorithms'> & { fetch?: Fetch },
): KeySet {
  const issuer = KEY_SET_ISSUER;
  const source = createKeySetSource({ issuer, jwksUri: uri, allowHttp: true, fetch });
  return createKeySet({ issuer, source, algorithms: ['RS256'], ...options });
}
