import type { Decision } from '../guard/create-guard.ts';
import { attempt, whenSettled } from '../jose/promises.ts';
import {
  type Composed,
  type Context,
  type Hook,
  type Instance,
  type Route,
  type RouteContext,
  storesOf,
  withSource,
} from './instance.ts';
import type { Plan } from './plan.ts';
import { accept, acceptanceOf, failWithout, sealOf, unaccepted } from './seal.ts';

/** The Request that the server made, by the context that Elysia created for it. */
const arrivals = new WeakMap<object, Request>();

/** Remembers the Request of a context, before anything of the application can change it. Later calls change nothing. */
export const arrive = withSource((context: RouteContext): void => {
  if (!arrivals.has(context)) arrivals.set(context, context.request);
}, '() => {}');

/** The first hook of every request. */
const arrivalHook: Hook = { fn: arrive, isAsync: false, hasReturn: false };

/** The first hook after validation: calls the functions of the context. Registered as `resolve`, so that no other hook sees a rejection. */
export const contextHook: Hook = {
  async fn(context: RouteContext & { readonly status?: unknown }) {
    const acceptance = acceptanceOf(context);
    // The context's own function, because another copy of Elysia does not know ours.
    const { status } = context;
    if (acceptance === undefined || typeof status !== 'function') return undefined;
    const rejection = await acceptance.plan.checkContext(context, acceptance.claims).catch(failWithout);
    if (rejection) return status(rejection.status, rejection);
    acceptance.isComplete = true;
    return undefined;
  },
  subType: 'resolve',
  isAsync: true,
  hasReturn: true,
};

const gates = new WeakSet<object>();

/** Places our hooks around those of the application, which may have been merged from several instances. */
export function placeRequestHooks(instance: Instance): void {
  const others = (instance.event.request ?? []).filter(({ fn }) => fn !== arrive && !gates.has(fn as object));
  instance.event.request = [arrivalHook, ...others, ...(instance.config.aot === false ? [createGate(instance)] : [])];
}

/** Without ahead-of-time compilation, the last hook before routing decides. It finds the route as Elysia does. */
function createGate(instance: Instance): Hook {
  const gate = async (context: Context) => {
    const request = arrivals.get(context);
    if (request === undefined) return unaccepted();
    // The gates of instances that the application uses are merged into its hooks.
    if (context.store !== instance.store) return undefined;
    const { dynamic } = instance.router;
    const isUpgrade = request.method === 'GET' && request.headers.get('upgrade')?.toLowerCase() === 'websocket';
    const path = pathIn(request.url);
    const found =
      dynamic.find(request.method, path) ??
      dynamic.find(isUpgrade ? 'WS' : request.method, path) ??
      dynamic.find('ALL', path);
    const plan = sealOf(found?.store.handle)?.plan;
    const rejection = plan && (await decide(instance, context, plan));
    const { headers } = context.set;
    if (!rejection && plan?.isVaried)
      Object.assign(headers, { vary: [headers.vary ?? [], 'Authorization'].flat().join(', ') });
    return rejection;
  };
  gates.add(gate);
  return { fn: gate, isAsync: true, hasReturn: true };
}

/** The path that Elysia routes by (`createDynamicHandler`). */
function pathIn(url: string): string {
  const start = url.indexOf('/', 11);
  const end = url.indexOf('?', start + 1);
  return end === -1 ? url.substring(start) : url.substring(start, end);
}

/** Lets the guard decide before any other code of a route runs: before its body is read, and before any of its hooks. */
export function gateRoute(instance: Instance, route: Route, plan: Plan): void {
  const { compile } = route;
  if (compile === undefined) return;
  let composed: Composed | undefined;
  const goOn = (context: Context, rejection: Rejection) => {
    if (rejection) return withHeaders(rejection, context.set.headers);
    composed ??= compile();
    const response = composed(context);
    return plan.isVaried ? whenSettled(response, varyByToken) : response;
  };
  const gated = (context: Context) =>
    whenSettled(
      decide(instance, context, plan),
      (rejection) => goOn(context, rejection),
      (error) => instance.handleError(context, error),
    );
  serveRoute(instance, route, gated);
}

/** Makes a function serve a route instead of the one that Elysia compiles and assigns to the route. */
function serveRoute(instance: Instance, route: Route, serve: Composed, alsoWithoutAot: object = {}): void {
  Object.defineProperty(route, 'composed', { get: () => serve, set() {}, enumerable: true, configurable: true });
  route.compile = () => serve;
  for (const store of storesOf(instance, route))
    if (store.route === undefined || store.route === route.path)
      Object.assign(store, { handler: serve, compile: () => serve, ...alsoWithoutAot });
}

/** Stops serving a route, and replaces its handler for the instances that take it over. */
export function closeRoute(app: Instance, route: Route, handler: unknown = unaccepted, hooks = {}): void {
  serveRoute(app, route, unaccepted, { handle: unaccepted, hooks: {} });
  for (const path of [route.path, `${route.path}/`, route.path.replace(/\/$/, '')]) delete app.router.response[path];
  Object.assign(route, { handler, hooks });
}

type Rejection = Response | undefined;

/** Returns the rejection, or undefined once the acceptance is recorded. */
function decide(instance: Instance, context: Context, plan: Plan): Rejection | Promise<Rejection> {
  const request = arrivals.get(context);
  // If the application replaced the request, the guard would check another one.
  if (request === undefined || request !== context.request || 'request' in instance.decorator) return unaccepted();
  const record = (decision: Decision): Rejection => {
    if (decision instanceof Response) return decision;
    accept(request, context, plan, decision?.claims);
    return undefined;
  };
  return whenSettled(
    attempt(() => plan.check(request)),
    record,
    failWithout,
  );
}

/** Tells caches that a response depends on the token (RFC 9110 §12.5.5). The headers of a fetched response are immutable. */
function varyByToken(response: unknown): unknown {
  if (!(response instanceof Response) || /\bauthorization\b|\*/i.test(response.headers.get('vary') ?? ''))
    return response;
  try {
    response.headers.append('vary', 'Authorization');
    return response;
  } catch {
    return varyByToken(new Response(response.body, response));
  }
}

/** Adds the headers that hooks have set, such as those of CORS. */
function withHeaders(response: Response, headers: Readonly<Record<string, unknown>>): Response {
  for (const name in headers) {
    const value = headers[name];
    if (name.toLowerCase() !== 'vary' && response.headers.has(name)) continue;
    for (const one of [value].flat()) if (one !== undefined && one !== null) response.headers.append(name, String(one));
  }
  return response;
}
