import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia, t } from 'elysia';
import type { Instance } from '../../../src/auth/elysia/instance.ts';
import { type GuardOptions, resourceServer } from '../../../src/auth/index.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/mint.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { SECRET } from './matrix/routes.ts';

/** The order of decisions, which the gate ensures without the seal. */
const secret = () => SECRET;
const guard = (options: Partial<GuardOptions> = {}) => resourceServer({ ...offline(), ...options });
const token = (claims: Record<string, unknown> = {}) => bearer(tokenOf({ claims }));
const request = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init);
const statuses = (app: AnyElysia, path: string, headers: readonly Record<string, string>[]) =>
  Promise.all(headers.map(async (each) => (await app.handle(request(path, { headers: each }))).status));

type Use = (app: AnyElysia) => AnyElysia;
/** Each time a new object, because Elysia changes it. */
const scopeA = (): object => ({ scope: 'a' });

/** Hooks of an application that send a response, as a cache or a maintenance page does. */
const early = () => 'cached';
const guardedRoute = (app: AnyElysia, options = {}) => app.use(guard()).get('/a', secret, { ...scopeA(), ...options });
const earlyResponses: Readonly<Record<string, Use>> = {
  'the route': (app) => guardedRoute(app, { beforeHandle: early }),
  'the route, named first': (app) => app.use(guard()).get('/a', secret, { beforeHandle: early, ...scopeA() }),
  'the instance, before the guard': (app) => guardedRoute(app.onBeforeHandle(early)),
  'the instance, after the guard': (app) => app.use(guard()).onBeforeHandle(early).get('/a', secret, scopeA()),
  'the parent': (app) => app.onBeforeHandle(early).use(guardedRoute(new Elysia(app.config))),
  'a plugin': (app) => guardedRoute(app.use(new Elysia().onBeforeHandle({ as: 'global' }, early))),
  'a macro': (app) => guardedRoute(app.macro({ cached: () => ({ beforeHandle: early }) }), { cached: true }),
};

describe('requirements are checked before any beforeHandle of the application', () => {
  for (const [name, create] of Object.entries(earlyResponses))
    for (const aot of [true, false])
      test(`of ${name}, with aot ${aot}`, async () => {
        const app = create(new Elysia({ aot }));
        expect(await statuses(app, '/a', [{}, token({ scope: 'b' })])).toEqual([401, 403]);
        expect(await (await app.handle(request('/a', { headers: token({ scope: 'a' }) }))).text()).toBe('cached');
      });
});

describe('the token is checked before the body', () => {
  const json = { 'content-type': 'application/json' };
  const neverEnds = (read: () => void) => {
    const pull = () => {
      read();
      return new Promise<void>(() => {});
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  };
  const bodies: Readonly<Record<string, (read: () => void) => RequestInit>> = {
    'malformed JSON': () => ({ body: '{', headers: json }),
    'malformed multipart': () => ({ body: '--', headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
    'a malformed cookie': () => ({ body: '{}', headers: { ...json, cookie: 'session=%E0%A4%A; a=b.forged' } }),
    'a body that never ends': (read) => ({ body: neverEnds(read), headers: json }),
  };
  const cookie = t.Cookie({ session: t.Optional(t.String()) }, { secrets: 'secret', sign: ['session'] });
  const posting = (aot: boolean, read = () => {}) =>
    new Elysia({ aot })
      .onParse(read)
      .use(guard())
      .post('/a', ({ body }) => body, { body: t.Any(), cookie });

  for (const aot of [true, false])
    for (const [name, bodyOf] of Object.entries(bodies))
      test(`${name}, with aot ${aot}`, async () => {
        let reads = 0;
        const read = () => void reads++;
        const response = await posting(aot, read).handle(request('/a', { method: 'POST', ...bodyOf(read) }));
        expect([response.status, reads]).toEqual([401, 0]);
      });

  test('a request does not wait for 100 MB', async () => {
    const app = posting(true).listen({ port: 0, hostname: '127.0.0.1' });
    const head = ['POST /a HTTP/1.1', 'Host: localhost', 'Connection: close', 'Content-Type: application/json'];
    const lines = [...head, 'Content-Length: 100000000'];
    const { status } = await rawRequest(`http://127.0.0.1:${app.server?.port}`, lines);
    await app.server?.stop(true);
    expect(status).toBe(401);
  });
});

/** What an application does to the hooks and the contexts of the gate. Every response is a 500 of the guard. */
const broken: Readonly<Record<string, Use>> = {
  'that removes the hooks of requests': (app) => {
    (app as unknown as Instance).event.request = undefined;
    return app;
  },
  'that replaces the request': (app) =>
    app.onRequest((context) => void Object.assign(context, { request: request('/a', { headers: token() }) })),
  'that decorates with a request': (app) => app.decorate('request', request('/a', { headers: token() })),
};

describe('an application fails closed', () => {
  for (const [name, change] of Object.entries(broken))
    test(name, async () => {
      const app = change(new Elysia().use(guard()).get('/a', secret));
      expect(await statuses(app, '/a', [{}, token()])).toEqual([500, 500]);
    });

  for (const aot of [true, false])
    for (const name of ['authorize', 'scope'])
      test(`with an exception of ${name}, which no client sees, with aot ${aot}`, async () => {
        const app = new Elysia({ aot }).use(guard()).get('/a', secret, { [name]: fails } as object);
        const response = await app.handle(request('/a', { headers: token() }));
        expect([response.status, await response.text()]).toEqual([500, 'Internal error']);
      });
});

function fails(): never {
  throw new Error(SECRET);
}

describe('without ahead-of-time compilation, the gate finds the route as Elysia does', () => {
  const app = new Elysia({ aot: false })
    .use(guard())
    .get('/a', secret)
    .get('/all/*', secret)
    .get('/b/:id?', secret)
    .ws('/ws', {});
  for (const [path, headers] of [
    ['/a?b=/c', {}],
    ['/a/', {}],
    ['/all/of/it?a', {}],
    ['/b?id', {}],
    ['/ws?upgrade', { upgrade: 'WebSocket', connection: 'upgrade' }],
  ] as const)
    test(path, async () => {
      const challenged = await app.handle(request(path, { headers }));
      expect([challenged.status, challenged.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    });
});
