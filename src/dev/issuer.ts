import { Elysia } from 'elysia';
import { createDevelopmentIssuer, type IssuerSecrets as Secrets } from 'protected-api/testing';
import type { EmbeddedIssuer } from '../service.ts';

/** What the issuer keeps, and the credentials of its clients. */
export interface IssuerSecrets {
  readonly kept: Secrets;
  readonly clients: Readonly<Record<'reader' | 'visitor', { readonly id: string; readonly secret: string }>>;
}

export interface EmbeddedIssuerOptions {
  /** The issuer identifier with a trailing slash. The endpoints are below it. Its host can get tokens, as can loopback hosts. */
  readonly issuer: string;
  /** The only API identifier for which tokens are issued. */
  readonly audience: string;
  readonly secrets: IssuerSecrets;
  /** Returns the scopes of the routes, which the reader can be granted. The visitor can be granted none. */
  readonly scopes: () => readonly string[];
}

const names = ['reader', 'visitor'] as const;

/** Returns new secrets. They are only ever in memory. */
export function createIssuerSecrets(): IssuerSecrets {
  const clients = names.map((id) => ({ id }));
  const { secrets } = createDevelopmentIssuer({ issuer: 'http://localhost/', audience: 'any', clients });
  const [reader, visitor] = names.map((id) => ({ id, secret: secrets.clients.get(id) ?? '' }));
  return { kept: secrets, clients: { reader, visitor } as IssuerSecrets['clients'] };
}

/** Returns the development issuer as routes of the service. */
export function createEmbeddedIssuer({ issuer, audience, secrets, scopes }: EmbeddedIssuerOptions): EmbeddedIssuer {
  const development = createDevelopmentIssuer({
    issuer,
    audience,
    clients: () => [{ id: 'reader', scope: scopes() }, { id: 'visitor' }],
    allowedHosts: [new URL(issuer).host],
    secrets: secrets.kept,
  });
  const { endpoints, fetch, refuseHost } = development;
  const routes = new Elysia({ detail: { hide: true } })
    .get(endpoints.keySet, ({ request }) => fetch(request))
    .get(endpoints.metadata, ({ request }) => fetch(request))
    .post(endpoints.token, ({ request }) => fetch(request), { parse: 'none' });
  const tokenEndpoint = `${issuer}${endpoints.token.slice(1)}`;
  return { routes, tokenEndpoint, clients: () => development.clients, refuseHost };
}
