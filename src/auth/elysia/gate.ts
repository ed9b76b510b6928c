import { status } from 'elysia';
import { attempt, whenSettled } from '../jose/promises.ts';
import { type Composed, type Context, type Hook, type Instance, type Route, storesOf } from './instance.ts';
import type { Judged, Plan, RouteContext } from './plan.ts';
import { decisionOf, lockOf, markDecided, undecided } from './seal.ts';

/** The Request that the server made, by the context that Elysia created for it. */
const arrivals = new WeakMap<object, Request>();

/** The first hook of every request, before any of the application can change the context. */
const arrive: Hook = {
  fn: withoutNeeds((context: RouteContext) => {
    // Several instances may have added this hook. Only its first run sees the Request that the server created.
    if (!arrivals.has(context)) arrivals.set(context, context.request);
  }),
  isAsync: false,
  hasReturn: false,
};

/** Elysia reads the source of a hook. For one that passes its context on, it parses query, cookies and body of every route. */
export function withoutNeeds<Fn extends (context: RouteContext) => unknown>(fn: Fn): Fn {
  return Object.defineProperty(fn, 'toString', { value: () => '() => {}' });
}

/** The first hook after validation: judges the functions of the context. Of this kind, so that no other hook sees a rejection. */
export const judgeContext: Hook = {
  async fn(context: RouteContext) {
    const decision = decisionOf(context);
    if (decision === undefined) return status(500, undecided());
    const rejection = await decision.plan.judgeContext(context).catch(failWithout);
    if (rejection) return status(rejection.status, rejection);
    decision.isComplete = true;
    return undefined;
  },
  subType: 'resolve',
  isAsync: true,
  hasReturn: true,
};

const gates = new WeakSet<object>();

/** Places our hooks around those of the application, which may have been merged from several instances. */
export function placeRequestHooks(instance: Instance): void {
  const others = (instance.event.request ?? []).filter(({ fn }) => fn !== arrive.fn && !gates.has(fn as object));
  instance.event.request = [arrive, ...others, ...(instance.config.aot === false ? [createGate(instance)] : [])];
}

/** Without ahead-of-time compilation, the last hook before routing decides. It finds the route as Elysia does. */
function createGate(instance: Instance): Hook {
  const gate = async (context: Context) => {
    const request = arrivals.get(context);
    if (request === undefined) return undecided();
    // The gates of instances that the application uses are merged into its hooks.
    if (context.store !== instance.store) return undefined;
    const { dynamic } = instance.router;
    const isUpgrade = request.method === 'GET' && request.headers.get('upgrade')?.toLowerCase() === 'websocket';
    const path = pathIn(request.url);
    const found =
      dynamic.find(request.method, path) ??
      dynamic.find(isUpgrade ? 'WS' : request.method, path) ??
      dynamic.find('ALL', path);
    const plan = lockOf(found?.store.handle)?.plan;
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

/** Makes a route decide before anything else of it runs: before its body is read, and before any of its hooks. */
export function guardRoute(instance: Instance, route: Route, plan: Plan): void {
  const { compile } = route;
  if (compile === undefined) return;
  let composed: Composed | undefined;
  const goOn = (context: Context, rejection: Rejection) => {
    if (rejection) return withHeaders(rejection, context.set.headers);
    composed ??= compile();
    const response = composed(context);
    return plan.isVaried ? whenSettled(response, varyByToken) : response;
  };
  const guarded = (context: Context) =>
    whenSettled(
      decide(instance, context, plan),
      (rejection) => goOn(context, rejection),
      (error) => instance.handleError(context, error),
    );
  // Elysia assigns what it compiles to the route.
  Object.defineProperty(route, 'composed', { get: () => guarded, set() {}, enumerable: true, configurable: true });
  route.compile = () => guarded;
  for (const store of storesOf(instance, route)) Object.assign(store, { handler: guarded, compile: () => guarded });
}

type Rejection = Response | undefined;

/** Returns the rejection, or undefined once the decision is recorded. */
function decide(instance: Instance, context: Context, plan: Plan): Rejection | Promise<Rejection> {
  const request = arrivals.get(context);
  // An application that replaces the request would be judged by another one.
  if (request === undefined || request !== context.request || 'request' in instance.decorator) return undecided();
  const record = (decision: Judged): Rejection => {
    if (decision instanceof Response) return decision;
    markDecided(request, plan, decision.claims);
    return undefined;
  };
  return whenSettled(
    attempt(() => plan.judge(request)),
    record,
    failWithout,
  );
}

/** Hides an exception of the application's own decisions from the client: without an `onError`, Elysia sends its text. */
function failWithout(cause: unknown): never {
  throw Object.assign(new Error('Internal error', { cause }), { status: 500 });
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
