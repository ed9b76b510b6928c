import { Elysia } from 'elysia';
import { createAuthorizationServer, createSecret, createSigner, endpoints, type Signer } from 'protected-api/testing';
import type { EmbeddedIssuer } from '../service.ts';

/** The key pair of the issuer, and the credentials of its clients. */
export interface IssuerSecrets {
  readonly signer: Signer;
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

/** Returns new secrets. They are only ever in memory. */
export function createIssuerSecrets(): IssuerSecrets {
  const clientOf = (id: string) => ({ id, secret: createSecret() });
  return { signer: createSigner('RS256'), clients: { reader: clientOf('reader'), visitor: clientOf('visitor') } };
}

/** Returns the development issuer as routes of the service. */
export function createEmbeddedIssuer({ issuer, audience, secrets, scopes }: EmbeddedIssuerOptions): EmbeddedIssuer {
  const { reader, visitor } = secrets.clients;
  const clients = () => [
    { ...reader, scope: scopes().join(' ') },
    { ...visitor, scope: '' },
  ];
  const { fetch } = createAuthorizationServer({ issuer, audience: [audience], clients, signer: secrets.signer });
  const routes = new Elysia({ detail: { hide: true } })
    .get(endpoints.keySet, ({ request }) => fetch(request))
    .get(endpoints.metadata, ({ request }) => fetch(request))
    .post(endpoints.token, ({ request }) => fetch(request), { parse: 'none' });
  return { routes, tokenEndpoint: `${issuer}${endpoints.token.slice(1)}`, clients };
}
