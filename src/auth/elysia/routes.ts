/*
 * Adds a route as Elysia does, then reads which guards and requirements its hooks have, and makes its plan, its
 * documentation and its gate of them.
 */
import { documentRejections, documentSecurity, withoutDocumented } from '../openapi/responses.ts';
import { promised, whenSettled } from '../values/promises.ts';
import { close, refuseToServe } from './closing.ts';
import { gateRoute, placeGate } from './gate.ts';
import {
  checkSpelling,
  guardUsesIn,
  isPublic,
  knowsRequirements,
  lockMount,
  putFunctionsFirst,
  removeGuards,
  replacedRequirement,
  requirementsIn,
} from './hooks.ts';
import type { Hooks, Instance, Route, Store } from './internals.ts';
import { mayCover } from './overlaps.ts';
import { createPlan, type Plan, plans } from './plan.ts';

/** The part of a route in `app.routes` that is used here. */
export type ListedRoute = Pick<Route, 'method' | 'path'> & { readonly hooks: object };

/** Whether a route in `app.routes` serves only requests that its guard accepted. Check all routes in a test. */
export function isGuarded({ hooks }: ListedRoute): boolean {
  return plans.get(hooks)?.isOpen === false;
}

type AddRoute = Instance['add'];

const hasParts = (hooks: Hooks) => guardUsesIn(hooks).length + requirementsIn(hooks).length > 0;

/** Adds a route as Elysia does, and protects it if a guard has reached it. */
export function addRoute(add: AddRoute, instance: Instance, given: Parameters<AddRoute>): unknown {
  const [method, path, handler, hooks = {}, options] = given;
  if (!knowsRequirements(instance) && ![instance.event, hooks].some(hasParts)) return add.apply(instance, given);
  const { config, router } = instance;
  // Elysia adds the routes of an instance to it once more when an async function has returned this instance.
  if (router.history.some((route) => route.hooks === hooks)) return undefined;
  const { precompile } = config;
  const before = [...router.history];
  // The hooks are completed after the route was added, so it is compiled later.
  config.precompile = false;
  const stores = collectStores(router, () =>
    add.call(instance, method, path, toFunction(handler), withoutLosses(hooks), options),
  );
  config.precompile = precompile;
  const route = router.history.find((each, place) => each !== before[place]);
  if (route === undefined) refuseToServe(instance, `${method} ${path} is not among the routes after it was added`);
  try {
    const plan = completeRoute(instance, route, handler);
    if (plan) gateRoute(instance, route, stores, plan);
    refuseCovered(instance, route, before);
    if (precompile === true || Object(precompile).compose === true) route.compile?.();
  } catch (error) {
    throw close(instance, error);
  }
  return undefined;
}

/** Rejects a route if Elysia may serve one of two routes for a request to the other, and only one is guarded. */
function refuseCovered(instance: Instance, route: Route, before: readonly Route[]): void {
  const isNewGuarded = isGuarded(route);
  for (const other of before) {
    if (isGuarded(other) === isNewGuarded) continue;
    const [open, guarded] = isNewGuarded ? [other, route] : [route, other];
    if (!isPublic(open.hooks) && mayCover(open, guarded))
      refuseToServe(
        instance,
        `${open.method} ${open.path} is open, and Elysia may serve it in place of ${guarded.method} ${guarded.path}, which is guarded. Use another path for one of them, or a single route in an instance with an optional guard`,
      );
  }
}

/** Returns what Elysia registers while it adds a route: what its router finds may be of another pattern. */
function collectStores({ http }: Instance['router'], addOne: () => void): readonly Store[] {
  const stores: Store[] = [];
  const { add } = http;
  http.add = (method, path, store, options) => {
    stores.push(store);
    return add.call(http, method, path, store, options);
  };
  addOne();
  http.add = add;
  return stores;
}

/** Returns options of which Elysia keeps all hooks: it drops them if the first option with a value is falsy. */
function withoutLosses(given: Hooks): Hooks {
  const { detail, response, ...others } = given;
  return { detail: detail || {}, ...others, response: withoutDocumented(response) };
}

/** Values become functions, because Elysia serves some of them without any hook. */
function toFunction(handler: unknown): unknown {
  return typeof handler === 'function' || isHtmlBundle(handler)
    ? handler
    : () => whenSettled(promised(handler), sendable);
}

/** A Response can be sent once. */
function sendable(value: unknown): unknown {
  const { clone } = Object(value) as Partial<Response>;
  return typeof clone === 'function' ? clone.call(value) : value;
}

const isHtmlBundle = (value: unknown) => Object.prototype.toString.call(value) === '[object HTMLBundle]';

/** Completes hooks and documentation of a route, and returns its plan if guards have reached it. */
function completeRoute(instance: Instance, route: Route, handler: unknown): Plan | undefined {
  const { path, hooks } = route;
  if (isPublic(hooks)) removeGuards(hooks);
  if (!hasParts(hooks)) return undefined;
  if (isHtmlBundle(handler))
    refuseToServe(instance, `Bun serves the HTML bundle at ${path} without hooks. Use it without a guard`);
  const uses = guardUsesIn(hooks);
  const required = requirementsIn(hooks);
  const isMount = lockMount(hooks, [...uses, ...required]);
  // Without a guard, the hooks of requirements fail.
  if (uses.length === 0) return undefined;
  const macro = guardUsesIn(instance.event).length > 0 && replacedRequirement(instance);
  if (macro) refuseToServe(instance, `a macro \`${macro}\` overrides the guard's route option. Rename the macro`);
  const place = `${route.method} ${path}`;
  checkSpelling(instance, hooks);
  const plan = createPlan(uses, required, place);
  plans.set(hooks, plan);
  if (isMount && plan.hasFunctions && instance.config.aot === false)
    refuseToServe(
      instance,
      `with aot: false, Elysia mounts ${path} without hooks, so it calls no scope or authorize function`,
    );
  const documented = plan.layers.filter(({ use }) => use.isDocumented);
  if (documented.length > 0) documentRejections(hooks, documented, [...new Set(required.map(({ name }) => name))]);
  const [{ use, policy } = {}] = plan.layers;
  if (use && policy) documentSecurity(hooks, use, policy.alternatives, plan.isOpen);
  putFunctionsFirst(hooks);
  if (instance.config.aot === false) placeGate(instance);
  return plan;
}
