import { type } from 'arktype';
import { Elysia, t } from 'elysia';
import { type Authentication, describeRejections, type Guard, securitySchemes } from 'protected-api';
import {
  type Claims,
  createGuard,
  type RequirementContext,
  resourceMetadata,
  resourceServer,
} from 'protected-api/elysia';
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
describeRejections(byElysia);
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
// @ts-expect-error: issuer and audience are required
createGuard({});
// @ts-expect-error: an audience is required
resourceServer({ issuer: 'https://issuer.example.test/' });
// @ts-expect-error: an audience is required
resourceMetadata({ issuer: 'https://issuer.example.test/' });
// @ts-expect-error: issuer and audience are required
describeRejections({});
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

// Functions know the claims as handlers do.
const isKnown = ({ tenant }: { readonly tenant: string }) => tenant === '';
createGuard({ ...options, claims: zod, isRevoked: isKnown, onAccepted: (_, { tenant }) => tenant satisfies string });
createGuard({ ...options, claims: elysia, isRevoked: isKnown, onAccepted: (_, { tenant }) => tenant satisfies string });
// @ts-expect-error: without a schema, a claim is unknown
createGuard({ ...options, isRevoked: isKnown });
resourceServer({ ...options, claims: zod, isRevoked: ({ tenant }) => tenant.length > 0 });
guarded
  .get('/tenants', () => 'ok', { authorize: ({ claims }) => claims.tenant.length > 0 })
  .get('/tenants', () => 'ok', { scope: async ({ claims }) => claims.tenant.toLowerCase() })
  // @ts-expect-error: a schema of the route may convert what it checks
  .get('/tenants/:id', () => 'ok', { authorize: ({ params }) => params.id.length > 0 });
type Numbered = RequirementContext<Claims & { tenant: string }> & { params: { id: number }; body: { tenant: string } };
guarded.post('/tenants/:id', ({ body, params }) => body.tenant.length + params.id, {
  params: t.Object({ id: t.Numeric() }),
  body: t.Object({ tenant: t.String() }),
  authorize: ({ claims, params, body }: Numbered) => params.id > 0 && claims.tenant === body.tenant,
});
new Elysia()
  .use([resourceServer(guard), resourceServer(options)])
  .get('/', () => 'ok', { authorize: ({ claims }) => claims.exp > 0 });

// The output of a schema replaces claims.
const converted = z.object({ sub: z.coerce.number(), exp: z.coerce.date() });
const byNumber = createGuard({ ...options, claims: converted, isRevoked: ({ sub }) => sub > 1 });
new Elysia()
  .use(resourceServer(byNumber))
  .get('/', ({ claims }) => claims.exp.getTime() + claims.sub + claims.iss.length, {
    authorize: ({ claims }) => claims.sub > 1,
  });
new Elysia()
  .use(resourceServer({ ...options, claims: t.Object({ sub: t.Number() }) }))
  // @ts-expect-error: it is a number
  .get('/', ({ claims }) => (claims.sub + claims.exp) satisfies string);
createGuard({ ...options, claims: z.looseObject({ tenant: z.string() }), isRevoked: ({ iss }) => iss === '' });

// Where a token is optional, a requirement still needs one.
new Elysia()
  .use(optional)
  .get('/scoped', ({ claims }) => claims.tenant.length, { scope: 'read:messages' })
  .get('/owner', ({ claims }) => claims.tenant.length, { authorize: (_: RequirementContext) => true })
  // @ts-expect-error: without a token there are no claims
  .get('/other', ({ claims }) => claims.tenant.length);

declare const flag: boolean;
const either = await guard.check(request, { optional: flag });
// @ts-expect-error: without a token there are no claims
if (!(either instanceof Response)) either.claims.tenant;
// @ts-expect-error: an unset variable requires nothing
await guard.check(request, { scope: undefined });
new Elysia().use(resourceServer(guard, { optional: flag })).get('/', ({ claims }) => claims?.tenant.length ?? 0);

// A test of an application's own code can write a guard by hand.
const auth: Authentication = { claims: { iss: 'a', exp: 1 }, token: 'a', clientId: undefined, scopes: [] };
const state = { issuers: [], cacheHits: 0, cacheEntries: 0 };
const nothing = () => undefined;
({
  ...{ requireToken: async () => auth, check: async () => auth, metadata: nothing },
  ...{ start: nothing, stop: nothing, reload: async () => state, state: () => state },
}) satisfies Guard;
// @ts-expect-error: a guard has more methods
({ check: async () => auth }) satisfies Guard;
({ check: async () => new Response(null, { status: 401 }) }) satisfies Pick<Guard, 'check'>;
