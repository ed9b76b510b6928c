import { documentRejections, withoutDocumented } from '../openapi/responses.ts';
import { securityOf } from '../openapi/security.ts';
import { contextHook, gateRoute, placeRequestHooks, serveRoute } from './gate.ts';
import { type Hooks, hooksOf, type Instance, type Methods, type Route } from './instance.ts';
import {
  createPlan,
  type Protection,
  type Requirement,
  requirementNames,
  requirementsIn,
  withProtection,
} from './plan.ts';
import { type Seal, sealHandler, sealMounted, sealOf, unaccepted } from './seal.ts';

/** The part of a route in `app.routes` that is used here. */
export type ListedRoute = Pick<Route, 'method' | 'path' | 'handler'> & { readonly hooks: object };

/** The guards of each instance. They protect every route that is added to it. */
const protectionsOf = new WeakMap<object, readonly Protection[]>();
/** Instances that serve nothing, because a guard cannot protect their routes. */
const closed = new WeakSet<object>();
/** The requirements of instances without a guard. */
const unread = new WeakMap<object, string>();
/** Handlers of routes that are public by design. */
const openHandlers = new WeakSet<object>();
/** The instances that take over the routes of an instance. */
const parentsOf = new WeakMap<object, Set<Instance>>();
/** Hooks that hand over claims. Where one of them runs, routes are guarded. */
const handOvers = new WeakMap<object, Protection>();
/** The macros of the guard, which all plugins share. */
let ownMacros: Hooks = {};

/** Marks routes with this handler as public. */
export function markOpen<Handler extends object>(handler: Handler): Handler {
  openHandlers.add(handler);
  return handler;
}

/** Whether a route in `app.routes` serves only requests that its guard accepted. Check all routes in a test. */
export function isGuarded({ handler }: ListedRoute): boolean {
  return sealOf(handler)?.plan?.isOpen === false;
}

/** Protects every route that is added to `plugin`, or to an instance that uses it. `handOver` is its hook that passes claims on. */
export function protectPlugin(plugin: Instance, protection: Protection, handOver: object): void {
  handOvers.set(handOver, protection);
  ownMacros = plugin.extender.macro;
  protect(plugin, protection);
}

/** Whether an instance has a macro of the guard. */
export const usesMacros = ({ extender: { macro } }: Instance) =>
  requirementNames.some((name) => name in ownMacros && macro[name] === ownMacros[name]);

const replacedMacro = ({ extender: { macro } }: Instance) =>
  requirementNames.find((name) => macro[name] !== ownMacros[name]);

function protect(instance: Instance, protection: Protection): void {
  const known = protectionsOf.get(instance) ?? [];
  const all = withProtection(known, protection);
  if (all === known) return;
  const left = known.length === 0 ? openRoutes(instance) : unprotectedRoutes(instance, [protection]);
  if (left[0])
    close(
      instance,
      left,
      `${left[0].method} ${left[0].path} was added before the guard and would stay open. Add it after the guard, or move public routes to a separate Elysia instance`,
    );
  protectionsOf.set(instance, all);
  // Elysia drops the hooks of a second plugin with the same name and seed.
  if (instance.config.name !== undefined) instance.config.seed ||= crypto.randomUUID();
  // Another copy of Elysia accepts a promised instance of ours only as a module.
  const useInCopy = (app: Instance) => {
    protectParent(app, instance);
    return app.use(instance);
  };
  Object.assign(instance, { default: useInCopy });
}

/** Serves none of these routes any more, in every instance that has taken them over, and none that is added later. */
function close(instance: Instance, routes: readonly Route[], reason: string): never {
  closed.add(instance);
  const handlers = new Set(routes.map(({ handler }) => handler));
  for (const app of withAncestors(instance))
    for (const route of app.router.history) if (handlers.has(route.handler)) closeRoute(app, route);
  throw new Error(`Cannot guard routes: ${reason}`);
}

/** Closes an instance, because Elysia does not bring it the guards of another one. */
export function closeFor(guarded: Instance, instance: Instance, reason: string): never {
  close(instance, unprotectedRoutes(instance, protectionsOf.get(guarded) ?? []), reason);
}

function closeRoute(app: Instance, route: Route, handler: unknown = unaccepted, hooks = {}): void {
  serveRoute(app, route, unaccepted, { handle: unaccepted, hooks: {} });
  for (const path of [route.path, `${route.path}/`, route.path.replace(/\/$/, '')]) delete app.router.response[path];
  Object.assign(route, { handler, hooks });
}

function withAncestors(instance: Instance): ReadonlySet<Instance> {
  const all = new Set([instance]);
  for (const one of all) for (const parent of parentsOf.get(one) ?? []) all.add(parent);
  return all;
}

export function rememberParent(instance: Instance, parent: Instance): void {
  if (instance !== parent) parentsOf.set(instance, (parentsOf.get(instance) ?? new Set()).add(parent));
}

/** Remembers that an instance without a guard requires something for all of its routes. Elysia ignores that. */
export function rememberUnread(instance: Instance, hooks: unknown): void {
  const name = requirementNames.find((each) => (Object(hooks) as Hooks)[each] !== undefined);
  if (name !== undefined && !(name in instance.extender.macro)) unread.set(instance, name);
}

/** Preflights have no credentials, so routes that respond to them cannot be guarded. */
const isOpenByDesign = ({ method, handler }: Route) =>
  method === 'OPTIONS' || (typeof handler === 'function' && openHandlers.has(handler));

const openRoutes = ({ router }: Instance): Route[] =>
  router.history.filter((route) => !sealOf(route.handler) && !isOpenByDesign(route));

/** Returns the routes that one of these guards does not check. */
function unprotectedRoutes(instance: Instance, protections: readonly Protection[]): Route[] {
  const others = instance.router.history.filter(({ handler }) => {
    const { protections: known = protections } = sealOf(handler)?.plan ?? {};
    return protections.some((protection) => withProtection(known, protection) !== known);
  });
  return [...openRoutes(instance), ...others];
}

/** Returns the guards of an instance that protect the one that uses it; undefined if its guard would protect nothing. */
export function reachOf(instance: Instance): readonly Protection[] | undefined {
  const reaching = hooksOf(instance.event, 'transform').flatMap(({ fn, scope }) => {
    const protection = typeof fn === 'function' && scope !== 'local' ? handOvers.get(fn) : undefined;
    return protection ?? [];
  });
  const isLost = reaching.length === 0 && protectionsOf.has(instance) && !hasGuardedRoute(instance);
  return isLost ? undefined : reaching;
}

const hasGuardedRoute = ({ router }: Instance) =>
  router.history.some(({ method, handler }) => method !== 'OPTIONS' && sealOf(handler) !== undefined);

/** Protects the routes of an instance that uses a protected one, if the hooks of that one reach them. */
export function protectParent(parent: Instance, instance: Instance): void {
  rememberParent(instance, parent);
  const reaching = reachOf(instance);
  if (reaching === undefined)
    closeFor(
      instance,
      parent,
      "an instance uses the guard but has no routes, so the instance that uses it would stay open. End it with .as('scoped')",
    );
  const lost = usesMacros(parent) ? unread.get(instance) : undefined;
  if (lost) closeFor(parent, parent, `guard({ ${lost} }) has no effect on an instance that does not use the guard`);
  for (const protection of reaching) protect(parent, protection);
}

/** Adds a route as Elysia does, and protects it if its instance has a guard. */
export function addRoute(
  add: Methods['add'],
  instance: Instance,
  [method, path, handler, hooks = {}, options]: Parameters<Methods['add']>,
): unknown {
  if (closed.has(instance)) return add.call(instance, method, path, unaccepted, {}, options);
  const inner = sealOf(handler);
  if (typeof handler === 'function' && openHandlers.has(handler))
    return addOpenRoute(add, instance, [method, path, handler, hooks, options]);
  const own = protectionsOf.get(instance) ?? [];
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

/** Adds a route that no guard protects. If it requires something, it is not served until an instance with a guard takes it over. */
function addUnprotected(add: Methods['add'], instance: Instance, given: Parameters<Methods['add']>, seal: Seal): void {
  const route = addUncompiled(add, instance, given);
  if (route === undefined) return;
  const required = [...seal.required, ...requirementsIn(route.hooks)];
  if (required.length > 0) closeRoute(instance, route, sealHandler({ ...seal, required }), route.hooks);
}

/** A public route has no claims, even on an instance with a guard. */
function addOpenRoute(...given: Parameters<typeof addUncompiled>): void {
  const route = addUncompiled(...given);
  if (route) route.hooks.transform = hooksOf(route.hooks, 'transform').filter(({ fn }) => !handOvers.has(fn as object));
}

/** Elysia drops every hook of a route whose first option with a value is falsy. */
function withTruthy({ detail, ...hooks }: Hooks): Hooks {
  return { detail: detail || {}, ...hooks };
}

/** A macro of the same name would take requirements that never reach the guard. */
function refuseReplacedMacros(instance: Instance): void {
  const replaced = replacedMacro(instance);
  if (replaced !== undefined)
    close(
      instance,
      openRoutes(instance),
      `the application's macro ${replaced} overrides the guard's route option. Rename the macro`,
    );
}

/** Without ahead-of-time compilation, Elysia calls a mounted handler without any hook. */
function withSealedMount(hooks: Hooks, seal: Seal): Hooks {
  const config = hooks.config as { readonly mount?: (request: Request) => unknown } | undefined;
  return config?.mount ? { ...hooks, config: { ...config, mount: sealMounted(config.mount, seal) } } : hooks;
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
