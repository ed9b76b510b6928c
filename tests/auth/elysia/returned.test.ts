import { describe, expect, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { isGuarded } from '../../../src/auth/elysia.ts';
import { guard, send, statuses, token } from './guarded.ts';
import { SECRET } from './matrix/routes.ts';

/** Functions that `.use()` calls, which return an instance in place of the one that they get. */
const secret = () => SECRET;
const goesOn = 'a function that .use() called returned another instance';
const guarded = () => new Elysia().use(guard());

/** Elysia has no type for functions in a list. */
const useAll = (app: object, plugins: readonly unknown[]) =>
  (app as AnyElysia).use(plugins as AnyElysia[]) as AnyElysia;

const setups: Readonly<Record<string, (app: AnyElysia) => AnyElysia>> = {
  'an empty instance': () => new Elysia(),
  'an instance with a route': () => new Elysia().get('/secret', secret),
  'an instance with a hook': () => new Elysia().derive({ as: 'global' }, () => ({ user: 'none' })),
  'an instance with a route, after one of its own': (app) => {
    app.get('/own', secret);
    return new Elysia().get('/secret', secret);
  },
  'an instance with another guard': () => new Elysia().use(guard({ audience: 'other' })).get('/own', secret),
};

/** Each composition goes on with the instance that came back. */
const chains: Readonly<Record<string, (setup: (app: AnyElysia) => AnyElysia) => AnyElysia>> = {
  'a chain': (setup) => guarded().use(setup) as AnyElysia,
  'a list': (setup) => useAll(new Elysia(), [guard(), setup]),
  'a list in a chain': (setup) => useAll(guarded(), [setup]),
  'a scoped plugin': (setup) => new Elysia().use(guarded().as('scoped')).use(setup) as AnyElysia,
  'a plugin that becomes scoped': (setup) => new Elysia().use(guarded().use(setup).as('scoped')) as AnyElysia,
  'a guard of its own': (setup) =>
    new Elysia().use((app: AnyElysia) => {
      app.use(guard());
      return setup(app);
    }) as AnyElysia,
  'a requirement': (setup) =>
    new Elysia()
      .use(guarded().get('/guarded', secret))
      .guard({ scope: 'a' } as object)
      .use(setup) as AnyElysia,
};

describe('after a guard, an instance that a function returns in place of its own is not served', () => {
  for (const [chain, goOn] of Object.entries(chains))
    for (const [name, setup] of Object.entries(setups))
      test(`${chain}: ${name}`, async () => {
        let last: AnyElysia | undefined;
        const build = () => {
          last = goOn((app) => {
            last = setup(app);
            return last;
          });
          return last;
        };
        // Nothing is added, so nothing throws: an application that is only served serves nothing.
        if (chain !== 'a plugin that becomes scoped') build();
        else expect(build).toThrow(goesOn);
        if (last === undefined) throw new Error('Nothing was returned');
        expect((await send(last, '/secret')).status).toBe(500);
        expect(last.routes.some(isGuarded)).toBe(name === 'an instance with another guard');
        for (const add of [
          (app: AnyElysia) => app.get('/later', secret),
          (app: AnyElysia) => app.use(new Elysia()),
          (app: AnyElysia) => app.group('/g', (group) => group.get('/later', secret)),
          (app: AnyElysia) => app.ws('/later', {}),
          (app: AnyElysia) => app.mount('/later', () => new Response(SECRET)),
          (app: AnyElysia) => app.listen(0),
          (app: AnyElysia) => new Elysia().use(app),
        ])
          expect(() => add(last as AnyElysia)).toThrow(goesOn);
      });

  test('a group goes on without it, and serves nothing of it', async () => {
    const app: AnyElysia = (guarded() as AnyElysia).group('/g', (group) =>
      group.use(() => new Elysia()).get('/secret', secret),
    );
    expect(await statuses(app, '/g/secret', [{}, token()])).toEqual([404, 404]);
    expect(() =>
      new Elysia().group(
        '/g',
        (group) =>
          group
            .use(guard())
            .use(() => new Elysia())
            .get('/secret', secret) as never,
      ),
    ).toThrow(goesOn);
  });
});

describe('what a function returns leaves the application guarded', () => {
  for (const [name, setup] of Object.entries(setups))
    test(`in a statement of its own: ${name}`, async () => {
      const app = guarded() as AnyElysia;
      app.use(setup);
      app.get('/later', secret);
      expect(await statuses(app, '/later', [{}, token()])).toEqual([401, 200]);
      expect(app.routes.every(isGuarded)).toBe(true);
    });

  const returning: Readonly<Record<string, (app: AnyElysia) => AnyElysia | Promise<AnyElysia>>> = {
    'its own instance': (app) => app.get('/secret', secret),
    'its own instance, asynchronously': async (app) => app.get('/secret', secret),
    'another instance, asynchronously': async () => new Elysia().get('/secret', secret),
    'an instance with the same guard': () => guarded().get('/secret', secret),
  };
  for (const [name, setup] of Object.entries(returning))
    for (const use of [
      (app: AnyElysia): AnyElysia => app.use(setup as (app: unknown) => AnyElysia),
      (app: AnyElysia) => useAll(app, [setup]),
    ])
      test(`in a chain: ${name}`, async () => {
        const app = use(guarded() as AnyElysia).get('/later', secret);
        await app.modules;
        for (const path of ['/secret', '/later']) expect(await statuses(app, path, [{}, token()])).toEqual([401, 200]);
        expect(app.routes.every(isGuarded)).toBe(true);
      });

  test('an instance that several applications load stays as it is', async () => {
    const shared = new Elysia().get('/secret', secret);
    const app = useAll(guarded(), [async () => shared]);
    await app.modules;
    expect(await statuses(app, '/secret', [{}, token()])).toEqual([401, 200]);
    expect(await statuses(new Elysia().use(shared), '/secret', [{}])).toEqual([200]);
  });
});
