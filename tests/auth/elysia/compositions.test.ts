import { describe, expect, spyOn, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import type { Instance } from '../../../src/auth/elysia/internals.ts';
import { isGuarded, type RequirementContext, resourceServer } from '../../../src/auth/elysia.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import { AUDIENCE } from '../../support/mint.ts';
import { guard, partsOf, request, statuses, token } from './guarded.ts';
import { loadCopy } from './matrix/load-copy.ts';
import { SECRET } from './matrix/routes.ts';
import { ask, serve } from './matrix/serve.ts';

/** Compositions that the axes of the matrix cannot express. */
const secret = () => SECRET;

type Use = (app: AnyElysia) => unknown;

const wrapper = () => new Elysia().use(guard());
const scoped = ".as('scoped')";
const before = 'these routes were added before the guard, and would stay open:';
const returned = 'a guard that a function returns';
const otherCopy = 'two copies of Elysia, and protected-api uses the ES module of Elysia 1.4';
const macro = { scope: () => ({}) };
const bundle = { [Symbol.toStringTag]: 'HTMLBundle', index: SECRET };
const foreign = () => new (loadCopy())();

/** Elysia would leave a route open here, so nothing is built. The error says what to write instead. */
const unservable: Readonly<Record<string, readonly [use: Use, says: string]>> = {
  'a route before the guard': [
    (app) => app.get('/a', secret).use(guard()),
    `${before} GET /a. If they are public, write resourceServer(guard, { publicBefore: true }). To guard them, add them, or use their instance, after the guard.`,
  ],
  'a route of an instance before the guard': [
    (app) => app.use(new Elysia().get('/a', secret)).use(guard()),
    `${before} GET /a.`,
  ],
  'a route before the guard in a group': [(app) => app.group('/g', (g) => g.get('/a', secret).use(guard())), before],
  'a route before a guard callback': [(app) => app.guard({}, (inner) => inner.get('/a', secret).use(guard())), before],
  'an explicit HEAD before the guard': [(app) => app.head('/a', secret).use(guard()), `${before} HEAD /a`],
  'a route before a wrapper that is scoped': [(app) => app.get('/a', secret).use(wrapper().as('scoped')), before],
  'a wrapper': [(app) => app.use(wrapper()), scoped],
  'a wrapper with a hook that is scoped': [(app) => app.use(wrapper().derive({ as: 'scoped' }, () => ({}))), scoped],
  'a wrapper in a guarded application': [(app) => app.use(guard()).use(wrapper()), scoped],
  'a wrapper in a group': [(app) => app.group('/g', (group) => group.use(wrapper())), scoped],
  'a guard that a function returns': [(app) => app.use(() => guard()), returned],
  'a wrapper that a function returns': [(app) => app.use(() => wrapper()), returned],
  'a macro named scope': [(app) => app.use(guard()).macro(macro).get('/a', secret), 'Rename the macro'],
  'a plugin with such a macro': [(app) => app.use(guard()).use(new Elysia().macro(macro)).get('/a', secret), 'Rename'],
  'a plugin of another copy of Elysia': [(app) => app.use(guard()).use(foreign()), otherCopy],
  'an application of another copy': [() => foreign().use(guard()), otherCopy],
  'an application of another copy with a wrapper': [() => foreign().use(wrapper().as('scoped')), otherCopy],
  'a plugin that could not be built': [
    (app) => {
      const closed = new Elysia().get('/a', secret);
      expect(() => closed.use(guard())).toThrow(before);
      return app.use(closed);
    },
    before,
  ],
  'an HTML bundle': [(app) => app.use(guard()).get('/a', bundle), 'Bun serves the HTML bundle at /a without hooks'],
  'an HTML bundle that requires a scope, though no guard reaches it': [
    (app) => app.use(new Elysia().use(guard()).get('/own', secret)).get('/a', bundle, { scope: 'a' } as object),
    'Bun serves the HTML bundle at /a without hooks',
  ],
  'a function on a mount without ahead-of-time compilation': [
    () =>
      new Elysia({ aot: false })
        .use(guard())
        .mount('/a', () => new Response(SECRET), { authorize: () => true } as object),
    'with aot: false, Elysia mounts /a without hooks',
  ],
};

describe('what Elysia would leave open is rejected', () => {
  test.each(Object.entries(unservable))('%s', async (_, [use, says]) => {
    const app: AnyElysia = new Elysia();
    expect(() => use(app)).toThrow(says);
    for (const path of ['/a', '/g/a']) expect(await statuses(app, path, [{}])).not.toContain(200);
  });

  for (const aot of [true, false])
    for (const form of ['fetch', 'handle', 'listen'])
      test(`and then the application serves nothing, through ${form} with aot ${aot}`, async () => {
        const app: AnyElysia = new Elysia({ aot })
          .get('/value', 'open')
          .get('/response', new Response('open'))
          .get('/function', () => 'open')
          .get('/all/:id', () => 'open')
          .mount('/mount', () => new Response('open'));
        const early = app.fetch;
        const reject = () => app.use(wrapper());
        expect(reject).toThrow(scoped);
        for (const add of [reject, () => app.get('/later', secret), () => app.use(new Elysia().get('/a', secret))])
          expect(add).toThrow(scoped);
        const service = serve(app, form);
        for (const path of ['/value', '/response', '/function', '/all/7', '/mount', '/mount/below']) {
          expect((await ask(service, path)).status).toBe(form === 'listen' ? 0 : 500);
          expect((await early(request(path))).status).toBe(500);
        }
        await service.close();
      });
});

const named = (audience: string) => new Elysia({ name: 'auth' }).use(guard({ audience })).as('scoped');
const scope = { scope: 'a' };
const hasScope = ({ claims }: RequirementContext) => claims.scope === 'a';
const two = { some: () => ({ authorize: () => true }), other: () => ({ authorize: hasScope }) };
/** With the claims of a token that is rejected: one with the scope `a` for both audiences is accepted. */
test.each<[string, Record<string, unknown>, Use]>([
  [
    'a macro that is off',
    {},
    (app) =>
      app
        .use(guard())
        .macro({ off: {} })
        .get('/a', secret, { off: false, ...scope }),
  ],
  ['another macro', {}, (app) => app.use(guard()).macro(two).get('/a', secret, { some: true, other: true })],
  ['a falsy option', {}, (app) => app.use(guard()).get('/a', secret, { perMessageDeflate: false, ...scope } as object)],
  ['a plugin of the same name', { aud: 'x' }, (app) => app.use(named('x')).use(named('y')).get('/a', secret)],
])('a requirement after %s, which Elysia would lose, holds', async (_, rejected, use) => {
  const app: AnyElysia = new Elysia();
  const accepted = { scope: 'a', aud: [AUDIENCE, 'x', 'y'] };
  use(app);
  expect(await statuses(app, '/a', [{}, token(accepted)])).toEqual([401, 200]);
  expect(await statuses(app, '/a', [token(rejected)])).not.toContain(200);
});

/** Plugins that arrive later, and what Elysia then writes to the console. */
const promised: Readonly<Record<string, readonly [plugin: () => unknown, says: string]>> = {
  'a guard': [async () => guard(), 'write .use(await ...)'],
  'an imported guard': [async () => ({ default: guard() }), 'write .use(await ...)'],
  'a function that uses it later': [
    () => async (app: AnyElysia) => {
      await Promise.resolve();
      return app.use(guard());
    },
    'write .use(await ...)',
  ],
  'a wrapper': [async () => wrapper(), scoped],
  'a function that returns it': [() => async () => guard(), returned],
  'an imported function that returns it': [async () => ({ default: () => guard() }), returned],
  'a mistake of its options': [async () => resourceServer({} as never), 'issuer'],
};

for (const [name, [plugin, says]] of Object.entries(promised))
  test(`an application that waits for ${name} is closed once it arrives, and the log says why`, async () => {
    const logged = spyOn(console, 'error').mockImplementation(() => {});
    const app = new Elysia().use(plugin() as AnyElysia).get('/a', secret) as AnyElysia;
    const outer = new Elysia().use(app).get('/b', secret);
    await outer.modules;
    expect(String(logged.mock.calls[0])).toContain(says);
    logged.mockRestore();
    expect([await statuses(app, '/a', [{}]), await statuses(outer, '/b', [{}])]).toEqual([[500], [500]]);
    expect(() => outer.get('/c', secret)).toThrow(says);
  });

test.each<[string, (copy: AnyElysia) => AnyElysia]>([
  ['the plugin', (copy) => copy.use(Promise.resolve(guard()))],
  ['a module', (copy) => copy.use(Promise.resolve({ default: guard() }))],
  ['a wrapper', (copy) => copy.use(Promise.resolve(wrapper().as('scoped')))],
  ['an async function', (copy) => copy.use(async () => guard())],
])('an application of another copy of Elysia that waits for %s is closed', async (_, use) => {
  const logged = spyOn(console, 'error').mockImplementation(() => {});
  const app = use(foreign()).get('/a', secret);
  await app.modules;
  logged.mockRestore();
  expect(await statuses(app, '/a', [{}, token()])).toEqual([500, 500]);
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
    ['onRejected', () => ({ onRejected() {} }), 2],
    ['clockToleranceSeconds', () => ({ clockToleranceSeconds: 1 }), 2],
  ] as const)
    test(`verify a token ${times} times where they differ in ${name}`, async () => {
      let count = 0;
      const onAccepted = () => void count++;
      const nested = new Elysia().use(guard({ onAccepted, ...inner(onAccepted) })).get('/a', secret);
      expect(await statuses(new Elysia().use(guard({ onAccepted })).use(nested), '/a', [token()])).toEqual([200]);
      expect(count).toBe(times);
    });

  /**
   * Elysia drops a plugin whose name and seed have the same checksum as those of another, which is found in a second.
   */
  test('have no name', () => expect(guard().config.name).toBeUndefined());
});

describe('an application, with or without a method add of its own,', () => {
  const lines: string[] = [];
  /** Logs and wraps each handler, as instrumentation does. */
  const instrument = (target: Instance) => {
    const { add } = target;
    target.add = function (method, path, handler, ...others) {
      lines.push(`${method} ${path}`);
      const wrapped = typeof handler === 'function' ? (context: unknown) => handler(context) : handler;
      return add.call(this, method, path, wrapped, ...others);
    };
    return target as unknown as AnyElysia;
  };
  class Logged extends Elysia {}
  instrument(Logged.prototype as unknown as Instance);
  const creates = {
    'on the instance': () => instrument(partsOf(new Elysia())),
    'in a class': () => new Logged() as AnyElysia,
    none: () => new Elysia() as AnyElysia,
  };

  for (const [name, create] of Object.entries(creates))
    test(`loses no guard of an instance that it uses: ${name}`, async () => {
      const inner = () => new Elysia().use(guard({ audience: 'inner' })).get('/a', secret);
      const optional = create()
        .use(guard({}, { optional: true }))
        .use(inner());
      expect(await statuses(optional, '/a', [{}, token(), token({ aud: 'inner' })])).toEqual([401, 401, 401]);
      const both = create()
        .use(guard({ audience: 'outer' }))
        .use(inner());
      const tokens = ['outer', 'inner', ['outer', 'inner']].map((aud) => token({ aud }));
      expect(await statuses(both, '/a', tokens)).toEqual([401, 401, 200]);
      expect([both.routes.every(isGuarded), lines.includes('GET /a')]).toEqual([true, true]);
    });

  test('is closed if a route is not found after it was added', () => {
    const app = new Elysia().use(guard());
    Reflect.set(app, 'router', Object.create(Reflect.get(app, 'router'), { history: { get: () => [] } }));
    expect(() => app.get('/a', secret)).toThrow('GET /a is not among the routes after it was added');
  });
});

test('one Request that is handled twice at once is served twice', async () => {
  const app = new Elysia().use(guard()).get('/a', secret);
  const twice = request('/a', { headers: token() });
  const responses = await Promise.all([app.handle(twice), app.handle(twice)]);
  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
});

test('a class that an application puts in the place of Request changes nothing', async () => {
  const { Request: original } = globalThis;
  const app = new Elysia().use(guard()).get('/a', secret, { authorize: () => true });
  const [without, withToken] = [request('/a'), request('/a', { headers: token() })];
  globalThis.Request = class extends original {};
  const responses = [await app.handle(without), await app.handle(withToken)];
  globalThis.Request = original;
  expect(responses.map(({ status }) => status)).toEqual([401, 200]);
});

describe('a request by whose host Elysia finds another path', () => {
  const publicUrl = 'https://api.example.test';
  for (const aot of [true, false])
    test(`is rejected where a proof is compared with the path, with aot ${aot}`, async () => {
      const { options, token: issue, proof } = await createTestIssuer();
      const app = new Elysia({ aot })
        .use(resourceServer({ ...options, dpop: 'on', publicUrl }))
        .get('/:id', secret)
        .get('/notes/:id', secret);
      const bound = await issue({}, { boundTo: 'dpop' });
      const statusOf = async (host: string, url: string) => {
        const dpop = await proof({ method: 'GET', url: publicUrl + url }, bound);
        const headers = new Headers({ authorization: `DPoP ${bound}`, dpop });
        // Bun and workerd take such a host over.
        return (await app.handle({ method: 'GET', url: `http://${host}/notes/7?x=/y`, headers } as Request)).status;
      };
      for (const url of ['/notes/7', '/7', '/']) {
        for (const host of ['a', 'abc', 'abc?', 'api.example#'])
          expect([host, url, await statusOf(host, url)]).toEqual([host, url, 400]);
        expect(await statusOf('api.example', url)).toBe(url === '/notes/7' ? 200 : 401);
      }
    });

  test('is served where Elysia finds the path behind the host', async () => {
    const app = new Elysia({ handler: { standardHostname: false } }).use(guard({ dpop: 'on', publicUrl }));
    const response = await app.get('/notes/:id', secret).handle(new Request('http://a/notes/7', { headers: token() }));
    expect(response.status).toBe(200);
  });
});
