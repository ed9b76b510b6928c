import { describe, expect, spyOn, test } from 'bun:test';
import { type AnyElysia, Elysia } from 'elysia';
import { loadCopy } from './matrix/load-copy.ts';
import '../../../src/auth/elysia.ts';

/** Without a guard, an application behaves as it does on a copy of Elysia that this package has never met. */
type Log = (line: string) => () => void;
type Build = (app: AnyElysia, log: Log, create: (options?: object) => AnyElysia) => AnyElysia;

/** Elysia changes the options that it gets. */
const a = (app: AnyElysia, options = {}): AnyElysia => app.get('/a', () => 'a', { ...options });
/** Typical macros of applications, some with the names of the guard's requirements. */
const macros = (log: Log) => ({
  log: (isOn: boolean) => (isOn ? { beforeHandle: log('log') } : undefined),
  object: { beforeHandle: log('object'), resolve: () => ({ known: true }) },
  nested: () => ({ log: true, object: true }),
  role: (name: string) => ({ beforeHandle: log(`role ${name}`) }),
  calls: (run: () => void) => ({ beforeHandle: run }),
  scope: (name: string) => ({ beforeHandle: log(`scope ${name}`) }),
});
const inMacros =
  (options: object): Build =>
  (app, log) =>
    a(app.macro(macros(log)), options);
const hooks = (create: () => AnyElysia, log: Log, as: string): AnyElysia =>
  create().onBeforeHandle({ as: as as 'local' }, log(as));

const twice = (app: AnyElysia, log: Log, create: (seed: number) => AnyElysia) =>
  [1, 2].reduce((all, seed) => all.use(create(seed).onBeforeHandle({ as: 'global' }, log(`${seed}`))), app);

const builds: Readonly<Record<string, Build>> = {
  'use() of an instance': (app, log, create) => a(app.use(a(create({ prefix: '/p' }).onBeforeHandle(log('own'))))),
  'use() of hooks of each reach': (app, log, create) =>
    a(app.use(['local', 'scoped', 'global'].map((as) => create().use(hooks(create, log, as))))),
  'use() of two plugins with one name': (app, log, create) => a(twice(app, log, () => create({ name: 'n' }))),
  'use() of two plugins with one name and a seed': (app, log, create) =>
    a(twice(app, log, (seed) => create({ name: 'n', seed }))),
  'use() of a list': (app, log, create) => a(app.use([hooks(create, log, 'scoped'), create().get('/b', 'b')])),
  'use() of a function': (app, log) => a(app.use((given: AnyElysia) => given.onBeforeHandle(log('function')))),
  'use() of a function that returns another': (app, log, create) => a(app.use(() => hooks(create, log, 'global'))),
  'use() of an async function': (app, log) =>
    a(app.use(async (given: AnyElysia) => given.onBeforeHandle(log('async')))),
  'use() of an async function that returns another': (app, _, create) =>
    a(app.use(async () => create().get('/b', 'b'))),
  'use() of a promise': (app, log, create) => a(app.use(Promise.resolve(hooks(create, log, 'scoped')))),
  'use() of a module': (app, _, create) => app.use(Promise.resolve({ default: a(create()) })),
  'use() of a module with a function': (app) => app.use(Promise.resolve({ default: (given: AnyElysia) => a(given) })),
  'use() of a rejected promise': (app) => a(app.use(Promise.reject(new Error('not loaded')))),
  'guard()': (app, log) => a(app.guard({ beforeHandle: log('guard') })),
  'guard() with a callback': (app, log) =>
    a(app.guard({ beforeHandle: log('guard') }, (inner) => inner.get('/b', 'b'))),
  'guard() with a macro': (app, log) => a(app.macro(macros(log)).guard({ role: 'a', log: false, scope: 'x' })),
  'guard() with an unknown option': (app, _, create) =>
    a(app.use(create().guard({ as: 'scoped', scope: 'x', authorize: () => false }))),
  'group()': (app, log) => app.group('/g', (inner) => a(inner.onBeforeHandle(log('group')))),
  'group() with options': (app, log) => app.group('/g', { beforeHandle: log('group') }, (inner) => a(inner)),
  'group() with a macro': (app, log) => app.macro(macros(log)).group('/g', { role: 'a' }, (inner) => a(inner)),
  'a macro': inMacros({ log: true }),
  'nested macros': inMacros({ nested: true }),
  'a macro after one that is off': inMacros({ log: false, role: 'a' }),
  'a macro before one that is off': inMacros({ role: 'a', log: false }),
  'a macro of a function': (app, log) => inMacros({ calls: log('called') })(app, log, () => app),
  'an option that is falsy': inMacros({ perMessageDeflate: false, role: 'a' }),
  'unknown options': (app) => a(app, { scope: 'x', acr: [], maxAge: -1, authorize: 'no' }),
  'trace()': (app, log) => a(app.trace(({ onHandle }) => void onHandle(log('trace')))),
  'mount()': (app) => app.mount('/a', () => new Response('mounted')),
  'a value': (app) => app.get('/a', 'value').ws('/b', {}),
};

/** Returns what an application of this copy of Elysia does. */
async function observe(Copy: typeof Elysia, build: Build, config: object) {
  const lines: string[] = [];
  const errors = spyOn(console, 'error').mockImplementation((error) => void lines.push(String(error)));
  const log: Log = (line) => () => void lines.push(line);
  const create = (options = {}) => new Copy({ ...config, ...options }) as AnyElysia;
  try {
    const app = build(create(), log, create);
    await app.modules;
    const responses: unknown[] = [];
    for (const path of ['/a', '/b', '/p/a', '/g/a', '/a/']) {
      const response = await app.handle(new Request(`http://localhost${path}`));
      responses.push([path, response.status, await response.text()]);
    }
    const routes = app.routes.map(({ method, path, hooks }) => [method, path, Object.keys(hooks).toSorted()]);
    return { routes, responses, lines };
  } catch (error) {
    return { error: String(error), lines };
  } finally {
    errors.mockRestore();
  }
}

describe('an application without a guard behaves as without the package', () => {
  const modes = { default: {}, 'aot: false': { aot: false }, precompile: { precompile: true } };
  for (const [mode, config] of Object.entries(modes))
    for (const [name, build] of Object.entries(builds))
      test(`${name}, ${mode}`, async () => {
        const expected = await observe(loadCopy(), build, config);
        expect(await observe(Elysia, build, config)).toEqual(expected);
      });
});
