import { isAllowedInMetadata, printableUrl } from './address.ts';
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

/** A document that may be a JWK Set: that is checked later. */
export interface FetchedDocument {
  readonly url: string;
  readonly json: unknown;
}

/** Fetches the JWK Set of an issuer. */
export type KeySetSource = (signal: AbortSignal) => Promise<FetchedDocument>;

/**
 * Returns the source of an issuer's keys: `jwksUri` if set, otherwise `.well-known/jwks.json` below an issuer that ends with
 * a slash. If that is a 404, or the issuer has no trailing slash, the address in its metadata, which is used until it fails.
 */
export function createKeySetSource({ issuer, jwksUri, allowHttp, fetch }: KeySetSourceOptions): KeySetSource {
  const usual = jwksUri ?? (issuer.endsWith('/') ? `${issuer}.well-known/jwks.json` : undefined);
  let found: string | undefined;

  const fetchFrom = async (url: string, signal: AbortSignal) => ({ url, json: await fetchJson(fetch, url, signal) });

  async function look(signal: AbortSignal): Promise<FetchedDocument> {
    const { url, jwksUri: named } = await fetchMetadata(fetch, issuer, signal);
    if (named === undefined) throw new FetchError('malformed', url);
    if (!isAllowedInMetadata(named, issuer, allowHttp))
      throw new FetchError('insecure_address', url, { found: printableUrl(named) });
    const document = await fetchFrom(named, signal);
    found = named;
    return document;
  }

  return async (signal) => {
    const url = found ?? usual;
    found = undefined;
    if (url === undefined) return look(signal);
    try {
      const document = await fetchFrom(url, signal);
      if (url !== usual) found = url;
      return document;
    } catch (error) {
      const isGone = error instanceof FetchError && error.fault.status === 404;
      if (jwksUri === undefined && isGone) return look(signal);
      throw error;
    }
  };
}
