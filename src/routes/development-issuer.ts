import { Elysia } from 'elysia';
import type { DevelopmentIssuer } from 'protected-api/testing';

/** Returns the endpoints of the development issuer. */
export function createIssuerRoutes({ endpoints, fetch }: DevelopmentIssuer) {
  return new Elysia({ detail: { hide: true } })
    .get(endpoints.keySet, ({ request }) => fetch(request))
    .get(endpoints.metadata, ({ request }) => fetch(request))
    .post(endpoints.token, ({ request }) => fetch(request), { parse: 'none' });
}
