import type { CheckedOptions, Fetch } from '../types.ts';
import { isJsonObject } from '../values/json.ts';
import { isAllowedInMetadata, printable, printableUrl } from '../values/url.ts';
import { FetchError, fetchJson } from './fetch-json.ts';
import { withCommonTenant } from './tenants.ts';

export type KeySetSourceOptions = Pick<CheckedOptions, 'jwksUri' | 'jwksAllowHttp' | 'fetch'>;

/** A document that may be a JWK Set: that is checked later. */
export interface FetchedDocument {
  /** Undefined for keys that were given. */
  readonly url: string | undefined;
  readonly json: unknown;
}

/** Fetches the JWK Set of an issuer. With `isAnew`, it forgets where the set was found. */
export type KeySetSource = (signal: AbortSignal, isAnew?: boolean) => Promise<FetchedDocument>;

/**
 * Returns the source of an issuer's keys: `jwksUri` if set, otherwise `.well-known/jwks.json` below an issuer that ends with
 * a slash. If the response to that is anything but a JWK Set, or the issuer has no trailing slash, the URL in its metadata, which
 * is used until it fails.
 */
export function createKeySetSource(
  issuer: string,
  { jwksUri, jwksAllowHttp, fetch = globalThis.fetch }: KeySetSourceOptions,
): KeySetSource {
  const usual = jwksUri ?? (issuer.endsWith('/') ? `${withCommonTenant(issuer)}.well-known/jwks.json` : undefined);
  let found: string | undefined;

  const fetchFrom = async (url: string, signal: AbortSignal) => ({ url, json: await fetchJson(fetch, url, signal) });

  async function look(signal: AbortSignal): Promise<FetchedDocument> {
    const { url, jwksUri: named } = await fetchMetadata(fetch, issuer, signal);
    if (named === undefined) throw new FetchError('malformed', url);
    if (!isAllowedInMetadata(named, issuer, jwksAllowHttp))
      throw new FetchError('insecure_address', url, { found: printableUrl(named) });
    const document = await fetchFrom(named, signal);
    found = named;
    return document;
  }

  return async (signal, isAnew = false) => {
    const url = (isAnew ? undefined : found) ?? usual;
    found = undefined;
    if (url === undefined) return look(signal);
    try {
      const document = await fetchFrom(url, signal);
      if (url !== usual) found = url;
      else if (!isObjectWithKeys(document.json)) throw new FetchError('malformed', url);
      return document;
    } catch (error) {
      const isElsewhere = wasConnected(error) && (url === usual || error.fault.status === 404);
      if (jwksUri !== undefined || !isElsewhere) throw error;
      return look(signal).catch((second) => {
        // The first fault says more, unless there are metadata that the operator has to know of.
        throw wasMisconfigured(second) ? second : error;
      });
    }
  };
}

/** The part of an authorization server's metadata that is used. Its lists of algorithms describe ID tokens and are ignored. */
export interface Metadata {
  /** URL of this document. */
  readonly url: string;
  /** URL of the JWK Set, not validated; undefined if the document has none. */
  readonly jwksUri: string | undefined;
  /** URL of the token endpoint, not validated; undefined if the document has none. */
  readonly tokenEndpoint: string | undefined;
}

/**
 * Returns the metadata of `issuer`: OpenID Connect Discovery 1.0 §4 first, then RFC 8414 §3.
 * @throws {FetchError} neither document can be fetched, or they name another issuer (RFC 8414 §3.3)
 */
export async function fetchMetadata(fetch: Fetch, issuer: string, signal: AbortSignal): Promise<Metadata> {
  const [first, second] = issuerMetadataUrls(withCommonTenant(issuer));
  const read = async (url: string) => checkMetadata(url, await fetchJson(fetch, url, signal), issuer);
  try {
    return await read(first);
  } catch (error) {
    if (!wasConnected(error)) throw error;
    try {
      return await read(second);
    } catch (secondError) {
      // A wrong issuer in the first document is more helpful to report than a missing second document.
      throw error.fault.failure === 'issuer_mismatch' && wasConnected(secondError) ? error : secondError;
    }
  }
}

const isObjectWithKeys = (json: unknown) => isJsonObject(json) && Array.isArray(json.keys);

/** The metadata exist, and say what the operator has to change. */
const wasMisconfigured = (error: unknown) =>
  error instanceof FetchError && ['issuer_mismatch', 'insecure_address'].includes(error.fault.failure);

/** Without a connection, the other document cannot be fetched either. */
function wasConnected(error: unknown): error is FetchError {
  return error instanceof FetchError && error.fault.failure !== 'network';
}

/** OpenID appends the well-known part to the issuer; RFC 8414 inserts it between host and path. */
function issuerMetadataUrls(issuer: string): readonly [string, string] {
  const base = issuer.replace(/\/$/, '');
  // Not `URL.origin`, which leaves out a default port and writes an IPv6 address in another way.
  const inserted = base.replace(/^(https?:\/\/[^/]+)/, '$1/.well-known/oauth-authorization-server');
  return [`${base}/.well-known/openid-configuration`, inserted];
}

function checkMetadata(url: string, document: unknown, issuer: string): Metadata {
  if (!isJsonObject(document)) throw new FetchError('malformed', url);
  const { issuer: found, jwks_uri, token_endpoint } = document;
  if (found !== issuer)
    throw new FetchError('issuer_mismatch', url, typeof found === 'string' ? { found: printable(found) } : {});
  return { url, jwksUri: stringOf(jwks_uri), tokenEndpoint: stringOf(token_endpoint) };
}

function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
