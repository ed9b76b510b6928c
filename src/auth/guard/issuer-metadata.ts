import { fetchMetadata } from '../keys/discovery.ts';
import { isDiscoverable, optionsByIssuer } from '../options/issuers.ts';
import type { Guard } from '../types.ts';
import { isAllowedInMetadata } from '../values/url.ts';
import { coreOf } from './guard.ts';

/** The metadata of an authorization server (RFC 8414 §2) that a client needs. */
export interface IssuerMetadata {
  /** Undefined if the metadata has none, or one to which credentials must not be sent. */
  readonly tokenEndpoint: string | undefined;
}

/**
 * Fetches the metadata of the guard's first issuer, with the limits of a key fetch. An issuer that is only a name, or
 * that a function looks up, has none. Ignores the cooldown, so do not let clients cause calls.
 * @throws {TypeError} not a guard
 * @throws {Error} the metadata cannot be fetched, or names another issuer
 */
export async function issuerMetadata(guard: Guard): Promise<IssuerMetadata> {
  const options = coreOf(guard)?.options;
  if (!options) throw new TypeError('Cannot fetch issuer metadata: the guard must be one that createGuard() returned');
  const { jwksTimeoutSeconds, fetch = globalThis.fetch } = options;
  const [[issuer, own] = ['', options]] = optionsByIssuer(options);
  if (!isDiscoverable(issuer, own)) return { tokenEndpoint: undefined };
  const { tokenEndpoint } = await fetchMetadata(fetch, issuer, AbortSignal.timeout(jwksTimeoutSeconds * 1000));
  // Another machine's metadata must not direct credentials to a port of this machine.
  const isAllowed = tokenEndpoint !== undefined && isAllowedInMetadata(tokenEndpoint, issuer, own.jwksAllowHttp);
  return { tokenEndpoint: isAllowed ? tokenEndpoint : undefined };
}
