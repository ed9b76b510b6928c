import { treaty } from '@elysia/eden';
import { Elysia, t } from 'elysia';
import {
  createGuard,
  type Guard,
  type GuardOptions,
  guardResponses,
  resourceServer,
  scopeResponses,
} from 'protected-api/elysia';

/**
 * Nothing here is run. The compiler checks typed clients, with the sources and with the declarations in the tarball.
 */
const options = { issuer: 'https://issuer.example.test/', audience: 'https://api.example.test' };
const app = new Elysia()
  .use(resourceServer(options))
  .get('/me', ({ claims, status }) => (claims.sub === 'nobody' ? status(404, 'Not found') : { known: true }))
  .get('/own', ({ claims, status }) => (claims.sub === 'nobody' ? status(401, 'Mine') : 'ok'), {
    response: { 200: t.String(), 401: t.Literal('Mine') },
  })
  .get('/declared', () => 'ok', {
    response: { 200: t.String(), ...guardResponses, ...scopeResponses },
    scope: 'read:messages',
  })
  .get('/messages', () => 'ok', { scope: 'read:messages' });
const { me, own, declared, messages } = treaty<typeof app>('http://localhost');

// Only what a route declares or returns is known, so a guard costs the compiler next to nothing.
const { error } = await me.get();
if (error?.status === 404) error.value satisfies 'Not found';
// @ts-expect-error: the route does not declare the rejections
if (error?.status === 401) throw error;
const silent = await messages.get();
// @ts-expect-error: it may be any body
if (silent.error?.status === 401) silent.error.value.error satisfies string;

const rejected = await declared.get();
// @ts-expect-error: no rejection has this error
if (rejected.error?.status === 401) rejected.error.value.error satisfies 'not_found';
if (rejected.error?.status === 503) rejected.error.value.error satisfies 'temporarily_unavailable';
if (rejected.error?.status === 403) rejected.error.value.error satisfies 'insufficient_scope';

const described = await own.get();
if (described.error?.status === 401) described.error.value satisfies 'Mine';

// An application that gets its options as a parameter has the same types.
const createApp = (given: GuardOptions) =>
  new Elysia()
    .use(resourceServer(given))
    .get('/declared', () => 'ok', { response: { 200: t.String(), ...guardResponses }, scope: 'read:messages' });
const parameterized = await treaty(createApp(options)).declared.get();
parameterized.data satisfies string | null;
if (parameterized.error?.status === 401) parameterized.error.value.error satisfies 'missing_token' | 'invalid_token';
// @ts-expect-error: no rejection has this error
if (parameterized.error?.status === 401) parameterized.error.value.error satisfies 'not_found';

// @ts-expect-error: the audience is missing
resourceServer({ issuer: options.issuer });

// A guard has one type, whatever it returns for rejections.
const formatted = createGuard({ ...options, formatRejection: ({ description }) => ({ body: { title: description } }) });
formatted satisfies Guard;
