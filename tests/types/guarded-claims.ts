import { type } from 'arktype';
import { Elysia, t } from 'elysia';
import { createGuard, describeRejections, resourceMetadata, resourceServer, securitySchemes } from 'protected-api';
import * as v from 'valibot';
import { z } from 'zod';

/** Nothing here is run. The compiler checks the types of claims, of options and of what check() returns. */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
const zod = z.object({ tenant: z.string() });
const valibot = v.object({ tenant: v.string() });
const arktype = type({ tenant: 'string' });
const elysia = t.Object({ tenant: t.String() });

// A schema describes claims, and a guard keeps their type.
const guard = createGuard({ ...options, claims: zod });
const guarded = new Elysia().use(resourceServer(guard));
guarded.get('/guard', ({ claims }) => claims.tenant.length);
new Elysia()
  .use(resourceServer({ ...options, claims: zod }))
  .get('/zod', ({ claims }) => claims.tenant.length + (claims.sub ?? claims.client_id ?? '').length)
  // @ts-expect-error: a claim that the schema does not describe is unknown
  .get('/zod', ({ claims }) => claims.tenant.length + claims.exp + claims.org.length);
new Elysia().use(resourceServer({ ...options, claims: valibot })).get('/valibot', ({ claims }) => claims.tenant.length);
new Elysia().use(resourceServer({ ...options, claims: arktype })).get('/arktype', ({ claims }) => claims.tenant.length);
new Elysia().use(resourceServer({ ...options, claims: elysia })).get('/t', ({ claims }) => claims.tenant.length);

const byElysia = createGuard({ ...options, claims: elysia });
new Elysia().use(resourceServer(byElysia)).get('/t', ({ claims }) => claims.tenant.length);
describeRejections({ ...options, claims: elysia });
securitySchemes({ ...options, claims: elysia });
resourceMetadata({ ...options, claims: elysia });
// @ts-expect-error: a schema is not a class
createGuard({ ...options, claims: String });
// @ts-expect-error: formatRejection is synchronous
createGuard({ ...options, formatRejection: async () => ({ body: { title: 'rejected' } }) });
// @ts-expect-error: the body is a member of what it returns
createGuard({ ...options, formatRejection: ({ error }) => ({ title: error }) });
// @ts-expect-error: a text has a media type
createGuard({ ...options, formatRejection: ({ error }) => ({ body: error }) });
createGuard({ ...options, formatRejection: ({ error }) => ({ body: error, contentType: 'text/plain' }) });
// @ts-expect-error: a misspelt option
createGuard({ ...options, algorithm: ['RS256'] });
// @ts-expect-error: HMAC is never accepted
createGuard({ ...options, algorithms: ['HS256'] });

const request = new Request('https://api.example.test/');
const result = await guard.check(request, { scope: { anyOf: ['a', 'b'] }, acr: ['high'], maxAge: 60 });
// @ts-expect-error: a request may have been rejected
result.claims;
if (!(result instanceof Response)) result.claims.tenant satisfies string;

const perhaps = await guard.check(request, { optional: true });
if (!(perhaps instanceof Response)) {
  // @ts-expect-error: without a token there are no claims
  perhaps.claims.tenant;
  if (perhaps.claims) perhaps.claims.tenant satisfies string;
  // @ts-expect-error: nor is there a token
  perhaps.token satisfies string;
}

// @ts-expect-error: a misspelt requirement would require nothing
await guard.check(request, { scopes: 'a' });
// @ts-expect-error: so would one in the words of the protocol
await guard.check(request, { max_age: 60 });
// @ts-expect-error: functions of the context are for routes
await guard.check(request, { scope: () => 'a' });
// @ts-expect-error: authorize is for routes
await guard.check(request, { authorize: () => true });
// @ts-expect-error: anyOf is a list
await guard.check(request, { scope: { anyOf: 'a' } });

const optional = resourceServer(guard, { optional: true });
// @ts-expect-error: without a token there are no claims
new Elysia().use(optional).get('/optional', ({ claims }) => claims.tenant);
new Elysia().use(optional).get('/optional', ({ claims }) => claims?.tenant.length ?? 0);
// @ts-expect-error: optional is not an option of a guard
resourceServer({ ...options, optional: true });
// @ts-expect-error: nor one of a route
guarded.get('/', () => 'ok', { optional: true });

guarded
  .get('/owner', () => 'ok', { authorize: ({ claims, params }) => claims.sub === params.owner })
  .get('/later', () => 'ok', { authorize: async () => true, acr: 'high', maxAge: 60 })
  .get('/tool', () => 'ok', { scope: ({ headers }) => (headers['mcp-name'] === 'a' ? ['a'] : { anyOf: ['b'] }) });
// @ts-expect-error: a decision is true or false
guarded.get('/', () => 'ok', { authorize: () => 'yes' });
// @ts-expect-error: a function returns a scope
guarded.get('/', () => 'ok', { scope: () => 1 });
// @ts-expect-error: an age is a number of seconds
guarded.get('/', () => 'ok', { maxAge: '60' });
