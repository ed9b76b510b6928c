import { Elysia } from 'elysia';
import { type Claims, resourceServer } from 'protected-api';

/** Nothing here is run: the compiler tells whether a route can be added as it should, and not as it should not. */

/** TypeScript describes a mistake by the last overload, whose parameter this is: the options, not a guard. */
type Reported = Parameters<typeof resourceServer>[0];
({ issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' }) satisfies Reported;

const guard = resourceServer({ issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' });

export const accepted = new Elysia().use(guard).get(
  '/reports',
  ({ claims, status }) => {
    const known: Claims = claims;
    const issuer: string = claims.iss;
    return known.sub === 'nobody' ? status(404, 'Not found') : { issuer };
  },
  { scope: ['read:reports', 'export'] },
);

new Elysia().use(guard).get('/reports', ({ claims }) => {
  // @ts-expect-error: exp is a number
  const expiry: string = claims.exp;
  // @ts-expect-error: a claim without a schema is unknown
  const subject: string = claims.sub;
  // @ts-expect-error: requests share claims
  claims.iss = 'another';
  return expiry + subject;
});

// @ts-expect-error: a misspelt option would guard nothing
new Elysia().use(guard).get('/reports', () => 'ok', { scopes: 'read:reports' });

// @ts-expect-error: a scope is text
new Elysia().use(guard).get('/reports', () => 'ok', { scope: 1 });

// @ts-expect-error: without the plugin there is no option scope
new Elysia().get('/reports', () => 'ok', { scope: 'read:reports' });

// @ts-expect-error: a public route has no claims
new Elysia().get('/reports', ({ claims }) => claims);

// @ts-expect-error: a route of another instance than the guarded one has no claims either
new Elysia().use(accepted).get('/open', ({ claims }) => claims);

// @ts-expect-error: a misspelt setting
resourceServer({ issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' }, { optionl: true });
