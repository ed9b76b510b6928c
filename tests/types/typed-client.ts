import { treaty } from '@elysiajs/eden';
import { Elysia, t } from 'elysia';
import { resourceServer } from 'protected-api';

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
// @ts-expect-error: no rejection has this code
if (error?.status === 401) error.value.code satisfies 'not_found';
if (error?.status === 503) error.value.code satisfies 'key_set_unavailable' | 'replay_store_unavailable';
// What the handler returns is known too.
if (error?.status === 404) error.value satisfies 'Not found';
// @ts-expect-error: only a route that requires a scope, or `authorize`, returns 403
if (error?.status === 403) throw error;

const denied = await reports.get();
if (denied.error?.status === 403) denied.error.value.code satisfies 'Unauthorized';
if (denied.error?.status === 404) denied.error.value satisfies 'Not found';

// A schema of the application's own comes first.
const described = await own.get();
if (described.error?.status === 401) described.error.value satisfies 'Mine';

const plain = new Elysia().use(resourceServer(options, { responses: false })).get('/me', ({ claims }) => claims.iss);
const undescribed = await treaty<typeof plain>('http://localhost').me.get();
// @ts-expect-error: the responses are left out
if (undescribed.error?.status === 401) undescribed.error.value.code satisfies string;
