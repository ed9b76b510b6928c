import { documentRejections, withoutDocumented } from '../openapi/responses.ts';
import { securityOf } from '../openapi/security.ts';
import { closeRoute, contextHook, gateRoute, placeRequestHooks } from './gate.ts';
import { type Hooks, hooksOf, type Instance, type Methods, type Route, withInherited } from './instance.ts';
import { createPlan, type Protection, type Requirement, requirementsIn, withProtection } from './plan.ts';
import {
  isClosed,
  isHandOver,
  isPublic,
  isSandbox,
  protectionsOf,
  refuseReplacedMacros,
  usesMacros,
} from './protections.ts';
import { type Seal, sealHandler, sealOf, unaccepted, withSealedMount } from './seal.ts';

/** The part of a route in `app.routes` that is used here. */
export type ListedRoute = Pick<Route, 'method' | 'path' | 'handler'> & { readonly hooks: object };

/** Whether a route in `app.routes` serves only requests that its guard accepted. Check all routes in a test. */
export function isGuarded({ handler }: ListedRoute): boolean {
  return sealOf(handler)?.plan?.isOpen === false;
}

/** Adds a route as Elysia does, and protects it if its instance has a guard. */
export function addRoute(
  add: Methods['add'],
  instance: Instance,
  [method, path, handler, given, options]: Parameters<Methods['add']>,
): unknown {
  const hooks = withInherited(given ?? {});
  if (isClosed(instance)) return add.call(instance, method, path, unaccepted, {}, options);
  const inner = sealOf(handler);
  if (isPublic(handler)) return addOpenRoute(add, instance, [method, path, handler, hooks, options]);
  const own = protectionsOf(instance);
  const protections = own.reduce(withProtection, inner?.plan?.protections ?? []);
  if (own.length > 0) refuseReplacedMacros(instance);
  const knowsMacros = usesMacros(instance);
  // Elysia removes options that are macros.
  const required = [...(knowsMacros ? requirementsIn(hooks) : []), ...(inner?.required ?? [])];
  const seal: Seal = { handler: inner ? inner.handler : handler, required, plan: undefined };
  if (protections.length === 0)
    return knowsMacros || inner
      ? addUnprotected(add, instance, [method, path, handler, withTruthy(hooks), options], seal)
      : add.call(instance, method, path, handler, hooks, options);

  const sealed = sealHandler(seal);
  const route = addUncompiled(add, instance, [
    method,
    path,
    sealed,
    withTruthy(withSealedMount(withoutDocumented(hooks), seal)),
    options,
  ]);
  if (route && protections.length > 0) completeRoute(instance, route, seal, protections);
  return undefined;
}

/** Adds a route that is compiled on its first request, because its hooks are completed after it was added. */
function addUncompiled(add: Methods['add'], instance: Instance, given: Parameters<Methods['add']>): Route | undefined {
  const { precompile } = instance.config;
  instance.config.precompile = false;
  try {
    add.apply(instance, given);
  } finally {
    instance.config.precompile = precompile;
  }
  return instance.router.history.findLast(({ handler }) => handler === given[2]);
}

/** Adds a route that no guard protects. If a guard is meant to, it is not served until an instance with a guard takes it over. */
function addUnprotected(add: Methods['add'], instance: Instance, given: Parameters<Methods['add']>, seal: Seal): void {
  const route = addUncompiled(add, instance, given);
  if (route === undefined) return;
  const required = [...seal.required, ...requirementsIn(route.hooks)];
  if (required.length > 0 || isSandbox(instance))
    closeRoute(instance, route, sealHandler({ ...seal, required }), route.hooks);
}

/** A public route has no claims, even on an instance with a guard. */
function addOpenRoute(...given: Parameters<typeof addUncompiled>): void {
  const route = addUncompiled(...given);
  if (route) route.hooks.transform = hooksOf(route.hooks, 'transform').filter((hook) => !isHandOver(hook));
}

/** Elysia drops every hook of a route whose first option with a value is falsy. */
function withTruthy({ detail, ...hooks }: Hooks): Hooks {
  return { detail: detail || {}, ...hooks };
}

function completeRoute(instance: Instance, route: Route, seal: Seal, protections: readonly Protection[]): void {
  const { hooks } = route;
  const required: readonly Requirement[] = [...seal.required, ...requirementsIn(hooks)];
  const plan = createPlan(protections, required);
  Object.assign(seal, { required, plan });
  const detail = typeof hooks.detail === 'object' ? hooks.detail : {};
  hooks.detail = { security: securityOf(plan.alternatives, plan.isOpen), ...detail };
  const documented = protections.filter(({ isDocumented }) => isDocumented).map(({ core }) => core.options);
  if (documented.length > 0) documentRejections(hooks, documented, new Set(required.map(([name]) => name)));
  if (plan.hasFunctions) {
    const others = hooksOf(hooks, 'beforeHandle').filter(({ fn }) => fn !== contextHook.fn);
    hooks.beforeHandle = [contextHook, ...others];
  }
  placeRequestHooks(instance);
  gateRoute(instance, route, plan);
}
