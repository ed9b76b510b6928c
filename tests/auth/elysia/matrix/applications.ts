import type { AnyElysia } from 'elysia';

/** What applications are put together from. Each part takes an instance and returns it. */
export interface Parts {
  create(options?: object): AnyElysia;
  /** Uses a guard, with hostile hooks before or after it. The argument says whether a second use of equal options is wanted. */
  guarded(app: AnyElysia): AnyElysia;
  /** Another plugin of the same options, or of options that differ in a callback. */
  guard(differs?: boolean): AnyElysia;
  /** Adds the guarded route. */
  route(app: AnyElysia): AnyElysia;
}

export interface Built {
  /** Each is served by itself. */
  readonly apps: readonly AnyElysia[];
  /** Runs after the first request. */
  readonly later?: () => unknown;
}

export interface Application {
  readonly build: (parts: Parts) => AnyElysia | Built | Promise<AnyElysia>;
  /** Before the path of the route. */
  readonly prefix?: string;
  /**
   * Whether a valid token is answered: false where Elysia leaves the route open, so that nothing may be served. `maybe` is a
   * matter of how Elysia loads plugins.
   */
  readonly isServed?: boolean | 'maybe';
  /** The route is added to an instance that has no guard, so macros of the guard are unknown while it is built. */
  readonly isApart?: boolean;
}

const open = () => 'open';
const withOpen = (p: Parts): AnyElysia => p.create().get('/open', open);
const wrapper = (p: Parts): AnyElysia => p.guarded(p.create()).as('scoped');
const closed = { isServed: false, isApart: true };

/** Ways to put a guard and a route into one application. */
export const applications: Readonly<Record<string, Application>> = {
  chain: { build: (p) => p.route(p.guarded(p.create())) },
  prefix: { build: (p) => p.route(p.guarded(p.create({ prefix: '/a' }))), prefix: '/a' },
  'group callback': { build: (p) => p.create().group('/a', (group) => p.route(p.guarded(group))), prefix: '/a' },
  'group after the guard': { build: (p) => p.guarded(p.create()).group('/a', (group) => p.route(group)), prefix: '/a' },
  'group in group': {
    build: (p) => p.create().group('/a', (outer) => outer.group('/b', (inner) => p.route(p.guarded(inner)))),
    prefix: '/a/b',
  },
  'guard between groups': {
    build: (p) => p.create().group('/a', (outer) => p.guarded(outer).group('/b', (inner) => p.route(inner))),
    prefix: '/a/b',
  },
  'guard callback': { build: (p) => p.create().guard({}, (inner) => p.route(p.guarded(inner))) },
  'guard callback after the guard': { build: (p) => p.guarded(p.create()).guard({}, (inner) => p.route(inner)) },
  'nested instance': { build: (p) => p.create().use(p.route(p.guarded(p.create()))) },
  'nested twice': {
    build: (p) => p.create().use(p.create({ prefix: '/a' }).use(p.route(p.guarded(p.create())))),
    prefix: '/a',
  },
  'route in an instance of its own': { build: (p) => p.guarded(p.create()).use(p.route(p.create())), isApart: true },
  'wrapper that is scoped': { build: (p) => p.route(p.create().use(wrapper(p))) },
  'wrapper that is not scoped': { build: (p) => p.route(p.create().use(p.guarded(p.create()))), ...closed },
  'wrapper that is scoped in one that is not': {
    build: (p) => p.route(p.create().use(p.create().use(wrapper(p)))),
    ...closed,
  },
  'wrapper with an open route': {
    build: (p) => p.route(p.create().use(wrapper(p)).use(p.create().get('/open', open))),
  },
  'imported module': { build: (p) => p.route(p.create().use(Promise.resolve({ default: wrapper(p) }))), ...closed },
  promise: { build: (p) => p.route(p.create().use(Promise.resolve(p.guard()))), ...closed },
  'promise of a guarded instance': { build: (p) => p.create().use(Promise.resolve(p.route(p.guarded(p.create())))) },
  'async function that uses the guard': {
    build: (p) => p.route(p.create().use(async (app: AnyElysia) => p.guarded(app))),
    isServed: 'maybe',
    isApart: true,
  },
  'async function that returns the guard': { build: (p) => p.route(p.create().use(async () => p.guard())), ...closed },
  'route after an awaited guard': {
    async build(p) {
      const app = p.create().use(Promise.resolve(wrapper(p)));
      await app.modules;
      return p.route(app).compile();
    },
  },
  'mounted application': { build: (p) => p.create().mount('/a', p.route(p.guarded(p.create())).fetch), prefix: '/a' },
  'mounted instance': { build: (p) => p.create().mount('/a', p.route(p.guarded(p.create()))), prefix: '/a' },
  'two guards': { build: (p) => p.route(p.guarded(p.create()).use(p.guard(true))) },
  'two guards of two instances': { build: (p) => p.guarded(p.create()).use(p.route(p.create().use(p.guard(true)))) },
  'equal guards nested': { build: (p) => p.guarded(p.create()).use(p.route(p.create().use(p.guard()))) },
  'equal guards in one chain': { build: (p) => p.route(p.guarded(p.create()).use(p.guard())) },
  'guard in two applications': {
    build(p) {
      const guard = p.guard();
      return { apps: [p.route(p.create().use(guard)), p.route(p.create().use(guard))] };
    },
  },
  'guard in an open application too': {
    build(p) {
      const guard = p.guard();
      const app = p.route(p.create().use(guard));
      p.create().get('/open', open).use(p.create().use(guard).get('/other', open));
      return app;
    },
  },
  'instance in two applications': {
    build(p) {
      const shared = p.route(p.guarded(p.create()));
      return { apps: [p.create().use(shared), p.create().get('/open', open).use(shared), shared] };
    },
  },
  'route added after the first request': {
    build(p) {
      const app = p.guarded(p.create()).get('/first', open);
      return { apps: [app], later: () => p.route(app).compile() };
    },
  },
  'guard added after the first request': {
    build(p) {
      const app = p.create();
      return { apps: [app], later: () => p.route(p.guarded(app)).compile() };
    },
  },
  'open routes around it': {
    build: (p) =>
      withOpen(p)
        .use(p.route(p.guarded(p.create())))
        .get('/open-too', open),
  },
  'open route before a group': {
    build: (p) =>
      withOpen(p)
        .group('/a', (group) => p.route(p.guarded(group)))
        .get('/open-too', open),
    prefix: '/a',
  },
  'plugin function': { build: (p) => p.route(p.create().use((app: AnyElysia) => p.guarded(app))) },
  'list of plugins': { build: (p) => p.route(p.create().use([p.guard(), p.create()])) },
  'routes of the plugin itself': { build: (p) => p.create().use(p.route(p.guard())) },
  'plugin served by itself': { build: (p) => p.route(p.guard()) },
  'fetch read before the guard': {
    build(p) {
      const app = p.create();
      if (typeof app.fetch !== 'function') throw new TypeError('fetch is missing');
      return p.route(p.guarded(app)).compile();
    },
  },
};
