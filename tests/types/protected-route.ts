import { Elysia } from 'elysia';
import { createBearer } from '../../src/auth/resource-server.ts';
import type { Claims } from '../../src/auth/verifier.ts';

/** Nothing here is run: the compiler says whether a route can be added as it should, and not as it should not. */
const bearer = createBearer({ verifier: { verify: () => ({ refusal: 'signature_invalid' }) } });

export const accepted = new Elysia().use(bearer).get(
  '/reports',
  ({ claims }) => {
    const known: Claims = claims;
    const issuer: string = claims.iss;
    return { known, issuer };
  },
  { scope: 'read:reports' },
);

new Elysia().use(bearer).get('/reports', ({ claims }) => {
  // @ts-expect-error: claims are typed, so an unknown one is not just anything
  const expiry: string = claims.exp;
  // @ts-expect-error: claims are shared between requests
  claims.iss = 'another';
  return expiry;
});

// @ts-expect-error: a misspelt option would guard nothing
new Elysia().use(bearer).get('/reports', () => 'ok', { scopes: 'read:reports' });

// @ts-expect-error: a scope is a text
new Elysia().use(bearer).get('/reports', () => 'ok', { scope: ['read:reports'] });

// @ts-expect-error: without the plugin there is no scope to ask for
new Elysia().get('/reports', () => 'ok', { scope: 'read:reports' });

// @ts-expect-error: a public route has no claims
new Elysia().get('/reports', ({ claims }) => claims);

// @ts-expect-error: nor has a route that is added beside a plugin of protected routes
new Elysia().use(accepted).get('/open', ({ claims }) => claims);
