import type { AnyElysia } from 'elysia';
import { type GuardOptions, resourceServer } from '../../../../src/auth/elysia.ts';

/** The parts that applications are built from. Each part takes an instance and returns it. */
export interface Parts {
  create(options?: object): AnyElysia;
  /**
   * Uses a guard, with hostile hooks before or after it. The argument says whether a second use of equal options is
   * wanted.
   */
  guarded(app: AnyElysia): AnyElysia;
  /**
   * Another plugin of the same options, of options that differ in a callback, or one that accepts requests without a
   * token.
   */
  guard(kind?: 'same' | 'different' | 'optional'): AnyElysia;
  route(app: AnyElysia): AnyElysia;
}

export interface Built {
  readonly apps: readonly AnyElysia[];
  readonly later?: () => unknown;
}

export interface Application {
  readonly build: (parts: Parts) => AnyElysia | Built | Promise<AnyElysia>;
  readonly prefix?: string;
  /**
   * Whether a request with a valid token gets a response: false where Elysia leaves the route open, so that nothing may
   * be served. `maybe` depends on how Elysia loads plugins.
   */
  readonly isServed?: boolean | 'maybe';
  /** The route is added to an instance that has no guard, so macros of the guard are unknown while it is built. */
  readonly isApart?: boolean;
  /** Without a requirement, the route is public. */
  readonly isPublic?: boolean;
}

const open = () => 'open';
const withOpen = (p: Parts): AnyElysia => p.create().get('/open', open);
const afterOptional = (p: Parts): AnyElysia => p.create().use(p.guard('optional'));
/** Continues after an error, like an application that catches it. */
function attempt(app: AnyElysia, use: (app: AnyElysia) => unknown): AnyElysia {
  try {
    use(app);
  } catch {}
  return app;
}
const wrapper = (p: Parts): AnyElysia => p.guarded(p.create()).as('scoped');

/** Applications that differ only in how they are built. */
const alike = (builds: Readonly<Record<string, Application['build']>>, others: Omit<Application, 'build'> = {}) =>
  Object.fromEntries(
    Object.entries(builds).map(([name, build]): [string, Application] => [name, { build, ...others }]),
  );

const served = alike({
  chain: (p) => p.route(p.guarded(p.create())),
  'guard callback': (p) => p.create().guard({}, (inner) => p.route(p.guarded(inner))),
  'nested instance': (p) => p.create().use(p.route(p.guarded(p.create()))),
  'wrapper that is scoped': (p) => p.route(p.create().use(wrapper(p))),
  'promise of a guarded instance': (p) => p.create().use(Promise.resolve(p.route(p.guarded(p.create())))),
  async 'route after an awaited guard'(p) {
    const app = p.create().use(Promise.resolve(wrapper(p)));
    await app.modules;
    return p.route(app).compile();
  },
  'two guards of two instances': (p) => p.guarded(p.create()).use(p.route(p.create().use(p.guard('different')))),
  'equal guards nested': (p) => p.guarded(p.create()).use(p.route(p.create().use(p.guard()))),
  'route before a second guard of equal options': (p) => p.route(p.guarded(p.create())).use(p.guard()),
  'scoped guard in a group of a guarded instance': (p) =>
    p.guarded(p.create()).group('', (group) => p.route(group.use(wrapper(p)))),
  'strict guard after an optional one': (p) => p.route(p.guarded(p.create().use(p.guard('optional')))),
  'global guard after a local one': (p) =>
    p.route(p.create().use(p.guarded(p.create()).use(p.guard('different').as('global')).get('/own', open))),
  'guard in two applications'(p) {
    const guard = p.guard();
    return { apps: [p.route(p.create().use(guard)), p.route(p.create().use(guard))] };
  },
  'instance in two applications'(p) {
    const shared = p.route(p.guarded(p.create()));
    return { apps: [p.create().use(shared), withOpen(p).use(shared), shared] };
  },
  'route added after the first request'(p) {
    const app = p.guarded(p.create()).get('/first', open);
    return { apps: [app], later: () => p.route(app).compile() };
  },
  'guard added after the first request'(p) {
    const app = p.create();
    return { apps: [app], later: () => p.route(p.guarded(app)).compile() };
  },
  'open routes around it': (p) =>
    withOpen(p)
      .use(p.route(p.guarded(p.create())))
      .get('/open-too', open),
  'plugin function': (p) => p.route(p.create().use((app: AnyElysia) => p.guarded(app))),
  'list of plugins': (p) => p.route(p.create().use([p.guard(), p.create()])),
  'routes of the plugin itself': (p) => p.create().use(p.route(p.guard())),
});

const inGroup = alike(
  {
    prefix: (p) => p.route(p.guarded(p.create({ prefix: '/a' }))),
    'group callback': (p) => p.create().group('/a', (group) => p.route(p.guarded(group))),
    'group after the guard': (p) => p.guarded(p.create()).group('/a', (group) => p.route(group)),
    'nested twice': (p) => p.create().use(p.create({ prefix: '/a' }).use(p.route(p.guarded(p.create())))),
    'mounted application': (p) => p.create().mount('/a', p.route(p.guarded(p.create())).fetch),
    'mounted instance': (p) => p.create().mount('/a', p.route(p.guarded(p.create()))),
  },
  { prefix: '/a' },
);

const inTwoGroups = alike(
  {
    'group in group': (p) => p.create().group('/a', (outer) => outer.group('/b', (inner) => p.route(p.guarded(inner)))),
    'guard between groups': (p) =>
      p.create().group('/a', (outer) => p.guarded(outer).group('/b', (inner) => p.route(inner))),
  },
  { prefix: '/a/b' },
);

/** Elysia leaves the route open. */
const closed = alike(
  {
    'wrapper that is not scoped': (p) => p.route(p.create().use(p.guarded(p.create()))),
    'wrapper that is scoped in one that is not': (p) => p.route(p.create().use(p.create().use(wrapper(p)))),
    'imported module': (p) => p.route(p.create().use(Promise.resolve({ default: wrapper(p) }))),
    promise: (p) => p.route(p.create().use(Promise.resolve(p.guard()))),
    'promise in a guard callback': (p) =>
      p.create().guard({}, (inner) => p.route(inner.use(Promise.resolve(p.guard())))),
    'promise in an instance of two applications'(p) {
      const shared = p.route(p.create().use(Promise.resolve(p.guard())));
      return { apps: [p.create().use(shared), p.create().use(async () => shared), p.create().use(shared), shared] };
    },
    'async function that returns the guard': (p) => p.route(p.create().use(async () => p.guard())),
    'function that returns the guard': (p) => p.route(attempt(p.create(), (app) => app.use(() => p.guard()))),
    'function of a module that returns it': (p) =>
      p.route(p.create().use(Promise.resolve({ default: () => wrapper(p) }))),
    'promise that a mistake of the guard rejects': (p) =>
      p.route(p.create().use(Promise.resolve().then(() => resourceServer({} as GuardOptions)))),
    'route before a guard, whose error is caught': (p) =>
      p.route(attempt(p.create().get('/first', open), (app) => p.guarded(app))),
  },
  { isServed: false, isApart: true },
);

/** Elysia loses the guard, or one of two. What it loses is brought back, or nothing is served. */
const lost = alike(
  {
    'async function that uses the guard': (p) => p.route(p.create().use(async (app: AnyElysia) => p.guarded(app))),
    'async function that returns a scoped instance': (p) =>
      p.route(p.create().use(async () => p.guarded(p.create()).get('/own', open).as('scoped'))),
    'strict guard that is promised': (p) =>
      p.route(p.create().use(p.guard('optional')).use(Promise.resolve(p.guard()))),
    'strict guard that is imported': (p) => p.route(afterOptional(p).use(Promise.resolve({ default: p.guard() }))),
    'strict guard that an async function returns': (p) => p.route(afterOptional(p).use(async () => p.guard())),
    'strict guard that an async function uses': (p) =>
      p.route(afterOptional(p).use(async (app: AnyElysia) => app.use(p.guard()))),
    'second plugin of one name': (p) =>
      p.route(
        p
          .create()
          .use(p.create({ name: 'a' }))
          .use(p.guarded(p.create({ name: 'a' })).as('scoped')),
      ),
  },
  { isServed: 'maybe', isApart: true },
);

export const applications: Readonly<Record<string, Application>> = {
  ...served,
  ...inGroup,
  ...inTwoGroups,
  ...closed,
  ...lost,
  'imported routes after a function that uses a guard': {
    build: (p) =>
      p.create().use((app: AnyElysia) => p.guarded(app).use(Promise.resolve({ default: p.route(p.create()) }))),
    isApart: true,
  },
  'route in an instance of its own': { build: (p) => p.guarded(p.create()).use(p.route(p.create())), isApart: true },
  'route of the parent of a guarded instance': {
    build: (p) => p.route(p.create().use(p.guarded(p.create()).get('/own', open))),
    isServed: false,
    isPublic: true,
  },
};
