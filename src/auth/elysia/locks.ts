import type { AnyElysia } from 'elysia';
import { guardRoute, judgeContext, placeRequestHooks, withoutNeeds } from './gate.ts';
import { hooksOf, type Instance, type Route, rootOf } from './instance.ts';
import { createPlan, type Protection, type RouteContext, type RouteRequirements, withProtection } from './plan.ts';
import { documentRejections, securityOf, withoutDocumented } from './schema.ts';
import { copyHandler, decisionOf, type Lock, lockOf, seal, sealMounted, undecided } from './seal.ts';
import { refuseToServe } from './shut.ts';

/** The part of a route in `app.routes` that is used here. */
export type ListedRoute = Pick<Route, 'method' | 'path' | 'handler'> & { readonly hooks: object };

/** The guards of each instance. They protect every route that is added to it. */
const protectionsOf = new WeakMap<object, readonly Protection[]>();
/** Why an instance serves nothing. */
const shutFor = new WeakMap<object, string>();
/** Handlers of routes that are public by design. */
const openHandlers = new WeakSet<object>();
/** What a hook requires, for requirements that reach a route through Elysia's macros. */
const requirementsOf = new WeakMap<object, RouteRequirements>();
/** What a handler brings along, see {@link carry}. */
const carriedBy = new WeakMap<object, readonly RouteRequirements[]>();
const patched = new WeakSet<object>();
const watched = new WeakSet<object>();
/** Hooks that hand over claims. Where one of them runs, routes are guarded. */
const handOvers = new WeakSet<object>();
/** The macros of the guard, which all plugins share. */
let ownMacros: Readonly<Record<string, unknown>> = {};

const requirementNames = ['scope', 'acr', 'maxAge', 'authorize'] as const;

/** Marks routes with this handler as public. */
export function markOpen<Handler extends object>(handler: Handler): Handler {
  openHandlers.add(handler);
  return handler;
}

/** Whether a route in `app.routes` answers only requests that its guard accepted. Check all routes in a test. */
export function isGuarded({ handler }: ListedRoute): boolean {
  return lockOf(handler)?.plan?.isOpen === false;
}

/** Returns the hook of a macro, by which the requirement is found however it came to a route. */
export function requirementHook(required: RouteRequirements) {
  const hook = (context: RouteContext) => {
    // The second lock of the requirement: the first is the decision itself.
    if (decisionOf(context) === undefined)
      throw new Error('Cannot answer: the guard has not decided about this request');
  };
  const sources = [required.scope, required.authorize].filter((value) => typeof value === 'function');
  // Elysia reads the source of a hook to find out what it needs, such as the body.
  if (sources[0]) Object.defineProperty(hook, 'toString', { value: () => String(sources[0]) });
  else withoutNeeds(hook);
  requirementsOf.set(hook, required);
  return hook;
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
    const given = this.extender.macro.scope === ownMacros.scope ? requirementsIn(handler, hooks) : [];
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

/** Returns the requirements in the options of a route, and those of hooks that an instance has added before. */
function requirementsIn(handler: unknown, hooks: Readonly<Record<string, unknown>>): readonly RouteRequirements[] {
  const options = requirementNames.flatMap((name) => (hooks[name] === undefined ? [] : [{ [name]: hooks[name] }]));
  const carried = typeof handler === 'function' ? carriedBy.get(handler) : undefined;
  return [...options, ...requiredOf(hooks), ...(carried ?? [])];
}

/** Lets a handler carry what its route requires to the instance that has the guard, because hooks can be lost between them. */
function carry(handler: unknown, given: readonly RouteRequirements[]): unknown {
  if (given.length === 0) return handler;
  const carrier = copyHandler(handler);
  carriedBy.set(carrier, given);
  return carrier;
}

/** Adds the hook of a requirement that Elysia has lost, so that the instances that take over the route find it too. */
function keepRequirements(route: Route | undefined, given: readonly RouteRequirements[]): void {
  if (route === undefined) return;
  const known = requiredOf(route.hooks);
  const lost = given.filter((one) =>
    requirementNames.some((name) => one[name] !== undefined && !has(known, name, one[name])),
  );
  if (lost.length === 0) return;
  const hooks = lost.map((required) => ({ fn: requirementHook(required) }));
  route.hooks.beforeHandle = [...hooksOf(route.hooks, 'beforeHandle'), ...hooks];
}

const has = (known: readonly RouteRequirements[], name: (typeof requirementNames)[number], value: unknown) =>
  known.some((required) => required[name] === value);

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

function requiredOf(hooks: object): readonly RouteRequirements[] {
  return hooksOf(hooks, 'beforeHandle').flatMap(({ fn }) => (typeof fn === 'function' && requirementsOf.get(fn)) || []);
}

function completeRoute(instance: Instance, route: Route, lock: Lock, protections: readonly Protection[]): void {
  const plan = createPlan(protections, withoutRepetition(requiredOf(route.hooks)));
  lock.plan = plan;
  const { hooks } = route;
  const detail = typeof hooks.detail === 'object' ? hooks.detail : {};
  hooks.detail = { security: securityOf(plan.scopes, plan.isOpen), ...detail };
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

/** A requirement can come from the options of a route and from the hook of its macro. */
function withoutRepetition(required: readonly RouteRequirements[]): readonly RouteRequirements[] {
  const seen = new Map<string, Set<unknown>>(requirementNames.map((name) => [name, new Set()]));
  return required.flatMap((one) => {
    const fresh = requirementNames.filter((name) => one[name] !== undefined && !seen.get(name)?.has(one[name]));
    for (const name of fresh) seen.get(name)?.add(one[name]);
    return fresh.length === 0 ? [] : [Object.fromEntries(fresh.map((name) => [name, one[name]]))];
  });
}
