/*
 * Shows the rejections of the gate to the hooks after a response and to the traces of a route, for logs and metrics. Nothing
 * that they do changes what is sent.
 */
import { Elysia } from 'elysia';
import { hooksOf } from './hooks.ts';
import type { Composed, Context, Found, Hook, Instance, Route } from './internals.ts';

/** Returns what Elysia does for a response, hooks and traces, if the route has any: it compiles a route that has nothing else. */
export function composeObserver({ config, getServer }: Instance, { method, path, hooks }: Route): Composed | undefined {
  const [afterResponse, trace] = [hooksOf(hooks, 'afterResponse').map(quiet), hooksOf(hooks, 'trace')];
  if (afterResponse.length + trace.length === 0) return undefined;
  const observer = new Elysia({ ...(config as object), prefix: '', precompile: false }) as unknown as Instance;
  observer.getServer = getServer;
  observer.add(method, path, () => {}, { parse: 'none', afterResponse, trace });
  return observer.router.history[0]?.compile?.();
}

const rejected = new WeakSet<object>();

/** Shows hooks a copy of a rejection, so nothing that they do changes what is sent. */
export function showRejection(context: Context, response: ReturnType<Response['clone']>): void {
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

const quieted = new WeakSet<object>();

/** Shows a rejection to the hooks of a route. Without ahead-of-time compilation, Elysia calls those of the instance itself. */
export function observe(context: Context, rejection: Response, { event }: Instance, { store, params }: Found): void {
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
