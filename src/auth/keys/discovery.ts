import type { CheckedOptions, Fetch, FetchFault } from '../types.ts';
import { printable } from '../values/ascii.ts';
import { isJsonObject } from '../values/json.ts';
import { isAllowedInMetadata, printableUrl } from '../values/url.ts';
import { describeFault, FetchError } from './fetch/fault.ts';
import { fetchJson } from './fetch/fetch-json.ts';
import { readKeySet } from './jwk-set.ts';
import { withCommonTenant } from './tenants.ts';

/*
 * Where the key set of an issuer is, and which fault is reported if it is nowhere. How a document is fetched is decided
 * in fetch/, and which keys of a set can be used in jwk-set.ts.
 */

export type KeySetSourceOptions = Pick<CheckedOptions, 'jwksUri' | 'jwksAllowHttp' | 'fetch'>;

/** The keys of a JWK Set. Which of them can be used is not known yet. */
export interface FetchedKeys {
  /** Undefined for keys that were given. */
  readonly url: string | undefined;
  readonly keys: readonly unknown[];
}

/** Fetches the JWK Set of an issuer: from where it was found, or with `isAnew`, after looking for it again. */
export type KeySetSource = (signal: AbortSignal, isAnew?: boolean) => Promise<FetchedKeys>;

/**
 * Returns the source of an issuer's keys: `jwksUri` if set, otherwise `.well-known/jwks.json` below an issuer that ends
 * with a slash. If the response to that is anything but a JWK Set, or the issuer has no trailing slash, the URL in its
 * metadata. At last, `.well-known/jwks.json` below an issuer without a slash. What was found is used until it fails.
 */
export function createKeySetSource(
  issuer: string,
  { jwksUri, jwksAllowHttp, fetch = globalThis.fetch }: KeySetSourceOptions,
): KeySetSource {
  const usual = wellKnownUrls(issuer).keySet;
  const isUsualFirst = issuer.endsWith('/');
  let found: string | undefined;

  async function fetchFrom(url: string, signal: AbortSignal): Promise<FetchedKeys> {
    const keys = readKeySet(await fetchJson(fetch, url, 'key set', signal), url);
    // What is tried first anyway is followed by the metadata, whatever its response is.
    found = url === usual && isUsualFirst ? undefined : url;
    return { url, keys };
  }

  /** @param faults of the URLs that were tried before */
  async function look(signal: AbortSignal, faults: FetchFault[]): Promise<FetchedKeys> {
    const named = async (url: string) => namedIn(await readMetadata(fetch, issuer, url, signal), issuer, jwksAllowHttp);
    const steps = wellKnownUrls(issuer).metadata.map((url) => () => named(url) as Promise<string | FetchedKeys>);
    const guess = () => fetchFrom(usual, signal);
    const place = await firstOf(isUsualFirst ? [guess, ...steps] : [...steps, guess], faults, guess);
    if (typeof place !== 'string') return place;
    return fetchFrom(place, signal).catch((error: unknown) => {
      throw error instanceof FetchError ? afterOthers(error.fault, [...faults, error.fault]) : error;
    });
  }

  if (jwksUri !== undefined) return (signal) => fetchFrom(jwksUri, signal);
  return async (signal, isAnew = false) => {
    if (isAnew || found === undefined) return look(signal, []);
    return fetchFrom(found, signal).catch((error: unknown) => {
      if (error instanceof FetchError && isMissing(error.fault)) return look(signal, [error.fault]);
      throw error;
    });
  };
}

/** The part of an authorization server's metadata that is used. Its lists of algorithms describe ID tokens. */
export interface Metadata {
  /** URL of this document. */
  readonly url: string;
  /** URL of the JWK Set, not validated; undefined if the document has none. */
  readonly jwksUri: string | undefined;
  /** URL of the token endpoint, not validated; undefined if the document has none. */
  readonly tokenEndpoint: string | undefined;
}

/**
 * Returns the metadata of `issuer`: OpenID Connect Discovery 1.0 §4 first, then RFC 8414 §3 and §5.
 * @throws {FetchError} no document can be fetched, or it names another issuer (RFC 8414 §3.3)
 */
export function fetchMetadata(fetch: Fetch, issuer: string, signal: AbortSignal): Promise<Metadata> {
  return firstOf(
    wellKnownUrls(issuer).metadata.map((url) => () => readMetadata(fetch, issuer, url, signal)),
    [],
  );
}

/** OpenID appends the well-known part to the issuer. RFC 8414, and some servers for OpenID, put it after the host. */
function wellKnownUrls(identifier: string) {
  const issuer = withCommonTenant(identifier).replace(/\/$/, '');
  // Not `URL.origin`, which leaves out a default port and writes an IPv6 address in another way.
  const [, host = '', path = ''] = /^(https?:\/\/[^/]+)(.*)$/.exec(issuer) ?? [];
  const inserted = (name: string) => `${host}/.well-known/${name}${path}`;
  return {
    keySet: `${issuer}/.well-known/jwks.json`,
    metadata: [
      `${issuer}/.well-known/openid-configuration`,
      inserted('oauth-authorization-server'),
      ...(path === '' ? [] : [inserted('openid-configuration')]),
    ],
  };
}

async function readMetadata(fetch: Fetch, issuer: string, url: string, signal: AbortSignal): Promise<Metadata> {
  const document = await fetchJson(fetch, url, 'metadata', signal);
  if (!isJsonObject(document)) throw new FetchError('malformed', { url, found: 'no metadata' });
  const { issuer: found, jwks_uri, token_endpoint } = document;
  if (found !== issuer)
    throw new FetchError('issuer_mismatch', { url, found: typeof found === 'string' ? printable(found) : undefined });
  return { url, jwksUri: stringOf(jwks_uri), tokenEndpoint: stringOf(token_endpoint) };
}

function namedIn({ url, jwksUri }: Metadata, issuer: string, allowHttp: boolean): string {
  if (jwksUri === undefined) throw new FetchError('malformed', { url, found: 'no jwks_uri' });
  if (isAllowedInMetadata(jwksUri, issuer, allowHttp)) return jwksUri;
  throw new FetchError('insecure_address', { url, found: printableUrl(jwksUri) });
}

/**
 * Returns what the first step finds.
 * @param faults gets those of steps that fail
 * @param guess the step with a URL that no document names: not taken against metadata that say something else
 * @throws {FetchError} no step finds anything. Its fault is the first that is not a plain 404
 */
async function firstOf<Found>(
  steps: readonly (() => Promise<Found>)[],
  faults: FetchFault[],
  guess?: () => Promise<Found>,
): Promise<Found> {
  for (const step of steps) {
    if (step === guess && faults.some(wasMisconfigured)) break;
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      faults.push(error.fault);
      if (isFinal(error.fault)) break;
    }
  }
  const [first = faults[0], ...others] = faults.filter((fault) => !isMissing(fault));
  const guessed = steps[0] === guess ? faults[0] : undefined;
  const reported = (first === guessed && others.find(wasMisconfigured)) || first;
  throw reported === undefined ? new FetchError('network') : afterOthers(reported, faults);
}

/** Without a connection, no other document can be fetched. Metadata with an insecure URL are those of the issuer. */
const isFinal = ({ failure }: FetchFault) => ['network', 'timeout', 'insecure_address'].includes(failure);

const isMissing = ({ failure, status }: FetchFault) => failure === 'status' && status === 404;

/** The metadata exist, and say what the operator has to change. */
const wasMisconfigured = ({ failure }: FetchFault) => failure === 'issuer_mismatch' || failure === 'insecure_address';

/** Returns the error for a fault, with all that were found on the way to it. */
const afterOthers = (fault: FetchFault, faults: readonly FetchFault[]) =>
  new FetchError(fault.failure, {
    ...fault,
    tried: faults.length > 1 ? faults.map((each) => describeFault(each)) : undefined,
  });

const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
