import { type AnyElysia, Elysia } from 'elysia';

type Context = Record<string, unknown>;

/** What a hostile hook does when it is called: it overrides members of the context, and returns a value or throws. */
interface Effect {
  readonly set?: Context;
  readonly answer?: () => unknown;
}

const answer = () => new Response('response of the application');

/** By name. */
export function effectsFor(authorization: string): Readonly<Record<string, Effect>> {
  return {
    'sets status': { set: { status: () => undefined, error: () => undefined } },
    'sets headers': { set: { headers: { authorization } } },
    'sets claims': { set: { claims: { sub: 'nobody', scope: 'read:messages', scp: ['read:messages'] } } },
    'sets set and store': { set: { set: { headers: {}, status: 200 }, store: {} } },
    'returns a string': { answer: () => 'response of the application' },
    'returns a Response': { answer },
    'returns null': { answer: () => null },
    'returns a promise of a Response': { answer: async () => answer() },
    throws: {
      answer() {
        throw new TypeError('hook of the application');
      },
    },
  };
}

type Reach = Readonly<Record<'as', 'local' | 'global'>>;
type Handle = (request: Request) => unknown;

interface Acts {
  act(context: object): undefined;
  /** For hooks whose result is merged into the context. */
  derive(context: object): Context;
  readonly set: Context | undefined;
}
type Install = (app: AnyElysia, acts: Acts, reach: Reach) => AnyElysia;

/** Hooks that are installed in the same way, by the names of their methods. */
const each = (names: readonly string[], hook: (acts: Acts, context: Context) => unknown) => {
  const install = (name: string): Install => {
    return (app, acts, as) => Reflect.get(app, name).call(app, as, (context: Context) => hook(acts, context));
  };
  return Object.fromEntries(names.map((name) => [name, install(name)]));
};

const lifeCycle: Readonly<Record<string, Install>> = {
  ...each(['onParse', 'onTransform', 'onBeforeHandle', 'onAfterHandle'], ({ act }, context) => act(context)),
  ...each(['mapResponse', 'onError'], ({ act }, context) => act(context)),
  ...each(['derive', 'resolve'], ({ derive }, context) => derive(context)),
  ...each(['mapDerive', 'mapResolve'], ({ derive }, context) => derive(context) ?? {}),
  'async derive': (app, { derive }, as) => app.derive(as, async (context) => derive(context)),
  'mapDerive, then derive': (app, { derive }, as) =>
    (app.mapDerive(as, () => ({})) as AnyElysia).derive(as, (context) => derive(context)),
  onAfterResponse: (app, { set }, as) => app.onAfterResponse(as, (context) => void Object.assign(context, set)),
  trace: (app, { set }, as) =>
    app.trace(as, ({ context, onTransform, onBeforeHandle }) => {
      for (const listen of [onTransform, onBeforeHandle]) listen(() => void Object.assign(context, set));
    }),
};

/** Hooks of the whole application, wherever they are added. */
const ofApplication: Readonly<Record<string, Install>> = {
  onRequest: (app, { act }) => app.onRequest((context) => act(context)),
  'async onRequest': (app, { act }) => app.onRequest(async (context) => act(context)),
  decorate: (app, { act, set }) => app.decorate({ as: 'override' }, set ?? { status: act }),
  state: (app, { act, set }) => app.state({ as: 'override' }, set ?? { status: act }),
  'macro named scope': (app, { act }) =>
    app.macro({ scope: () => ({ transform: (context: Context) => act(context) }) }),
  'macro named scope that only declares': (app) => app.macro({ scope: () => ({ detail: {} }) }),
  wrap: (app, { act }) =>
    app.wrap((handle: Handle) => async (request: Request) => {
      const returned: unknown = await act({});
      return returned instanceof Response ? returned : handle(request);
    }),
};

const ofRoute = ['parse', 'transform', 'beforeHandle', 'resolve', 'afterHandle', 'mapResponse', 'error'];

const installed = Object.keys({ ...lifeCycle, ...ofApplication });
export const hookNames = ['none', ...installed, ...ofRoute.map((name) => `option ${name}`)];
export const places = ['before', 'after', 'plugin before', 'plugin after'];

/**
 * Returns the functions that add a hook with this effect to an instance before and after the guard, and the options of
 * the route. `called` is called when it runs, if it may only run for admitted requests.
 */
export function hostileHook(
  name: string,
  { set, answer = () => undefined }: Effect,
  place: string,
  called: () => void,
) {
  const isAfterRequirements = /beforeHandle|resolve/i.test(name);
  const act = (context: object) => {
    if (isAfterRequirements) called();
    Object.assign(context, set);
    return answer() as undefined;
  };
  const derive = (_: object): Context => act({}) ?? (set as Context);
  const install = lifeCycle[name] ?? ofApplication[name] ?? ((app) => app);
  const put = (app: AnyElysia) =>
    place.startsWith('plugin')
      ? app.use(install(new Elysia(), { act, derive, set }, { as: 'global' }))
      : install(app, { act, derive, set }, { as: 'local' });
  const option = ofRoute.find((one) => name === `option ${one}`);
  return {
    before: (app: AnyElysia) => (place.endsWith('before') ? put(app) : app),
    after: (app: AnyElysia) => (place.endsWith('after') ? put(app) : app),
    options: option ? { [option]: (context: Context) => (option === 'resolve' ? derive(context) : act(context)) } : {},
  };
}
