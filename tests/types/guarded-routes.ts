import { Elysia, t } from 'elysia';
import { type Claims, resourceServer } from 'protected-api';

/**
 * Nothing here is run. The compiler checks guarded routes, with the sources and with the declarations in the tarball.
 */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };

/** TypeScript describes a mistake by the last overload, whose parameter this is: the options, not a guard. */
type Reported = Parameters<typeof resourceServer>[0];
options satisfies Reported;

const unguarded = new Elysia();
const plain = new Elysia().use(resourceServer(options));
const accepted = plain.get(
  '/reports',
  ({ claims, status }) => {
    const known: Claims = claims;
    return known.sub === 'nobody' ? status(404, 'Not found') : { issuer: claims.iss satisfies string };
  },
  { scope: ['read:reports', 'export'] },
);
plain.get('/reports', ({ claims }) => {
  // @ts-expect-error: exp is a number
  claims.exp satisfies string;
  // @ts-expect-error: a claim without a schema is unknown
  claims.sub satisfies string;
  // @ts-expect-error: requests share claims
  claims.iss = 'another';
});
// @ts-expect-error: a misspelt option would guard nothing
plain.get('/reports', () => 'ok', { scopes: 'read:reports' });
// @ts-expect-error: anyOf stands alone
plain.post('/reports', () => 'ok', { body: t.Any(), scope: { anyOf: ['read:reports'], allOf: ['export'] } });
// @ts-expect-error: beside a requirement too
plain.get('/reports', () => 'ok', { acr: 'high', scope: { anyOf: ['read:reports'], oneOf: ['export'] } });
// @ts-expect-error: a scope is text
plain.get('/reports', () => 'ok', { scope: 1 });
// @ts-expect-error: without the plugin there is no option scope
unguarded.get('/reports', () => 'ok', { scope: 'read:reports' });
// @ts-expect-error: a public route has no claims
unguarded.get('/reports', ({ claims }) => claims);
// @ts-expect-error: a route of another instance than the guarded one has no claims either
unguarded.use(accepted).get('/open', ({ claims }) => claims);
// @ts-expect-error: a misspelt setting
resourceServer(options, { optionl: true });
