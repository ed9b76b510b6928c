/*
 * The first lock: decides about a request before Elysia does anything for its route, so before the body is read and
 * before any hook of the route. The second lock, the hooks, does not rely on it.
 */

import { type PlainResponse, toResponse } from '../guard/decision.ts';
import { nonceHeaders } from '../guard/route-check.ts';
import { attempt, isPromise, whenSettled } from '../values/promises.ts';
import { pathOf } from '../values/url.ts';
import { dropCaching, varyByToken, withHeader } from './caching.ts';
import { accept, failWith, hooksOf } from './hooks.ts';
import type { Composed, Context, Instance, Route, Store } from './internals.ts';
import { composeObserver, observe, quietTrace, showRejection, unaccepted } from './observed-rejections.ts';
import { type Plan, plans } from './plan.ts';

/** Returns the rejection, or undefined once the acceptance is recorded. */
function decide(context: Context, plan: Plan): Response | undefined | Promise<Response | undefined> {
  const { request, set } = context;
  const pending = attempt(() => (isMisrouted(context, plan) ? misrouted : plan.check(request)));
  if (isPromise(pending)) unaccepted.add(context);
  return whenSettled(
    pending,
    (checked) => {
      if (!Array.isArray(checked)) {
        dropCaching(set);
        return toResponse(checked);
      }
      if (isPromise(pending)) unaccepted.delete(context);
      accept(request, { plan, accepted: checked });
      const nonce = plan.hasProofs ? checked.find((accepted) => accepted.dpopNonce)?.dpopNonce : undefined;
      if (nonce !== undefined) Object.assign(set.headers, Object.fromEntries(nonceHeaders(nonce)));
      return undefined;
    },
    failWith,
  );
}

const misrouted: PlainResponse = { status: 400, headers: { 'cache-control': 'no-store' }, body: null };

/**
 * Whether Elysia has found the route by another path than the one in a proof: it looks for the path behind 11
 * characters, but after a short host, or one with a `#` or a `?`, it begins elsewhere.
 */
const isMisrouted = ({ path, request }: Context, { hasProofs }: Plan): boolean =>
  hasProofs && path !== undefined && pathOf(request.url) !== path;

/** Puts the gate before the function that Elysia compiles for a route, with ahead-of-time compilation. */
export function gateRoute(instance: Instance, route: Route, stores: readonly Store[], plan: Plan): void {
  const { compile } = route;
  if (compile === undefined) return;
  for (const hooks of [instance.event, route.hooks]) hooksOf(hooks, 'trace').forEach(quietTrace);
  let compiled: { readonly serve: Composed; readonly observe: Composed | undefined } | undefined;
  const gated: Composed = (context) =>
    whenSettled(
      decide(context, plan),
      (rejection) => {
        const { serve, observe } = compiled ?? prepare();
        if (rejection) return reject(instance, context, rejection, observe);
        const served = serve(context);
        const response = plan.isVaried ? whenSettled(served, varyByToken) : served;
        // What Elysia compiles for a handler that sets no header sends none.
        const nonce = plan.hasProofs && context.set.headers['dpop-nonce'];
        if (!nonce) return response;
        return whenSettled(response, (sent) =>
          withHeader(sent, (headers) => {
            for (const header of nonceHeaders(String(nonce))) headers.set(...header);
          }),
        );
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

/** Returns a rejection with the headers of hooks, such as those of CORS, and shows it to the hooks after a response. */
function reject(instance: Instance, context: Context, rejection: Response, observe: Composed | undefined): Response {
  const { set, request } = context;
  const { vary } = set.headers;
  if (vary !== undefined && rejection.headers.has('vary')) rejection.headers.append('vary', String(vary));
  const sent = instance['~adapter'].handler.mapResponse(rejection, set, request);
  if (observe === undefined) return sent;
  const copy = sent.clone();
  unaccepted.add(context);
  showRejection(context, copy);
  observe(context);
  // Elysia has replaced it by the response of its own route.
  showRejection(context, copy);
  return sent;
}

const gates = new WeakSet<object>();
/** The store of the instance that has made a context. A plugin can replace the one in the context. */
const storeOf = new WeakMap<Context, unknown>();
const noteStore = (context: Context) => void (storeOf.has(context) || storeOf.set(context, context.store));

/** Makes the gate the last request hook. Without ahead-of-time compilation, it finds the route as Elysia does. */
export function placeGate(instance: Instance): void {
  const { event, router } = instance;
  const gate = async (context: Context) => {
    // The gates of the instances that an application uses are merged into its hooks.
    if (storeOf.get(context) !== instance.store) return undefined;
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
  const others = (event.request ?? []).filter(({ fn }) => fn !== noteStore && !gates.has(Object(fn)));
  event.request = [{ fn: noteStore }, ...others, { fn: gate, isAsync: true, hasReturn: true }];
}
