import { createDevelopmentIssuer, type DevelopmentIssuer, type IssuerSecrets } from 'protected-api/testing';

export interface ServiceIssuerOptions {
  /** The URL at which clients reach the service, without a trailing slash. It is the API identifier, too. */
  readonly origin: string;
  readonly secrets: IssuerSecrets;
  /** Returns the scopes of the routes, which the reader can be granted. The visitor can be granted none. */
  readonly scopes: () => readonly string[];
}

/** Returns a new key, and new secrets of both clients. */
export function createIssuerSecrets(): IssuerSecrets {
  const clients = [{ id: 'reader' }, { id: 'visitor' }];
  return createDevelopmentIssuer({ issuer: 'http://localhost/', audience: 'any', clients }).secrets;
}

/** Returns the development issuer of the service. */
export function createServiceIssuer({ origin, secrets, scopes }: ServiceIssuerOptions): DevelopmentIssuer {
  return createDevelopmentIssuer({
    issuer: `${origin}/`,
    audience: origin,
    clients: () => [{ id: 'reader', scope: scopes() }, { id: 'visitor' }],
    allowedHosts: [new URL(origin).host],
    secrets,
  });
}
