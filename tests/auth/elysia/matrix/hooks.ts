import { type AnyElysia, Elysia } from 'elysia';

type Context = Record<string, unknown>;

/** What a hostile hook does when it is called. `set` are members for the context. */
export type Effect =
  | { readonly does: 'sets'; readonly set: Context }
  | { readonly does: 'returns'; readonly value: () => unknown }
  | { readonly does: 'throws' };

const ANSWER = 'answer of the application';
const metadataPath = '/.well-known/oauth-protected-resource';
const answer = () => new Response(ANSWER);

/** By name. A `request` with the good token is one that no client has sent. */
export function effectsFor(authorization: string): Readonly<Record<string, Effect>> {
  const sets = (set: Context): Effect => ({ does: 'sets', set });
  const returns = (value: () => unknown): Effect => ({ does: 'returns', value });
  const request = new Request('http://localhost/secret', { headers: { authorization } });
  return {
    'sets route': sets({ route: metadataPath }),
    'sets path': sets({ path: metadataPath, url: `http://localhost${metadataPath}` }),
    'sets status': sets({ status: () => undefined, error: () => undefined }),
    'sets request': sets({ request }),
    'sets headers': sets({ headers: { authorization } }),
    'sets claims': sets({ claims: { sub: 'nobody', scope: 'read:messages', scp: ['read:messages'] } }),
    'sets set': sets({ set: { headers: {}, status: 200 } }),
    'sets store': sets({ store: {} }),
    'sets query and params': sets({ query: { route: metadataPath }, params: {}, body: {} }),
    'sets response': sets({ response: ANSWER, responseValue: ANSWER }),
    'returns a string': returns(() => ANSWER),
    'returns a Response': returns(answer),
    'returns nothing': returns(() => undefined),
    'returns null': returns(() => null),
    'returns a promise': returns(async () => ANSWER),
    'returns a promise of a Response': returns(async () => answer()),
    'returns a promise of nothing': returns(async () => undefined),
    'returns a claim': returns(() => ({ claims: { scope: 'read:messages' }, request })),
    throws: { does: 'throws' },
  };
}

function act(effect: Effect, context: object): unknown {
  if (effect.does === 'throws') throw new TypeError('hook of the application');
  if (effect.does === 'returns') return effect.value();
  Object.assign(context, effect.set);
  return undefined;
}

/** For hooks whose result is laid over the context. */
function derive(effect: Effect, context: Context): Record<string, unknown> | undefined {
  return effect.does === 'sets' ? effect.set : (act(effect, context) as undefined);
}

type Install = (app: AnyElysia, effect: Effect, called: () => void) => AnyElysia;
type Handle = (request: Request) => unknown;
interface Reach {
  readonly as: 'local' | 'scoped' | 'global';
}

/** Life-cycle hooks of an instance. Those that come after the requirements of a route say that they were called. */
const lifeCycle: Readonly<Record<string, (reach: Reach) => Install>> = {
  onParse: (as) => (app, effect) => app.onParse(as, (context: Context) => act(effect, context)),
  onTransform: (as) => (app, effect) => app.onTransform(as, (context: Context) => act(effect, context) as undefined),
  derive: (as) => (app, effect) => app.derive(as, (context: Context) => derive(effect, context)),
  'async derive': (as) => (app, effect) => app.derive(as, async (context: Context) => derive(effect, context)),
  mapDerive: (as) => (app, effect) => app.mapDerive(as, (context: Context) => derive(effect, context) ?? {}),
  'mapDerive, then derive': (as) => (app, effect) => {
    const mapped: AnyElysia = app.mapDerive(as, () => ({}));
    return mapped.derive(as, (context: Context) => derive(effect, context));
  },
  resolve: (as) => (app, effect, called) =>
    app.resolve(as, (context: Context) => {
      called();
      return derive(effect, context);
    }),
  mapResolve: (as) => (app, effect, called) =>
    app.mapResolve(as, (context: Context) => {
      called();
      return derive(effect, context) ?? {};
    }),
  onBeforeHandle: (as) => (app, effect, called) =>
    app.onBeforeHandle(as, (context: Context) => {
      called();
      return act(effect, context);
    }),
  onAfterHandle: (as) => (app, effect) => app.onAfterHandle(as, (context: Context) => act(effect, context)),
  mapResponse: (as) => (app, effect) => app.mapResponse(as, (context: Context) => act(effect, context) as undefined),
  onError: (as) => (app, effect) => app.onError(as, (context) => act(effect, context) as undefined),
  onAfterResponse: (as) => (app, effect) =>
    app.onAfterResponse(as, (context: Context) => void (effect.does === 'sets' && act(effect, context))),
  trace: (as) => (app, effect) =>
    app.trace(as, ({ context, onTransform, onBeforeHandle }) => {
      for (const listen of [onTransform, onBeforeHandle])
        listen(() => void (effect.does === 'sets' && act(effect, context)));
    }),
};

const membersOf = (effect: Effect) => (effect.does === 'sets' ? effect.set : { status: () => act(effect, {}) });

/** Gives later requests the first one that had a token. */
function replay(): (context: Context) => { readonly request: Request } {
  let seen: Request | undefined;
  return (context) => {
    const request = context.request as Request;
    if (request.headers.get('authorization')?.includes('.')) seen ??= request;
    return { request: seen ?? request };
  };
}

/** What belongs to a whole application, wherever it is said. */
const ofApplication: Readonly<Record<string, Install>> = {
  onRequest: (app, effect) => app.onRequest((context) => act(effect, context) as undefined),
  'async onRequest': (app, effect) => app.onRequest(async (context) => act(effect, context) as undefined),
  decorate: (app, effect) => app.decorate({ as: 'override' }, membersOf(effect)),
  state: (app, effect) => app.state({ as: 'override' }, membersOf(effect)),
  'macro named scope': (app, effect) =>
    app.macro({ scope: () => ({ transform: (context: Context) => void act(effect, context) }) }),
  'macro named scope that only declares': (app) => app.macro({ scope: () => ({ detail: {} }) }),
  wrap: (app, effect) =>
    app.wrap((handle: Handle) => async (request: Request) => {
      const returned = effect.does === 'sets' ? undefined : await act(effect, {});
      return returned instanceof Response ? returned : handle(request);
    }),
  'wrap with a copy': (app) => app.wrap((handle: Handle) => (request: Request) => handle(new Request(request))),
  'plugin named protected-api': (app) => app.use(new Elysia({ name: 'protected-api' })),
  'derive of an earlier request': (app) => app.derive(replay()),
  'mapDerive of an earlier request': (app) => app.mapDerive(() => ({})).derive(replay()),
};

/** What a route has among its own options. */
const ofRoute: Readonly<Record<string, (effect: Effect, called: () => void) => object>> = Object.fromEntries(
  ['parse', 'transform', 'beforeHandle', 'resolve', 'afterHandle', 'mapResponse', 'error'].map((name) => [
    `option ${name}`,
    (effect: Effect, called: () => void) => ({
      [name](context: Context) {
        if (name === 'beforeHandle' || name === 'resolve') called();
        return name === 'resolve' ? derive(effect, context) : act(effect, context);
      },
    }),
  ]),
);

export const hookNames = ['none', ...Object.keys(lifeCycle), ...Object.keys(ofApplication), ...Object.keys(ofRoute)];
export const places = ['before', 'after', 'plugin before', 'plugin after'] as const;

export interface Hostile {
  before(app: AnyElysia): AnyElysia;
  after(app: AnyElysia): AnyElysia;
  readonly options: object;
}

/** A hook with this effect in this place. `called` is called when it runs, if it may only run for admitted requests. */
export function hostileHook(name: string, effect: Effect, place: (typeof places)[number], called: () => void): Hostile {
  const same = (app: AnyElysia) => app;
  const options = ofRoute[name]?.(effect, called) ?? {};
  const isPlugin = place.startsWith('plugin');
  const install = lifeCycle[name]?.({ as: isPlugin ? 'global' : 'local' }) ?? ofApplication[name];
  if (!install) return { before: same, after: same, options };
  const put = (app: AnyElysia) =>
    isPlugin ? app.use(install(new Elysia(), effect, called)) : install(app, effect, called);
  return place.endsWith('before') ? { before: put, after: same, options } : { before: same, after: put, options };
}
