/*
 * Shows the rejections of the gate to the hooks after a response and to the traces of a route, for logs and metrics.
 * Nothing that they do changes what is sent.
 */
import { Elysia } from 'elysia';
import { isPromise, promised, whenSettled } from '../values/promises.ts';
import { hooksOf } from './hooks.ts';
import type { Composed, Context, Found, Hook, Instance, Route } from './internals.ts';

/** Returns the hooks and traces of a route after its response, if it has any. Elysia compiles a route without them. */
export function composeObserver({ config, getServer }: Instance, { method, path, hooks }: Route): Composed | undefined {
  const [afterResponse, trace] = [hooksOf(hooks, 'afterResponse').map(quiet), hooksOf(hooks, 'trace')];
  if (afterResponse.length + trace.length === 0) return undefined;
  const observer = new Elysia({ ...(config as object), prefix: '', precompile: false }) as unknown as Instance;
  observer.getServer = getServer;
  observer.add(method, path, () => {}, { parse: 'none', afterResponse, trace });
  return observer.router.history[0]?.compile?.();
}

/** The contexts of requests that a gate has rejected, or has not decided about yet. */
export const unaccepted = new WeakSet<object>();

/** Shows hooks a copy of a rejection, so nothing that they do changes what is sent. */
export function showRejection(context: Context, response: ReturnType<Response['clone']>): void {
  const { set } = Object.assign(context, { response, responseValue: response });
  Object.assign(set, { status: response.status, headers: { ...set.headers, ...Object.fromEntries(response.headers) } });
}

/** Ignores the exceptions of a listener for such a request, which has no `claims`: they would end the process. */
function callQuietly(context: object, call: () => unknown): unknown {
  const ignore = (error: unknown) => {
    if (!unaccepted.has(context)) throw error;
  };
  try {
    const returned = unaccepted.has(context) ? promised(call()) : call();
    return isPromise(returned) ? returned.catch(ignore) : returned;
  } catch (error) {
    return ignore(error);
  }
}

/** Elysia reads the source of a hook. */
function quiet(hook: Hook): Hook {
  const call = hook.fn as Composed;
  const fn = (context: Context) => callQuietly(context, () => call(context));
  return { ...hook, fn: Object.defineProperty(fn, 'toString', { value: () => String(call) }) };
}

/** A listener of `trace`, or one that it subscribes with a method such as `onHandle` or `onStop`. */
export type Listener = (event: Readonly<Record<string, unknown>>) => unknown;

/** What Elysia has made of quiet listeners. */
export const quietTraces = new WeakSet<object>();

/** Makes a listener quiet, and all that it subscribes. */
export const quietListener =
  (listener: Listener): Listener =>
  (lifecycle) => {
    const { context } = lifecycle as { readonly context: object };
    const watch = (event: unknown): Readonly<Record<string, unknown>> => {
      for (const [name, subscribe] of Object.entries(Object(event)))
        if (typeof subscribe === 'function')
          Object.assign(Object(event), {
            [name]: (one?: Listener) => whenSettled(subscribe(one && quietly(one)), watch),
          });
      return Object(event);
    };
    const quietly = (call: Listener) => (event: unknown) => callQuietly(context, () => call(watch(event)));
    return quietly(listener)(lifecycle);
  };

/** What Elysia makes of a listener of `trace`: for each event, a function that calls what the listener subscribed. */
type Trace = (context: object) => Readonly<Record<string, (event: unknown) => Report>>;
type Report = { readonly resolve?: Ended; readonly resolveChild?: readonly ((event: unknown) => Ended)[] } | undefined;
type Ended = ((error?: unknown) => unknown) | undefined;

const traceEvents = 'request parse transform beforeHandle handle afterHandle error mapResponse afterResponse'.split(
  ' ',
);
const noClaims = Object.freeze({});

/**
 * Makes a trace quiet that was added before this package was imported, as instrumentation is: of its listener, there is
 * only what Elysia has made of it. What the listener does after it has waited cannot be caught, so `claims` is always
 * an object there.
 */
export function quietTrace(hook: Hook): void {
  const trace = hook.fn as Trace;
  if (quietTraces.has(trace)) return;
  const fn = (context: object) => {
    const view = new Proxy(context, {
      get: (target, name) => Reflect.get(target, name) ?? (name === 'claims' ? noClaims : undefined),
    });
    const call = (report: () => unknown) => callQuietly(context, report);
    const end = (ended: Ended) => (error?: unknown) => call(() => ended?.(error));
    const reports = call(() => trace(view)) as Partial<ReturnType<Trace>> | undefined;
    const report = (name: string) => (event: unknown) => {
      const { resolve, resolveChild } = Object(call(() => reports?.[name]?.(event))) as NonNullable<Report>;
      const children = resolveChild?.map((child) => (each: unknown) => end(call(() => child(each)) as Ended));
      return { resolve: end(resolve), resolveChild: children };
    };
    return Object.fromEntries(traceEvents.map((name) => [name, report(name)]));
  };
  quietTraces.add(
    Object.assign(hook, { fn: Object.defineProperty(fn, 'toString', { value: () => String(trace) }) }).fn,
  );
}

const quieted = new WeakSet<object>();

/** Shows a rejection to the hooks of a route. Without ahead-of-time compilation, Elysia calls those of the instance. */
export function observe(context: Context, rejection: Response, { event }: Instance, { store, params }: Found): void {
  const own = hooksOf(event, 'afterResponse');
  const others = hooksOf(store.hooks ?? {}, 'afterResponse').filter((hook) => !own.includes(hook));
  for (const hook of [...own, ...others]) if (!quieted.has(hook)) quieted.add(Object.assign(hook, quiet(hook)));
  const { url, headers } = context.request;
  // On Bun, a URL may be a bare path.
  const query = Object.fromEntries(new URLSearchParams(/\?[^#]*/.exec(url)?.[0]));
  Object.assign(context, { route: store.route, params, query, headers: Object.fromEntries(headers) });
  const copy = rejection.clone();
  unaccepted.add(context);
  const run = async () => {
    showRejection(context, copy);
    for (const { fn } of others) await (fn as Composed)(context);
  };
  (globalThis.setImmediate ?? queueMicrotask)(run);
}
