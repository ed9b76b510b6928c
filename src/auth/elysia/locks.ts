import type { AnyElysia } from 'elysia';
import { guardRoute, judgeContext, placeRequestHooks } from './gate.ts';
import { hooksOf, type Instance, type Route, rootOf, storesOf } from './instance.ts';
import { createPlan, type Protection, withProtection } from './plan.ts';
import { carry, keepRequirements, requiredOf, requirementNames, requirementsIn } from './route-requirements.ts';
import { documentRejections, securityOf, withoutDocumented } from './schema.ts';
import { type Lock, lockOf, seal, sealMounted, undecided } from './seal.ts';

/** The part of a route in `app.routes` that is used here. */
export type ListedRoute = Pick<Route, 'method' | 'path' | 'handler'> & { readonly hooks: object };

/** The guards of each instance. They protect every route that is added to it. */
const protectionsOf = new WeakMap<object, readonly Protection[]>();
/** Why an instance serves nothing. */
const shutFor = new WeakMap<object, string>();
/** Handlers of routes that are public by design. */
const openHandlers = new WeakSet<object>();
const patched = new WeakSet<object>();
const watched = new WeakSet<object>();
/** Hooks that hand over claims. Where one of them runs, routes are guarded. */
const handOvers = new WeakSet<object>();
/** The macros of the guard, which all plugins share. */
let ownMacros: Readonly<Record<string, unknown>> = {};

/** Marks routes with this handler as public. */
export function markOpen<Handler extends object>(handler: Handler): Handler {
  openHandlers.add(handler);
  return handler;
}

/** Whether a route in `app.routes` answers only requests that its guard accepted. Check all routes in a test. */
export function isGuarded({ handler }: ListedRoute): boolean {
  return lockOf(handler)?.plan?.isOpen === false;
}

/**
 * Protects every route that is added to `plugin`, or to an instance that uses it. `handOver` is its hook that passes claims on.
 * @throws {Error} from `.use()`: routes would stay open
 */
export function lockRoutes(plugin: AnyElysia, protection: Protection, handOver: object): void {
  handOvers.add(handOver);
  ownMacros = (plugin as unknown as Instance).extender.macro;
  protect(plugin as unknown as Instance, protection);
}

function protect(instance: Instance, protection: Protection): void {
  const known = protectionsOf.get(instance) ?? [];
  if (known.length === 0) {
    const open = openRoutes(instance);
    if (open[0])
      close(
        instance,
        open,
        `${open[0].method} ${open[0].path} was added before the guard, which would leave it open. Add it after the guard, or add open routes to an Elysia instance of their own`,
      );
  }
  protectionsOf.set(instance, withProtection(known, protection));
  patchAdd(instance);
  watch(instance);
}

/** Serves none of these routes any more, and none that is added later. */
function close(instance: Instance, routes: readonly Route[], reason: string): never {
  const message = `Cannot guard routes: ${reason}`;
  shutFor.set(instance, message);
  patchAdd(instance);
  const error = new Error(message);
  refuseToServe(instance, routes, error);
  throw error;
}

/** Preflights have no credentials, so routes that answer them cannot be guarded. */
function isOpenByDesign({ method, handler }: Route): boolean {
  return method === 'OPTIONS' || (typeof handler === 'function' && openHandlers.has(handler));
}

/** Elysia assigns these methods to an instance that another one uses, before it takes over hooks and routes. */
function watch(instance: Instance): void {
  if (watched.has(instance)) return;
  watched.add(instance);
  let isUsed = false;
  intercept(instance, 'getParent', () => {
    isUsed = true;
    const parent = instance.getParent();
    if (parent) usedBy(parent, instance);
  });
  intercept(instance, 'getServer', () => {
    // `.use(async () => instance)` takes over routes, but no hooks, and assigns only `getServer`.
    if (!isUsed && !hasSealedRoutes(instance)) {
      const root = rootOf(instance);
      close(
        root,
        openRoutes(root),
        'Elysia ignores a guard that a function returns asynchronously. Use app.use(guard) in it',
      );
    }
    isUsed = false;
  });
}

/** Calls back after a method was assigned to an instance. */
function intercept(instance: Instance, name: 'getParent' | 'getServer', onAssigned: () => void): void {
  let method: unknown = instance[name];
  Object.defineProperty(instance, name, {
    configurable: true,
    get: () => method,
    set(assigned: unknown) {
      method = assigned;
      onAssigned();
    },
  });
}

const hasSealedRoutes = ({ router }: Instance) =>
  router.history.some(({ method, handler }) => method !== 'OPTIONS' && lockOf(handler) !== undefined);

const openRoutes = ({ router }: Instance) =>
  router.history.filter((route) => !lockOf(route.handler) && !isOpenByDesign(route));

/** Protects the routes of an instance that uses a protected one, if the hooks of that one reach them. */
function usedBy(parent: Instance, instance: Instance): void {
  const handOver = hooksOf(instance.event, 'transform').find(({ fn }) => typeof fn === 'function' && handOvers.has(fn));
  if (handOver !== undefined && handOver.scope !== 'local') {
    for (const protection of protectionsOf.get(instance) ?? []) protect(parent, protection);
  } else if (!hasSealedRoutes(instance))
    close(
      parent,
      openRoutes(parent),
      "an instance uses the guard and has no guarded route, so it would guard nothing where it is used. Write .as('scoped') at its end",
    );
}

/** Every route of every instance passes through `add`, also those of groups, guards, plugins and modules. */
function patchAdd(instance: Instance): void {
  let prototype = instance;
  while (!Object.hasOwn(prototype, 'add')) prototype = Object.getPrototypeOf(prototype);
  if (patched.has(prototype)) return;
  patched.add(prototype);
  const { add } = prototype;

  prototype.add = function (method, path, handler, hooks = {}, options) {
    if (shutFor.has(this)) return add.call(this, method, path, undecided, {}, options);
    const inner = lockOf(handler);
    const isOpen = typeof handler === 'function' && openHandlers.has(handler);
    const own = isOpen ? [] : (protectionsOf.get(this) ?? []);
    const protections = own.reduce(withProtection, inner?.plan?.protections ?? []);
    // Elysia removes options that are macros, and can lose their hooks.
    const named = this.extender.macro.scope === ownMacros.scope ? requirementsIn(handler, hooks) : [];
    const given = [...named, ...(inner?.plan?.required ?? [])];
    if (protections.length === 0) return add.call(this, method, path, carry(handler, given), hooks, options);

    if (own.length > 0) refuseReplacedMacros(this);
    const lock: Lock = { handler: inner ? inner.handler : handler, plan: undefined };
    const sealed = seal(lock);
    const { precompile } = this.config;
    // Compiled on the first request, because the hooks of the route are completed below.
    this.config.precompile = false;
    try {
      add.call(this, method, path, sealed, withSealedMount(withoutDocumented(hooks), lock), options);
    } finally {
      this.config.precompile = precompile;
    }
    const route = this.router.history.findLast((added) => added.handler === sealed);
    keepRequirements(route, given);
    if (route) completeRoute(this, route, lock, protections);
    return undefined;
  };
}

/** A macro of the same name would take requirements that never reach the guard. */
function refuseReplacedMacros(instance: Instance): void {
  const replaced = requirementNames.find((name) => instance.extender.macro[name] !== ownMacros[name]);
  if (replaced !== undefined)
    close(
      instance,
      openRoutes(instance),
      `a macro named ${replaced} replaces the route option of the guard. Rename it`,
    );
}

/** Without ahead-of-time compilation, Elysia calls a mounted handler without any hook. */
function withSealedMount(hooks: Readonly<Record<string, unknown>>, lock: Lock) {
  const config = hooks.config as { readonly mount?: (request: Request) => unknown } | undefined;
  return config?.mount ? { ...hooks, config: { ...config, mount: sealMounted(config.mount, lock) } } : hooks;
}

function completeRoute(instance: Instance, route: Route, lock: Lock, protections: readonly Protection[]): void {
  const plan = createPlan(protections, requiredOf(route.hooks));
  lock.plan = plan;
  const { hooks } = route;
  const detail = typeof hooks.detail === 'object' ? hooks.detail : {};
  hooks.detail = { security: securityOf(plan.alternatives, plan.isOpen), ...detail };
  const documented = protections.filter(({ isDocumented }) => isDocumented);
  if (documented.length > 0)
    documentRejections(
      hooks,
      documented.map(({ core }) => core.options),
      plan.required,
    );
  if (plan.hasFunctions) {
    const others = hooksOf(hooks, 'beforeHandle').filter(({ fn }) => fn !== judgeContext.fn);
    hooks.beforeHandle = [judgeContext, ...others];
  }
  placeRequestHooks(instance);
  guardRoute(instance, route, plan);
}

/**
 * Answers these routes of an instance with 500 from now on, in every application that has taken them over and however that is
 * served. Where the application cannot be reached, the error is thrown outside of Elysia, which would only print it.
 */
function refuseToServe(instance: Instance, routes: readonly Route[], error: Error): void {
  const handlers = new Set(routes.map(({ handler }) => handler));
  const root = rootOf(instance);
  const isCallbackOfGuard = root === instance && Object.hasOwn(instance, 'getServer');
  if (isCallbackOfGuard && routes.length > 0)
    queueMicrotask(() => {
      throw error;
    });
  for (const app of instancesTo(root, instance))
    for (const route of app.router.history) if (handlers.has(route.handler)) shutRoute(app, route);
}

/** Returns the instances from one to the root of its application. */
function instancesTo(root: Instance, instance: Instance): ReadonlySet<Instance> {
  const instances = new Set([root]);
  for (let app: Instance | null | undefined = instance; app; app = app.getParent()) instances.add(app);
  return instances;
}

function shutRoute(app: Instance, route: Route): void {
  for (const store of storesOf(app, route))
    if (store.route === undefined || store.route === route.path)
      Object.assign(store, { handler: undecided, compile: () => undecided, handle: undecided, hooks: {} });
  for (const path of [route.path, `${route.path}/`, route.path.replace(/\/$/, '')]) delete app.router.response[path];
  Object.defineProperty(route, 'composed', { get: () => undecided, set() {}, enumerable: true, configurable: true });
  Object.assign(route, { handler: undecided, compile: () => undecided, hooks: {} });
}
