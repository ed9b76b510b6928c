import { treaty } from '@elysia/eden';
import { Elysia, t } from 'elysia';
import { createGuard, type Guard, optionsFromEnvironment, resourceServer } from 'protected-api';

/** Nothing here is run. The compiler checks typed clients, with the sources and with the declarations in the tarball. */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
const app = new Elysia()
  .use(resourceServer(options))
  .get('/me', ({ claims, status }) => (claims.sub === 'nobody' ? status(404, 'Not found') : { known: true }))
  .get('/own', ({ claims, status }) => (claims.sub === 'nobody' ? status(401, 'Mine') : 'ok'), {
    response: { 200: t.String(), 401: t.Literal('Mine') },
  })
  .get('/reports', ({ claims, status }) => (claims.sub === 'nobody' ? status(404, 'Not found') : 'ok'), {
    scope: 'read:reports',
  });
const { me, own, reports } = treaty<typeof app>('http://localhost');

const { error } = await me.get();
// @ts-expect-error: no rejection has this error
if (error?.status === 401) error.value.error satisfies 'not_found';
if (error?.status === 503) error.value.error satisfies 'temporarily_unavailable';
// What the handler returns is known too.
if (error?.status === 404) error.value satisfies 'Not found';
// @ts-expect-error: only a route that requires a scope, or `authorize`, returns 403
if (error?.status === 403) throw error;

const denied = await reports.get();
if (denied.error?.status === 403) denied.error.value.error satisfies 'insufficient_scope' | 'access_denied';
if (denied.error?.status === 404) denied.error.value satisfies 'Not found';

// A schema of the application's own comes first.
const described = await own.get();
if (described.error?.status === 401) described.error.value satisfies 'Mine';

const plain = new Elysia().use(resourceServer(options, { responses: false })).get('/me', ({ claims }) => claims.iss);
const undescribed = await treaty<typeof plain>('http://localhost').me.get();
// @ts-expect-error: the responses are left out
if (undescribed.error?.status === 401) undescribed.error.value.error satisfies string;

const formatted = new Elysia()
  .use(resourceServer({ ...options, formatRejection: ({ description }) => ({ body: { title: description } }) }))
  .get('/me', ({ claims }) => claims.iss)
  .get('/reports', () => 'ok', { scope: 'read:reports' });
const titled = treaty<typeof formatted>('http://localhost');
const untitled = await titled.me.get();
if (untitled.error?.status === 401) untitled.error.value satisfies { readonly title: string };
// @ts-expect-error: the body is what formatRejection returns
if (untitled.error?.status === 503) untitled.error.value.error satisfies string;
const forbidden = await titled.reports.get();
if (forbidden.error?.status === 403) forbidden.error.value satisfies { readonly title: string };

// The guard carries the type of its format, with the statuses that it chooses.
const guard = createGuard({ ...options, formatRejection: ({ status }) => ({ status: status === 400 ? 401 : status }) });
const shared = new Elysia()
  .use(resourceServer(guard))
  .get('/me', ({ claims }) => claims.iss, { scope: 'read:reports' });
const response = await treaty<typeof shared>('http://localhost').me.get();
if (response.error?.status === 403) response.error.value.error satisfies string;
// @ts-expect-error: formatRejection returns no 400
if (response.error?.status === 400) throw response;

// The environment has no functions.
const fromEnvironment = new Elysia()
  .use(resourceServer(optionsFromEnvironment({})))
  .get('/me', ({ claims }) => claims.iss);
const usual = await treaty<typeof fromEnvironment>('http://localhost').me.get();
if (usual.error?.status === 503) usual.error.value.error satisfies 'temporarily_unavailable';

// Nothing is known of a guard whose format is not.
const anyGuard: Guard = guard;
const unknown = new Elysia()
  .use(resourceServer(anyGuard))
  .get('/me', ({ claims }) => claims.iss, { scope: 'read:reports' });
const nothing = await treaty<typeof unknown>('http://localhost').me.get();
// @ts-expect-error: it may be any body
if (nothing.error?.status === 401) nothing.error.value.error satisfies string;
