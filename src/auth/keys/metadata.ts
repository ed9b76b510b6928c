import { type Fetch, FetchError, fetchJson } from './fetch-json.ts';

/** The part of an authorization server's metadata that is used. Its lists of algorithms describe ID tokens and are ignored. */
export interface Metadata {
  /** Address of the JWK Set, not validated; undefined if the document has none. */
  readonly jwksUri: string | undefined;
  /** Address of the token endpoint, not validated; undefined if the document has none. */
  readonly tokenEndpoint: string | undefined;
}

/**
 * Returns the metadata of `issuer`: OpenID Connect Discovery 1.0 §4 first, then RFC 8414 §3.
 * @throws {FetchError} neither document can be fetched, or they name another issuer (RFC 8414 §3.3)
 */
export async function fetchMetadata(fetch: Fetch, issuer: string, signal: AbortSignal): Promise<Metadata> {
  const [first, second] = metadataUrls(issuer);
  try {
    return readMetadata(await fetchJson(fetch, first, signal), issuer);
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    try {
      return readMetadata(await fetchJson(fetch, second, signal), issuer);
    } catch (secondError) {
      // A wrong issuer in the first document is more helpful to report than a missing second document.
      throw error.failure === 'issuer_mismatch' && secondError instanceof FetchError ? error : secondError;
    }
  }
}

/** OpenID appends the well-known part to the issuer; RFC 8414 inserts it between host and path. */
function metadataUrls(issuer: string): readonly [string, string] {
  const base = issuer.replace(/\/$/, '');
  const { origin } = new URL(base);
  return [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${base.slice(origin.length)}`,
  ];
}

function readMetadata(document: unknown, issuer: string): Metadata {
  if (typeof document !== 'object' || document === null) throw new FetchError('malformed');
  const { issuer: found, jwks_uri, token_endpoint } = document as Readonly<Record<string, unknown>>;
  if (found !== issuer)
    throw new FetchError('issuer_mismatch', typeof found === 'string' ? { found: found.slice(0, 256) } : {});
  return { jwksUri: textOf(jwks_uri), tokenEndpoint: textOf(token_endpoint) };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
