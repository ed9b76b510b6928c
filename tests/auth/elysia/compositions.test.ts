import { describe, expect, spyOn, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { type GuardOptions, isGuarded, resourceServer } from '../../../src/auth/index.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { offline, tokenOf } from '../../support/checked.ts';
import { bearer } from '../../support/mint.ts';
import { loadCopy } from './matrix/load-copy.ts';
import { SECRET } from './matrix/routes.ts';
import { ask, serve } from './matrix/serve.ts';

const secret = () => SECRET;
const shared = offline();
const guard = (options: Partial<GuardOptions> = {}) => resourceServer({ ...shared, ...options });
const token = (claims: Record<string, unknown> = {}) => bearer(tokenOf({ claims }));
const request = (path: string, init: RequestInit = {}) => new Request(`http://localhost${path}`, init);
const statuses = (app: AnyElysia, path: string, headers: readonly Record<string, string>[]) =>
  Promise.all(headers.map(async (each) => (await app.handle(request(path, { headers: each }))).status));

const forms = ['handle', 'fetch', 'listen'];

/** Builds an application, which may throw, and sends it a request in one form. Status 0 means no response. */
async function attempt(form: string, create: () => AnyElysia, path: string) {
  let app: AnyElysia;
  try {
    app = create();
    await app.modules;
  } catch (error) {
    if (error instanceof TypeError) throw error;
    return { status: 0, body: '', thrown: String(error) };
  }
  const service = serve(app, form);
  const { status, body } = await ask(service, path);
  await service.close();
  if (status === 200) expect(app.routes.filter((route) => route.path === path && isGuarded(route))).toEqual([]);
  return { status, body, thrown: service.thrown };
}

type Use = (app: AnyElysia) => AnyElysia;

/** An application that would leave /a open, a part of its error message, and the path of the route if it is not /a. */
type Unservable = readonly [name: string, create: Use, says?: string, path?: string];

const wrapper = () => new Elysia().use(guard());
const scoped = ".as('scoped')";
const user = () => ({ user: 1 });
const inGroup =
  (build: Use): Use =>
  (app) =>
    app.group('/g', build);

/** Elysia would leave /a open here. It is not served, and the error names the mistake. */
const unservable: readonly Unservable[] = [
  ['a route before the guard', (app) => app.get('/a', secret).use(guard()), 'GET /a'],
  ['a route before the guard in a group', inGroup((group) => group.get('/a', secret).use(guard())), '/a', '/g/a'],
  ['a route before a guard callback', (app) => app.guard({}, (inner) => inner.get('/a', secret).use(guard())), '/a'],
  ['an explicit HEAD before the guard', (app) => app.head('/a', secret).use(guard()), '/a'],
  ['a route before a wrapper that is scoped', (app) => app.get('/a', secret).use(wrapper().as('scoped')), '/a'],
  [
    'a wrapper that is not scoped',
    (app) => app.use(wrapper().derive({ as: 'scoped' }, user)).get('/a', secret),
    scoped,
  ],
  ['a wrapper in a guarded application', (app) => app.use(guard()).use(wrapper()).get('/a', secret), scoped],
  [
    'a macro named scope',
    (app) =>
      app
        .use(guard())
        .macro({ scope: () => ({}) } as never)
        .get('/a', secret),
    'Rename the macro',
  ],
  [
    'a macro named scope of a plugin',
    (app) =>
      app
        .use(guard())
        .use(new Elysia().macro({ scope: () => ({}) }))
        .get('/a', secret),
    'Rename the macro',
  ],
  [
    'no call of resourceServer',
    (app) => app.use(resourceServer as never).get('/a', secret),
    'Call it: resourceServer(options)',
  ],
  ['a wrapper in a group', inGroup((group) => group.use(wrapper()).get('/a', secret)), scoped, '/g/a'],
  ['a wrapper of a wrapper', (app) => app.use(new Elysia().use(wrapper().as('scoped'))).get('/a', secret), scoped],
  [
    'a wrapper in the first of two applications',
    (app) => {
      const plugin = guard();
      app.use(new Elysia().use(plugin)).get('/a', secret);
      new Elysia().use(plugin).get('/b', secret);
      return app;
    },
  ],
  [
    'a wrapper that is mounted',
    (app) => app.mount('/m', new Elysia().use(wrapper()).get('/a', secret).fetch),
    '',
    '/m/a',
  ],
  [
    'a wrapper and a route added after the first request',
    (app) => {
      void app.use(wrapper()).handle(request('/first'));
      return app.get('/a', secret).compile();
    },
  ],
];

describe('what Elysia would leave open is not served', () => {
  for (const [name, create, says = '', path = '/a'] of unservable)
    for (const form of forms)
      test(`${name}, through ${form}`, async () => {
        const logged = spyOn(console, 'error').mockImplementation(() => {});
        const { status, body, thrown } = await attempt(form, () => create(new Elysia()), path);
        const said = [body, thrown, ...logged.mock.calls.flat()].join();
        logged.mockRestore();
        expect(body).not.toContain(SECRET);
        expect([0, 500]).toContain(status);
        expect(said).toContain(says);
        if (form !== 'listen' && status === 500) expect(body).not.toMatch(/guard|scoped|\/a/);
      });

  for (const aot of [true, false])
    test(`isGuarded describes the route that responds, not another one with the same path, with aot ${aot}`, async () => {
      const guarded = () => new Elysia({ aot }).use(guard()).get('/a', secret);
      const open = () => new Elysia({ aot }).get('/a', () => 'open');
      for (const plugins of [() => [guarded(), open()], () => [open(), guarded()]])
        for (const form of forms)
          expect((await attempt(form, () => new Elysia().use(plugins()), '/a')).body).not.toContain(SECRET);
    });
});

describe('two guards in one application', () => {
  const plain = (path: string) => new Elysia().use(guard()).get(path, secret, { scope: 'a' });
  const prefixed = (path: string) => new Elysia().use(guard({ scopePrefix: 'x/' })).get(path, secret, { scope: 'a' });
  const clients = () => ['a', 'x/a', 'a x/a'].map((scope) => token({ scope }));

  test('check the scopes of their own routes', async () => {
    const both = [plain('/plain'), prefixed('/prefixed')];
    for (const plugins of [both, both.toReversed()]) {
      const app = new Elysia().use(plugins);
      expect(await statuses(app, '/plain', clients())).toEqual([200, 403, 200]);
      expect(await statuses(app, '/prefixed', clients())).toEqual([403, 200, 200]);
    }
  });

  test('both check the routes that both guard', async () => {
    expect(await statuses(new Elysia().use(guard()).use(prefixed('/a')), '/a', clients())).toEqual([403, 403, 200]);
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

/** Accepted compositions. Each guards /a. */
const accepted: Readonly<Record<string, Use>> = {
  'a function that uses a guard, and routes that are imported': (app) =>
    app.use((given: AnyElysia) => given.use(guard()).use(Promise.resolve({ default: new Elysia().get('/a', secret) }))),
  'a scoped guard in a group of a guarded application': (app) =>
    app.use(guard()).group('', (group) => group.use(wrapper().as('scoped')).get('/a', secret)),
  'routes that are added before a second guard of the same options': (app) =>
    app.use(guard()).get('/a', secret).use(guard()),
};

for (const [name, create] of Object.entries(accepted))
  test(`${name} are accepted`, async () => {
    const app = create(new Elysia());
    await app.modules;
    expect(await statuses(app, '/a', [{}, token()])).toEqual([401, 200]);
    expect(app.routes.filter((route) => !isGuarded(route)).map(({ path }) => path)).toEqual([]);
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
