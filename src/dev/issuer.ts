import { createDevelopmentIssuer, type IssuerSecrets } from 'protected-api/testing';

/**
 * Returns the development issuer of the service.
 * @param origin the URL at which clients reach the service, without a trailing slash; the API identifier, too
 * @param secrets those of an earlier one; by default, new ones
 * @param scopes returns the scopes of the routes, which the reader can be granted; the visitor can be granted none
 */
export function createServiceIssuer(
  origin: string,
  secrets: IssuerSecrets | undefined,
  scopes: () => readonly string[],
) {
  return createDevelopmentIssuer({
    issuer: `${origin}/`,
    audience: origin,
    clients: () => [{ id: 'reader', scope: scopes() }, { id: 'visitor' }],
    allowedHosts: [new URL(origin).host],
    secrets,
  });
}
