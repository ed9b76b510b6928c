import { Elysia, t } from 'elysia';
import { type Claims, resourceServer } from 'protected-api/elysia';

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
  '/messages',
  ({ claims, status }) => {
    const known: Claims = claims;
    return known.sub === 'nobody' ? status(404, 'Not found') : { issuer: claims.iss satisfies string };
  },
  { scope: ['read:messages', 'export'] },
);
plain.get('/messages', ({ claims }) => {
  // @ts-expect-error: exp is a number
  claims.exp satisfies string;
  // @ts-expect-error: a claim without a schema is unknown
  claims.sub satisfies string;
  // @ts-expect-error: requests share claims
  claims.iss = 'another';
});
// @ts-expect-error: a misspelt option would guard nothing
plain.get('/messages', () => 'ok', { scopes: 'read:messages' });
// @ts-expect-error: anyOf stands alone
plain.post('/messages', () => 'ok', { body: t.Any(), scope: { anyOf: ['read:messages'], allOf: ['export'] } });
// @ts-expect-error: beside a requirement too
plain.get('/messages', () => 'ok', { acr: 'high', scope: { anyOf: ['read:messages'], oneOf: ['export'] } });
// @ts-expect-error: a scope is text
plain.get('/messages', () => 'ok', { scope: 1 });
// @ts-expect-error: without the plugin there is no option scope
unguarded.get('/messages', () => 'ok', { scope: 'read:messages' });
// @ts-expect-error: a public route has no claims
unguarded.get('/messages', ({ claims }) => claims);
// @ts-expect-error: a route of another instance than the guarded one has no claims either
unguarded.use(accepted).get('/open', ({ claims }) => claims);
// @ts-expect-error: a misspelt setting
resourceServer(options, { optionl: true });
