import { describe, expect, spyOn, test } from 'bun:test';
import { openapi } from '@elysia/openapi';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { guard, send, statuses, token } from './guarded.ts';
import { serve } from './matrix/serve.ts';

/** Routes that are added before the guard: public if the guard says so, or has an optional token. */
const ok = () => 'ok';
const declaring = () => guard({}, { publicBefore: true });
const wrapper = () => new Elysia().use(declaring()).as('scoped');
const lazy = async () => new Elysia().get('/lazy', ok);

type Build = (app: AnyElysia) => AnyElysia;

/** The public routes of each application, and those that a guard reaches. */
const declared: Readonly<Record<string, readonly [Build, open: readonly string[], guarded?: readonly string[]]>> = {
  'a route': [(app) => app.get('/open', ok).use(declaring()).get('/later', ok), ['/open']],
  'two routes': [(app) => app.get('/', ok).get('/open/:id', ok).use(declaring()).get('/later', ok), ['/', '/open/7']],
  'a value': [(app) => app.get('/open', 'ok').use(declaring()).get('/later', ok), ['/open']],
  'a mount': [
    (app) =>
      app
        .mount('/open', () => new Response('ok'))
        .use(declaring())
        .get('/later', ok),
    ['/open'],
  ],
  'a group': [
    (app) =>
      app
        .group('/g', (g) => g.get('/open', ok))
        .use(declaring())
        .get('/later', ok),
    ['/g/open'],
  ],
  'an instance': [
    (app) =>
      app
        .use(new Elysia({ prefix: '/i' }).get('/open', ok))
        .use(declaring())
        .get('/later', ok),
    ['/i/open'],
  ],
  'a guard in a group': [
    (app) => app.group('/g', (group) => group.get('/open', ok).use(declaring()).get('/later', ok)),
    ['/g/open'],
    ['/g/later'],
  ],
  'a guard in an instance': [
    (app) => app.use(new Elysia({ prefix: '/i' }).get('/open', ok).use(declaring()).get('/later', ok)),
    ['/i/open'],
    ['/i/later'],
  ],
  'a scoped instance': [(app) => app.get('/open', ok).use(wrapper()).get('/later', ok), ['/open']],
  'a scoped instance with a route': [
    (app) =>
      app
        .get('/open', ok)
        .use(new Elysia().get('/own', ok).use(wrapper()).get('/inner', ok).as('scoped'))
        .get('/later', ok),
    ['/open', '/own'],
    ['/later', '/inner'],
  ],
  'a plugin that is loaded later': [
    (app) => app.get('/open', ok).use(lazy()).use(declaring()).get('/later', ok),
    ['/open'],
    ['/later', '/lazy'],
  ],
  'a route after a plugin that is loaded later': [
    (app) => app.use(lazy()).get('/open', ok).use(declaring()).get('/later', ok),
    ['/open'],
    ['/later', '/lazy'],
  ],
  'a route after an async function': [
    (app) =>
      app
        .use(async (given: AnyElysia) => given.get('/lazy', ok))
        .get('/open', ok)
        .use(declaring())
        .get('/later', ok),
    ['/open', '/lazy'],
    ['/later'],
  ],
  'an imported plugin that is loaded later': [
    (app) =>
      app
        .get('/open', ok)
        .use(lazy().then((plugin) => ({ default: plugin })))
        .use(declaring())
        .get('/later', ok),
    ['/open'],
    ['/later', '/lazy'],
  ],
  'a function that is called later': [
    (app) =>
      app
        .get('/open', ok)
        .use(declaring())
        .use(async (given: AnyElysia) => given.get('/lazy', ok))
        .get('/later', ok),
    ['/open'],
    ['/later', '/lazy'],
  ],
  'a scoped guard that is loaded later, and is there already': [
    (app) =>
      app
        .get('/open', ok)
        .use((async () => new Elysia().use(declaring()).get('/own', ok).as('scoped'))())
        .use(declaring())
        .get('/later', ok),
    ['/open'],
    ['/later', '/own'],
  ],
};

describe('with publicBefore, what an instance has before the guard is public, and nothing else', () => {
  for (const aot of [true, false])
    for (const form of ['handle', 'listen'])
      for (const [name, [build, open, guarded = ['/later']]] of Object.entries(declared))
        test(`${name}, through ${form} with aot ${aot}`, async () => {
          const app = build(new Elysia({ aot }));
          await app.modules;
          const service = serve(app, form);
          const statusesOf = (paths: readonly string[], headers: Record<string, string> = {}) =>
            Promise.all(paths.map(async (path) => (await service.send(path, { headers })).status));
          expect([await statusesOf(open), await statusesOf(guarded)]).toEqual([
            open.map(() => 200),
            guarded.map(() => 401),
          ]);
          expect(await statusesOf([...open, ...guarded], token())).toEqual([...open, ...guarded].map(() => 200));
          expect(app.routes.filter(isGuarded).map(({ path }) => path)).toEqual(expect.arrayContaining([...guarded]));
          expect(app.routes.filter(isGuarded)).toHaveLength(guarded.length);
          await service.close();
        });

  test('and documents have no security for it', async () => {
    const app = new Elysia().use(openapi()).get('/open', ok).use(declaring()).get('/later', ok);
    const { paths } = (await (await send(app, '/openapi/json')).json()) as { paths: Record<string, { get: object }> };
    expect([paths['/open']?.get, paths['/later']?.get]).toEqual([
      expect.not.objectContaining({ security: expect.anything() }),
      expect.objectContaining({ security: expect.anything() }),
    ]);
  });
});

test('an optional guard leaves what was there before it, and rejects nothing', async () => {
  for (const optional of [
    () => guard({}, { optional: true }),
    () => new Elysia().use(guard({}, { optional: true })).as('scoped'),
  ]) {
    const app = new Elysia()
      .get('/open', ok)
      .use(optional())
      .get('/later', ok)
      .get('/own', ok, { scope: 'a' } as object);
    expect(await statuses(app, '/open', [{}, token(), { authorization: 'x' }])).toEqual([200, 200, 200]);
    expect(await statuses(app, '/later', [{}, token(), { authorization: 'x' }])).toEqual([200, 200, 401]);
    expect(await statuses(app, '/own', [{}, token({ scope: 'a' })])).toEqual([401, 200]);
    expect(app.routes.filter(isGuarded).map(({ path }) => path)).toEqual(['/own']);
  }
});

const scope = { scope: 'a' } as object;
const rejected: Readonly<Record<string, readonly [Build, says: string]>> = {
  'a route that requires a scope': [(app) => app.get('/a', ok, scope).use(declaring()), 'scope has no effect before'],
  'a route that requires a scope, before an optional guard': [
    (app) => app.get('/a', ok, scope).use(guard({}, { optional: true })),
    'scope has no effect before the guard',
  ],
  'a route whose option is misspelt': [
    (app) => app.get('/a', ok, { scopes: 'a' } as object).use(declaring()),
    'scopes is not a route option. Did you mean scope?',
  ],
  'a route whose requirement comes from the macros of another plugin': [
    (app) => app.use(new Elysia().use(guard()).get('/own', ok)).get('/a', ok, scope).use(declaring()),
    'scope has no effect before the guard',
  ],
  'a route whose requirement comes from a group': [
    (app) =>
      app
        .use(new Elysia().use(guard()).get('/own', ok))
        .guard(scope, (group) => group.get('/a', ok))
        .use(declaring()),
    'scope has no effect before the guard',
  ],
  'a route that a guarded one has the path of': [
    (app) => app.get('/a/:id', ok).use(declaring()).get('/a/:name?', ok),
    'GET /a/:id is open, and Elysia may serve it in place of GET /a/:name?, which is guarded',
  ],
  'a second guard without it': [
    (app) =>
      app
        .get('/a', ok)
        .use(declaring())
        .use(guard({ audience: 'other' })),
    'would stay open: GET /a. If',
  ],
  'its value in quotes': [(app) => app.get('/a', ok).use(guard({}, { publicBefore: 'true' })), 'publicBefore must be'],
};

describe('with publicBefore, this is rejected all the same', () => {
  test.each(Object.entries(rejected))('%s', async (_, [build, says]) => {
    const app: AnyElysia = new Elysia();
    expect(() => build(app)).toThrow(says);
    if (!says.startsWith('publicBefore')) expect(await statuses(app, '/a', [{}])).not.toContain(200);
  });

  const promised: Readonly<Record<string, (app: AnyElysia) => AnyElysia>> = {
    'an instance': (app) => app.use((async () => declaring())()),
    'a module': (app) => app.use((async () => ({ default: declaring() }))() as never),
    'a scoped instance': (app) => app.use((async () => wrapper())()),
    'a function': (app) =>
      app.use(async (given: AnyElysia) => {
        await Promise.resolve();
        return given.use(declaring());
      }),
    'the plugin of a plugin': (app) => app.use(new Elysia().use((async () => wrapper())()).get('/own', ok)),
  };
  test.each(Object.entries(promised))('routes after a guard that is loaded later: %s', async (_, load) => {
    const logged = spyOn(console, 'error').mockImplementation(() => {});
    const app = load(new Elysia().get('/open', ok)).get('/later', ok);
    await app.modules;
    expect(String(logged.mock.calls[0])).toMatch(
      /would stay open: GET \/\w+\. A plugin before .* write \.use\(await \.\.\.\)/,
    );
    logged.mockRestore();
    for (const path of ['/later', '/own']) expect(await statuses(app, path, [{}])).not.toContain(200);
  });
});

test('without it, the error lists the routes with their paths', () => {
  const app = new Elysia({ prefix: '/v1' })
    .get('/health', ok)
    .use(new Elysia({ prefix: '/auth' }).post('/login', ok).ws('/events', {}))
    .group('/docs', (group) => group.get('/', ok));
  expect(() => app.use(guard())).toThrow(
    'GET /v1/health, POST /v1/auth/login, WS /v1/auth/events, GET /v1/docs/. If they are public, write resourceServer(guard, { publicBefore: true }).',
  );
  const large = Array.from({ length: 12 }).reduce<AnyElysia>((each, _, at) => each.get(`/r${at}`, ok), new Elysia());
  expect(() => large.use(guard())).toThrow('GET /r9 and 2 more. If');
});
