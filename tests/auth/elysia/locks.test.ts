import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import type { Hooks } from '../../../src/auth/elysia/internals.ts';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { guard, partsOf, request, statuses, token } from './guarded.ts';
import { loadCopy } from './matrix/load-copy.ts';
import { routeKinds, SECRET } from './matrix/routes.ts';
import { ask, serve } from './matrix/serve.ts';

/** Each of the two locks, with the other taken out. */
const bearer = token({ scope: 'a' });
const valid = bearer.authorization.slice('Bearer '.length);

describe('the hooks without the gate', () => {
  for (const aot of [true, false])
    for (const [name, kind] of Object.entries(routeKinds))
      test(`serve no token: ${name}, with aot ${aot}`, async () => {
        let runs = 0;
        const guarded = kind.add(new Elysia({ aot }).use(guard()) as AnyElysia, {}, () => void runs++);
        // Nothing is overridden in this copy of Elysia.
        const app = new (loadCopy())({ aot }) as AnyElysia;
        for (const { method, path, handler, hooks } of partsOf(guarded).router.history)
          partsOf(app).add(method, path, handler, hooks);
        const service = serve(app, 'fetch');
        const { body } = await ask(service, kind.path ?? '/secret', kind, valid);
        expect([runs, body.includes(SECRET)]).toEqual([0, false]);
      });

  for (const [name, route] of Object.entries({
    scope: { scope: 'a' },
    'a scope function': { scope: () => 'a' },
    authorize: { authorize: () => true },
    'four kinds of hooks': { scope: 'a', parse() {}, transform() {}, beforeHandle() {}, afterHandle() {} },
  }))
    test(`serve no route that no guard has reached: ${name}`, async () => {
      for (const kind of ['function', 'string', 'Response', 'mount', 'config.mount'])
        for (const aot of [true, false]) {
          const guarded = new Elysia({ aot }).use(guard()).get('/own', () => 'own');
          const app = new Elysia({ aot }).use(guarded) as AnyElysia;
          routeKinds[kind]?.add(app, { ...route }, () => {});
          expect(await statuses(app, '/secret', [{}, bearer])).toEqual([500, 500]);
          expect(app.routes.filter(isGuarded).map(({ path }) => path)).toEqual(['/own']);
        }
    });

  test('accept no request that was accepted for another route, or that replaces the accepted one', async () => {
    const app = new Elysia()
      .use(guard())
      .get('/a', () => 'a', { scope: 'a' })
      .get('/b', () => SECRET, { scope: 'b' });
    const [a, b] = partsOf(app).router.history.map((route) => Reflect.get(route, 'hooks') as Hooks);
    const accepted = request('/a', { headers: bearer });
    expect((await app.handle(accepted)).status).toBe(200);
    const run = (hooks: Hooks | undefined, by: Request) => () =>
      ['transform', 'beforeHandle'].flatMap((kind) => {
        const list = hooks?.[kind] as readonly { readonly fn: (context: object) => unknown }[];
        return list.map(({ fn }) => fn({ request: by }));
      });
    expect(run(a, accepted)).not.toThrow();
    expect(run(b, accepted)).toThrow('Internal error');
    expect(run(a, request('/a', { headers: bearer }))).toThrow('Internal error');
  });
});

describe('the gate without the hooks', () => {
  // Without ahead-of-time compilation, Elysia has no route for HEAD.
  for (const aot of [true, false])
    for (const [name, kind] of Object.entries(routeKinds).filter(([each]) => aot || each !== 'HEAD of GET'))
      test(`decides about a request: ${name}, with aot ${aot}`, async () => {
        let runs = 0;
        const app = kind.add(new Elysia({ aot }).use(guard()) as AnyElysia, { scope: 'b' }, () => void runs++);
        for (const { hooks } of partsOf(app).router.history) Object.assign(hooks, { transform: [], beforeHandle: [] });
        const service = serve(app, 'fetch');
        const statusOf = async (sent: string) => (await ask(service, kind.path ?? '/secret', kind, sent)).status;
        expect([await statusOf(''), await statusOf(valid)]).toEqual([401, 403]);
        expect(runs).toBe(0);
      });
});
