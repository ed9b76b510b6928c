import { openapi } from '@elysia/openapi';
import { cors } from '@elysiajs/cors';
import { type AnyElysia, Elysia, t } from 'elysia';
import type { PluginSettings } from '../../../src/auth/elysia.ts';

/*
 * Applications as people write them, in small: which plugins they use in which order, how they group routes, and which
 * routes their authors meant to be public. Each step is one statement of the file that puts the application together.
 */

/** What no request without a good token may get. */
export const SECRET = 'for the reader only';
const secret = () => SECRET;
const open = () => 'public';

/** A route as its author meant it: public, private, or with the scope that it requires. */
type Meant = readonly [route: string, meant: 'public' | 'private' | 'optional' | { readonly scope: string }];

export interface Step {
  readonly add: (app: AnyElysia) => AnyElysia;
  readonly routes?: readonly Meant[];
  /** Whether this step adds the guard to the instance that the next steps add to, and declares the routes before. */
  readonly guard?: 'strict' | 'publicBefore' | 'optional';
}

interface Application {
  readonly config?: object;
  /** Whether Elysia would lose the guard in the order of the author. */
  readonly isRejected?: boolean;
  readonly steps: readonly Step[];
}

/** Returns a new plugin with the guard. */
export type Guard = (settings?: PluginSettings) => AnyElysia;

const scope = (name: string) => ({ scope: name }) as object;
const use = (plugin: () => unknown, ...routes: readonly Meant[]): Step => ({
  add: (app) => app.use(plugin() as AnyElysia),
  routes,
});
const publicThen = (guard: Guard): Step => ({
  guard: 'publicBefore',
  add: (app) => app.use(guard({ publicBefore: true })),
});
const health = use(() => new Elysia().get('/health', open), ['GET /health', 'public']);
const instance = (options: object = {}): AnyElysia => new Elysia(options);

export const applications = (guard: Guard): Readonly<Record<string, Application>> => ({
  'a blog whose controllers have the guard': {
    steps: [
      use(cors),
      use(openapi, ['GET /openapi', 'public']),
      health,
      {
        add: (app) =>
          app.group('/api', (api) =>
            api
              .use(instance({ prefix: '/users' }).post('/login', open))
              .use(instance({ prefix: '/user' }).use(guard()).get('/', secret).put('/', secret, scope('write'))),
          ),
        routes: [
          ['POST /api/users/login', 'public'],
          ['GET /api/user', 'private'],
          ['PUT /api/user', { scope: 'write' }],
        ],
      },
    ],
  },
  'a chat with sockets and a guard for all that follows': {
    steps: [
      use(cors),
      health,
      publicThen(guard),
      {
        add: (app) => app.ws('/chat', { open: (socket) => void socket.send(SECRET), message() {} }),
        routes: [['WS /chat', 'private']],
      },
      { add: (app) => app.get('/rooms', secret), routes: [['GET /rooms', 'private']] },
    ],
  },
  'streams of a model': {
    steps: [
      use(openapi, ['GET /openapi/json', 'public']),
      publicThen(guard),
      {
        add: (app) =>
          app.post(
            '/chat/completions',
            async function* () {
              yield SECRET;
            },
            scope('chat'),
          ),
        routes: [['POST /chat/completions', { scope: 'chat' }]],
      },
      { add: (app) => app.get('/models', () => new Response(SECRET)), routes: [['GET /models', 'private']] },
    ],
  },
  'an admin panel with static files': {
    steps: [
      { add: (app) => app.get('/', open).get('/assets/*', open), routes: [['GET /assets/app.js', 'public']] },
      use(
        () =>
          instance({ prefix: '/admin' })
            .use(guard())
            .guard(scope('admin'))
            .get('/users', secret)
            .delete('/users/:id', secret),
        ['GET /admin/users', { scope: 'admin' }],
        ['DELETE /admin/users/7', { scope: 'admin' }],
      ),
      { add: (app) => app.get('*', open), routes: [['GET /anything', 'public']] },
    ],
  },
  'a boilerplate without ahead-of-time compilation': {
    config: { aot: false },
    steps: [
      use(cors),
      health,
      publicThen(guard),
      {
        add: (app) => app.group('/v1', (v1) => v1.get('/items', secret).get('/items/:id', secret, scope('read'))),
        routes: [
          ['GET /v1/items', 'private'],
          ['GET /v1/items/7', { scope: 'read' }],
        ],
      },
    ],
  },
  'functions as plugins': {
    steps: [
      health,
      publicThen(guard),
      use(() => (app: AnyElysia) => app.group('/users', (users) => users.get('/', secret)), ['GET /users', 'private']),
      use(() => (app: AnyElysia) => app.get('/orders', secret, scope('orders')), ['GET /orders', { scope: 'orders' }]),
    ],
  },
  'functions that return an instance, called': {
    steps: [
      health,
      publicThen(guard),
      use(() => instance({ prefix: '/posts' }).get('/', secret), ['GET /posts', 'private']),
      use(
        () =>
          instance()
            .derive(() => ({ now: 0 }))
            .get('/me', secret),
        ['GET /me', 'private'],
      ),
    ],
  },
  'functions that return an instance, not called': {
    isRejected: true,
    steps: [
      health,
      publicThen(guard),
      use(() => () => instance().get('/lost', secret), ['GET /lost', 'private']),
      { add: (app) => app.get('/me', secret), routes: [['GET /me', 'private']] },
    ],
  },
  'a named plugin with the user, in two controllers': {
    steps: [
      use(openapi, ['GET /openapi', 'public']),
      ...['notes', 'tags'].map((name) =>
        use(
          () =>
            instance({ prefix: `/${name}` })
              .use(
                instance({ name: 'auth' })
                  .use(guard())
                  .derive(() => ({ user: 'reader' }))
                  .as('scoped'),
              )
              .get('/', secret, scope(name)),
          [`GET /${name}`, { scope: name }],
        ),
      ),
      health,
    ],
  },
  'a macro of the application': {
    steps: [
      health,
      publicThen(guard),
      { add: (app) => app.macro({ owner: () => ({ beforeHandle() {} }), audited: { resolve: () => ({}) } }) },
      {
        add: (app) => app.get('/files/:id', secret, { owner: true, audited: true, scope: 'files' } as object),
        routes: [['GET /files/7', { scope: 'files' }]],
      },
    ],
  },
  'modules that are loaded later': {
    steps: [
      health,
      publicThen(guard),
      use(() => Promise.resolve({ default: instance().get('/reports', secret) }), ['GET /reports', 'private']),
      use(
        () => async (app: AnyElysia) => app.get('/exports', secret, scope('export')),
        ['GET /exports', { scope: 'export' }],
      ),
    ],
  },
  'a service with models, state and schemas': {
    config: { prefix: '/v1', normalize: true },
    steps: [
      {
        add: (app) =>
          app
            .state('version', 1)
            .decorate('db', {})
            .model({ item: t.Object({ name: t.String() }) }),
      },
      { add: (app) => app.get('/status', open), routes: [['GET /v1/status', 'public']] },
      publicThen(guard),
      {
        add: (app) =>
          app.guard({ headers: t.Object({ 'x-own': t.Optional(t.String()) }) }, (inner) =>
            inner.post('/items', secret, { scope: 'write', parse: 'text' } as object),
          ),
        routes: [['POST /v1/items', { scope: 'write' }]],
      },
    ],
  },
  'another handler mounted beside the API': {
    steps: [
      { add: (app) => app.mount('/auth', () => new Response('public')), routes: [['GET /auth/session', 'public']] },
      { add: (app) => app.onError(() => 'failed').trace(() => {}) },
      publicThen(guard),
      { add: (app) => app.mount('/internal', () => new Response(SECRET)), routes: [['GET /internal/a', 'private']] },
      { add: (app) => app.get('/me', secret), routes: [['GET /me', 'private']] },
    ],
  },
  'a feed for everybody, and drafts': {
    steps: [
      health,
      { guard: 'optional', add: (app) => app.use(guard({ optional: true })) },
      { add: (app) => app.get('/feed', open), routes: [['GET /feed', 'optional']] },
      { add: (app) => app.get('/drafts', secret, scope('write')), routes: [['GET /drafts', { scope: 'write' }]] },
    ],
  },
  'loggers, limits and request IDs': {
    steps: [
      use(() =>
        instance()
          .onRequest(({ set }) => void Object.assign(set.headers, { 'x-request-id': '1' }))
          .as('global'),
      ),
      use(() =>
        instance()
          .onAfterResponse(() => {})
          .as('global'),
      ),
      use(() =>
        instance()
          .onBeforeHandle(() => {})
          .as('global'),
      ),
      health,
      publicThen(guard),
      { add: (app) => app.all('/proxy/*', secret), routes: [['GET /proxy/a', 'private']] },
    ],
  },
});
