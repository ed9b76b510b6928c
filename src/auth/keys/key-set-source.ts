import { isSecureUrl } from './address.ts';
import { type Fetch, FetchError, fetchJson } from './fetch-json.ts';
import { fetchMetadata } from './metadata.ts';

export interface KeySetSourceOptions {
  readonly issuer: string;
  /** Address of the key set, if configured. By default it is discovered. */
  readonly jwksUri?: string | undefined;
  /** Whether metadata may name an address with plain http on a host other than loopback. */
  readonly allowHttp: boolean;
  readonly fetch: Fetch;
}

/** Fetches the JWK Set of an issuer. It returns any JSON: whether that is a key set is checked later. */
export type KeySetSource = (signal: AbortSignal) => Promise<unknown>;

/**
 * Returns the source of an issuer's keys: `jwksUri` if set, otherwise `.well-known/jwks.json` below an issuer that ends with
 * a slash. If that is a 404, or the issuer has no trailing slash, the address in its metadata, which is used until it fails.
 */
export function createKeySetSource({ issuer, jwksUri, allowHttp, fetch }: KeySetSourceOptions): KeySetSource {
  const usual = jwksUri ?? (issuer.endsWith('/') ? `${issuer}.well-known/jwks.json` : undefined);
  let found: string | undefined;

  async function look(signal: AbortSignal): Promise<unknown> {
    const { jwksUri: named } = await fetchMetadata(fetch, issuer, signal);
    if (named === undefined) throw new FetchError('malformed');
    if (!isSecureUrl(named, allowHttp)) throw new FetchError('insecure_address');
    const jwkSet = await fetchJson(fetch, named, signal);
    found = named;
    return jwkSet;
  }

  return async (signal) => {
    const address = found ?? usual;
    found = undefined;
    if (address === undefined) return look(signal);
    try {
      const jwkSet = await fetchJson(fetch, address, signal);
      if (address !== usual) found = address;
      return jwkSet;
    } catch (error) {
      const isGone = error instanceof FetchError && error.detail.status === 404;
      if (jwksUri === undefined && isGone) return look(signal);
      throw error;
    }
  };
}
