/*
 * The first lock: decides about a request before Elysia does anything for its route, so before the body is read and before any
 * hook of the route. The second lock, the hooks, does not rely on it.
 */
import { Elysia } from 'elysia';
import { pathOf } from '../proof/normalize-url.ts';
import { attempt, whenSettled } from '../values/promises.ts';
import { accept, acceptanceWith, failWith, hooksOf } from './hooks.ts';
import type { Composed, Context, Found, Hook, Hooks, Instance, Route, Store } from './internals.ts';
import { type GuardUse, type Plan, plans, type Requirement } from './plan.ts';

/** Returns the rejection, or undefined once the acceptance is recorded. */
function decide(context: Context, plan: Plan): Response | undefined | Promise<Response | undefined> {
  const { request } = context;
  return whenSettled(
    attempt(() => (isMisrouted(context, plan) ? new Response(null, { status: 400 }) : plan.check(request))),
    (checked) => {
      if (!Array.isArray(checked)) return checked;
      accept(request, { plan, accepted: checked });
      return undefined;
    },
    failWith,
  );
}

/**
 * Whether Elysia has found the route by another path than the one that a proof is compared with. It looks for the path behind 11
 * characters, which is not where it begins after a short host, or after one with a `#` or a `?`.
 */
const isMisrouted = ({ path, request }: Context, { hasProofs }: Plan): boolean =>
  hasProofs && path !== undefined && pathOf(request.url) !== path;

/** Puts the gate before the function that Elysia compiles for a route, with ahead-of-time compilation. */
export function gateRoute(instance: Instance, route: Route, stores: readonly Store[], plan: Plan): void {
  const { compile } = route;
  if (compile === undefined) return;
  let compiled: { readonly serve: Composed; readonly observe: Composed | undefined } | undefined;
  const gated: Composed = (context) =>
    whenSettled(
      decide(context, plan),
      (rejection) => {
        const { serve, observe } = compiled ?? prepare();
        if (rejection) return reject(instance, context, rejection, observe);
        const response = serve(context);
        return plan.isVaried ? whenSettled(response, varyByToken) : response;
      },
      (error) => instance.handleError(context, error),
    );
  const prepare = () => {
    compiled ??= { serve: compile(), observe: composeObserver(instance, route) };
    // Elysia makes what it has compiled serve the route.
    route.composed = gated;
    return compiled;
  };
  route.composed = gated;
  route.compile = () => {
    prepare();
    return gated;
  };
  for (const store of stores) store.handler = gated;
}

/** Returns a rejection with the headers that hooks have set, such as those of CORS, and shows it to the hooks after a response. */
function reject(instance: Instance, context: Context, rejection: Response, observe: Composed | undefined): Response {
  const { set, request } = context;
  const { vary } = set.headers;
  if (vary !== undefined && rejection.headers.has('vary')) rejection.headers.append('vary', String(vary));
  const sent = instance['~adapter'].handler.mapResponse(rejection, set, request);
  if (observe === undefined) return sent;
  const copy = sent.clone();
  showRejection(context, copy);
  observe(context);
  // Elysia has replaced it by the response of its own route.
  showRejection(context, copy);
  return sent;
}

/** Returns what Elysia does for a response, hooks and traces, if the route has any: it compiles a route that has nothing else. */
function composeObserver({ config, getServer }: Instance, { method, path, hooks }: Route): Composed | undefined {
  const [afterResponse, trace] = [hooksOf(hooks, 'afterResponse').map(quiet), hooksOf(hooks, 'trace')];
  if (afterResponse.length + trace.length === 0) return undefined;
  const observer = new Elysia({ ...(config as object), prefix: '', precompile: false }) as unknown as Instance;
  observer.getServer = getServer;
  observer.add(method, path, () => {}, { parse: 'none', afterResponse, trace });
  return observer.router.history[0]?.compile?.();
}

const rejected = new WeakSet<object>();

/** Shows hooks a copy of a rejection, so nothing that they do changes what is sent. */
function showRejection(context: Context, response: ReturnType<Response['clone']>): void {
  const { set } = Object.assign(context, { response, responseValue: response });
  Object.assign(set, { status: response.status, headers: { ...set.headers, ...Object.fromEntries(response.headers) } });
  rejected.add(context);
}

/** A hook that reads `claims`, which a rejected request has not, must not end the process. Elysia reads the source of the hook. */
function quiet(hook: Hook): Hook {
  const call = hook.fn as Composed;
  const quietly = async (context: Context) => call(context);
  const fn = (context: Context) => (rejected.has(context) ? quietly(context).catch(() => {}) : call(context));
  return { ...hook, fn: Object.defineProperty(fn, 'toString', { value: () => String(call) }) };
}

const gates = new WeakSet<object>();

/** Makes the gate the last request hook. Without ahead-of-time compilation, it finds the route as Elysia does afterwards. */
export function placeGate(instance: Instance): void {
  const { event, router } = instance;
  const gate = async (context: Context) => {
    // The gates of the instances that an application uses are merged into its hooks.
    if (context.store !== instance.store) return undefined;
    const { request, path = '', set } = context;
    const isUpgrade = request.method === 'GET' && request.headers.get('upgrade')?.toLowerCase() === 'websocket';
    const tried = [request.method, isUpgrade ? 'WS' : '', 'ALL'];
    const [found] = tried.flatMap((method) => router.dynamic.find(method, path) ?? []);
    const plan = plans.get(Object(found?.store.hooks));
    const rejection = plan && (await decide(context, plan));
    if (rejection && found) observe(context, rejection, instance, found);
    if (!rejection && plan?.isVaried) set.headers.vary = [set.headers.vary ?? [], 'Authorization'].flat().join(', ');
    return rejection;
  };
  gates.add(gate);
  const others = (event.request ?? []).filter(({ fn }) => !gates.has(Object(fn)));
  event.request = [...others, { fn: gate, isAsync: true, hasReturn: true }];
}

const quieted = new WeakSet<object>();

/** Shows a rejection to the hooks of a route. Without ahead-of-time compilation, Elysia calls those of the instance itself. */
function observe(context: Context, rejection: Response, { event }: Instance, { store, params }: Found): void {
  const own = hooksOf(event, 'afterResponse');
  const others = hooksOf(store.hooks ?? {}, 'afterResponse').filter((hook) => !own.includes(hook));
  for (const hook of [...own, ...others]) if (!quieted.has(hook)) quieted.add(Object.assign(hook, quiet(hook)));
  const { url, headers } = context.request;
  const query = Object.fromEntries(new URL(url).searchParams);
  Object.assign(context, { route: store.route, params, query, headers: Object.fromEntries(headers) });
  const copy = rejection.clone();
  const run = async () => {
    showRejection(context, copy);
    for (const { fn } of others) await (fn as Composed)(context);
  };
  (globalThis.setImmediate ?? queueMicrotask)(run);
}

/** Locks a mounted handler, which Elysia calls without any hook with `aot: false`. Returns whether there is one. */
export function lockMount(hooks: Hooks, parts: readonly (GuardUse | Requirement)[]): boolean {
  const config = Object(hooks.config) as { readonly mount?: (request: Request) => unknown };
  const { mount } = config;
  const locked = (request: Request) => acceptanceWith({ request }, ...parts) && mount?.(request);
  if (mount) hooks.config = { ...config, mount: locked };
  return mount !== undefined;
}

/** Tells caches that a response depends on the token (RFC 9110 §12.5.5). The headers of a fetched response are immutable. */
function varyByToken(response: unknown): unknown {
  const { headers } = Object(response) as Partial<Response>;
  if (typeof headers?.get !== 'function' || /\bauthorization\b|\*/i.test(headers.get('vary') ?? '')) return response;
  try {
    headers.append('vary', 'Authorization');
    return response;
  } catch {
    return varyByToken(new Response((response as Response).body, response as Response));
  }
}
