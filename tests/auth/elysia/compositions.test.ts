import { describe, expect, spyOn, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded, resourceServer } from '../../../src/auth/index.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { guard, request, statuses, token } from './guarded.ts';
import { loadCopy } from './matrix/load-copy.ts';
import { SECRET } from './matrix/routes.ts';
import { ask, serve } from './matrix/serve.ts';

const secret = () => SECRET;

type Use = (app: AnyElysia) => AnyElysia;

const wrapper = () => new Elysia().use(guard());
const scoped = ".as('scoped')";
const before = 'was added before the guard';
const macro = { scope: () => ({}) };

/** Elysia would leave /a open here, so nothing is built. The error names the mistake. */
const unservable: Readonly<Record<string, readonly [create: Use, says: string]>> = {
  'a route before the guard in a group': [
    (app) => app.group('/g', (group) => group.get('/a', secret).use(guard())),
    before,
  ],
  'a route before a guard callback': [(app) => app.guard({}, (inner) => inner.get('/a', secret).use(guard())), before],
  'an explicit HEAD before the guard': [(app) => app.head('/a', secret).use(guard()), `HEAD /a ${before}`],
  'a route before a wrapper that is scoped': [(app) => app.get('/a', secret).use(wrapper().as('scoped')), before],
  'a wrapper with a hook that is scoped': [(app) => app.use(wrapper().derive({ as: 'scoped' }, () => ({}))), scoped],
  'a wrapper in a guarded application': [(app) => app.use(guard()).use(wrapper()), scoped],
  'a wrapper in a group': [(app) => app.group('/g', (group) => group.use(wrapper())), scoped],
  'a macro named scope': [(app) => app.use(guard()).macro(macro).get('/a', secret), 'Rename the macro'],
  'a plugin with such a macro': [(app) => app.use(guard()).use(new Elysia().macro(macro)).get('/a', secret), 'Rename'],
  'an unset scope in a plugin without the guard': [
    (app) => app.use(guard()).use(new Elysia().guard({ as: 'scoped', ...{ scope: undefined } })),
    'guard({ scope }) has no effect',
  ],
  'no call of resourceServer': [(app) => app.use(resourceServer as never), 'Call it: resourceServer(options)'],
};

describe('what Elysia would leave open is not served', () => {
  test.each(Object.entries(unservable))('%s', async (_, [create, says]) => {
    const app: AnyElysia = new Elysia();
    expect(() => create(app)).toThrow(says);
    for (const path of ['/a', '/g/a']) expect(await statuses(app, path, [{}])).not.toContain(200);
  });

  for (const aot of [true, false])
    test(`isGuarded describes the route that responds, not another one with the same path, with aot ${aot}`, async () => {
      const guarded = () => new Elysia({ aot }).use(guard()).get('/a', secret);
      const open = () => new Elysia({ aot }).get('/a', () => 'open');
      for (const plugins of [() => [guarded(), open()], () => [open(), guarded()]])
        for (const form of ['fetch', 'listen']) {
          const app = new Elysia().use(plugins());
          const service = serve(app, form);
          const { status, body } = await ask(service, '/a');
          await service.close();
          expect(body).not.toContain(SECRET);
          if (status === 200) expect(app.routes.filter(isGuarded)).toEqual([]);
        }
    });
});

describe('two guards in one application', () => {
  const plain = (path: string) => new Elysia().use(guard()).get(path, secret, { scope: 'a' });
  const prefixed = (path: string, scope: string | (() => string) = 'a') =>
    new Elysia().use(guard({ scopePrefix: 'x/' })).get(path, secret, { scope });
  const clients = () => ['a', 'x/a', 'a x/a'].map((scope) => token({ scope }));

  test('check the scopes of their own routes', async () => {
    const both = [plain('/plain'), prefixed('/prefixed')];
    for (const plugins of [both, both.toReversed()]) {
      const app = new Elysia().use(plugins);
      expect(await statuses(app, '/plain', clients())).toEqual([200, 403, 200]);
      expect(await statuses(app, '/prefixed', clients())).toEqual([403, 200, 200]);
    }
  });

  test.each([['a'], [() => 'a']])('both check the routes that both guard, with the scope %p', async (scope) => {
    const app = new Elysia().use(guard()).use(prefixed('/a', scope));
    expect(await statuses(app, '/a', clients())).toEqual([403, 403, 200]);
  });

  for (const [name, inner, times] of [
    ['nothing', () => ({}), 1],
    ['onAccepted', (verified: () => void) => ({ onAccepted: () => verified() }), 2],
    ['onRefused', () => ({ onRefused() {} }), 2],
    ['clockToleranceSeconds', () => ({ clockToleranceSeconds: 1 }), 2],
  ] as const)
    test(`verify a token ${times} times where they differ in ${name}`, async () => {
      let count = 0;
      const onAccepted = () => void count++;
      const nested = new Elysia().use(guard({ onAccepted, ...inner(onAccepted) })).get('/a', secret);
      expect(await statuses(new Elysia().use(guard({ onAccepted })).use(nested), '/a', [token()])).toEqual([200]);
      expect(count).toBe(times);
    });

  /** Elysia drops a plugin whose name and seed have the same checksum as those of another, which is found in a second. */
  test('are both called, because they have no name', async () => {
    expect(guard().config.name).toBeUndefined();
    const nested = new Elysia().use(guard({ audience: 'inner' })).get('/a', secret);
    const tokens = ['outer', 'inner', ['outer', 'inner']].map((aud) => token({ aud }));
    const app = new Elysia().use(guard({ audience: 'outer' })).use(nested);
    expect(await statuses(app, '/a', tokens)).toEqual([401, 401, 200]);
  });
});

test.each<[string, (inner: AnyElysia) => AnyElysia]>([
  ['an application', (inner) => new Elysia().use(inner)],
  ['an application that uses it asynchronously', (inner) => new Elysia().use(async () => inner)],
])('a guard that comes after a route closes it in the instance and in %s', async (_name, use) => {
  const inner = new Elysia().get('/a', secret);
  const app = use(inner);
  await app.modules;
  expect(() => inner.use(guard())).toThrow('GET /a was added before the guard');
  expect([await statuses(inner, '/a', [{}]), await statuses(app, '/a', [{}])]).toEqual([[500], [500]]);
});

test('a guard that is added after a route closes it in an application that already listens', async () => {
  const app = new Elysia().get('/a', secret).get('/b', new Response(SECRET));
  app.listen({ port: 0, hostname: '127.0.0.1' });
  const paths = ['/a', '/b'];
  const ask = () => Promise.all(paths.map(async (path) => (await fetch(new URL(path, app.server?.url))).status));
  expect(await ask()).toEqual([200, 200]);
  expect(() => app.use(guard())).toThrow('GET /a was added before the guard');
  expect(await ask()).toEqual([500, 500]);
  await app.stop(true);
});

test('one Request that is handled twice at once is served twice', async () => {
  const app = new Elysia().use(guard()).get('/a', secret);
  const twice = request('/a', { headers: token() });
  const responses = await Promise.all([app.handle(twice), app.handle(twice)]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
});

/** What an application of another copy of Elysia uses, and the responses without a token and with the scope `a`. */
const foreign: Readonly<Record<string, readonly [(Copy: typeof Elysia) => unknown, number, number, object?]>> = {
  'the plugin': [() => guard(), 401, 200],
  'the plugin, and a scope': [() => guard(), 401, 403, { scope: 'b' }],
  'the plugin, and a function': [() => guard(), 401, 403, { authorize: () => false, beforeHandle: () => SECRET }],
  'a wrapper': [(Copy) => new Copy().use(guard()).as('scoped'), 401, 200],
  'a function that uses it': [() => (app: AnyElysia) => app.use(guard()), 401, 200],
  'a promised plugin': [async () => guard(), 500, 500],
  'a module': [async () => ({ default: guard() }), 500, 500],
  'a function that returns it asynchronously': [() => async () => guard(), 500, 500],
  'a wrapper of the first copy': [() => wrapper().as('scoped'), 500, 500],
  'a promised wrapper of the first copy': [async () => wrapper().as('scoped'), 500, 500],
};

describe('an application of another copy of Elysia', () => {
  for (const aot of [true, false])
    for (const [name, [create, ...expected]] of Object.entries(foreign))
      test(`that uses ${name}, with aot ${aot}, serves no request without a decision`, async () => {
        const logged = spyOn(console, 'error').mockImplementation(() => {});
        const Copy = loadCopy();
        expect(Copy).not.toBe(Elysia);
        const [withoutToken, withToken, route = {}] = expected;
        const app = new Copy({ aot }).use(create(Copy) as AnyElysia).get('/a', secret, route);
        await app.modules;
        expect(await statuses(app, '/a', [{}, token({ scope: 'a' })])).toEqual([withoutToken, withToken]);
        logged.mockRestore();
      });
});

const needed = { scope: 'b' };
/** What a plugin of another copy does before that copy is met, and after. */
const lives: Readonly<Record<string, readonly [early: Use, late: Use | undefined, isServed: boolean]>> = {
  'without guard()': [(plugin) => plugin, undefined, true],
  'that calls guard() late': [(plugin) => plugin, (plugin) => plugin.guard({ detail: {} }).as('scoped'), true],
  'that called guard()': [(plugin) => plugin.guard({ as: 'scoped', ...needed }), undefined, false],
  'that called guard(), and is scoped late': [(plugin) => plugin.guard(needed), (plugin) => plugin.as('scoped'), false],
  'that called guard(), and is used by another': [
    (plugin) => plugin.guard({ as: 'global', ...needed }),
    (plugin) => new (plugin.constructor as typeof Elysia)().use(plugin).as('scoped'),
    false,
  ],
};

for (const [name, arrives] of Object.entries({
  used: (plugin: AnyElysia) => plugin,
  promised: async (plugin: AnyElysia) => plugin,
  imported: async (plugin: AnyElysia) => ({ default: plugin }),
  'returned by an async function': (plugin: AnyElysia) => async () => plugin,
}))
  test.each(Object.entries(lives))(
    `a plugin of another copy of Elysia that is ${name}, %s, is served if its requirements are known`,
    async (_, life) => {
      const [early, late = (plugin) => plugin, isServed] = life;
      for (const aot of [true, false])
        for (const isMet of life[1] ? [true] : [false, true]) {
          const logged = spyOn(console, 'error').mockImplementation(() => {});
          const Copy = loadCopy();
          const plugin = early(new Copy({ aot }));
          const app = new Elysia({ aot }).use(guard()) as AnyElysia;
          if (isMet) app.use(new Copy({ aot }));
          try {
            app.use(arrives(late(plugin)) as AnyElysia);
          } catch (error) {
            expect(error).toMatchObject({ message: expect.stringContaining('another copy of Elysia called guard()') });
          }
          app.get('/a', secret);
          await app.modules;
          expect(await statuses(app, '/a', [{}, token()])).toEqual(isServed ? [401, 200] : [500, 500]);
          logged.mockRestore();
        }
    },
  );

test('a plugin of the same copy of Elysia is served, even if it called guard() before a guard met that copy', async () => {
  const Copy = loadCopy();
  const plugin = new Copy().guard({ as: 'scoped', detail: {} });
  const app = new Copy().use(guard()).use(plugin).get('/a', secret);
  expect(await statuses(app, '/a', [{}, token()])).toEqual([401, 200]);
});

test('a mounted application compares proofs with publicUrl, which contains the mount, and the path without it', async () => {
  const { options, token: issue, proof } = await createTestIssuer();
  const publicUrl = 'https://api.example.test/v1';
  const inner = new Elysia().use(resourceServer({ ...options, dpop: 'on', publicUrl })).get('/a', secret);
  const app = new Elysia().mount('/v1', inner.fetch);
  const bound = await issue({}, { boundTo: 'dpop' });
  const statusOf = async (url: string) => {
    const headers = { authorization: `DPoP ${bound}`, dpop: await proof({ method: 'GET', url }, bound) };
    return (await app.handle(request('/v1/a', { headers }))).status;
  };
  expect(await statusOf(`${publicUrl}/a`)).toBe(200);
  expect(await statusOf('https://api.example.test/a')).toBe(401);
});
