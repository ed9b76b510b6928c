import { closeRoute } from './gate.ts';
import {
  type Hook,
  type Hooks,
  hooksOf,
  type Instance,
  type Route,
  rememberParent,
  withAncestors,
} from './instance.ts';
import { type Protection, requirementNames, withProtection } from './plan.ts';
import { sealOf } from './seal.ts';

/** The guards of each instance. They protect every route that is added to it. */
const protections = new WeakMap<object, readonly Protection[]>();
/** Instances that serve nothing, because a guard cannot protect their routes. */
const closed = new WeakSet<object>();
/** Errors that kept a guard from being added. */
const failures = new WeakSet<object>();
/** Why requirements of an instance reach no guard. */
const unread = new WeakMap<object, string>();
/** Instances whose calls of `guard()` were all seen. */
const seen = new WeakSet<object>();
/** The instances of callbacks of `guard` and `group` in a guarded instance, which adds their routes again. */
const sandboxes = new WeakSet<object>();
/** Handlers of routes that are public by design. */
const publicHandlers = new WeakSet<object>();
/** Hooks that pass on claims. A route on which one of them runs is guarded. */
const handOvers = new WeakMap<object, Protection>();
/** The macros of the guard, which all plugins share. */
let ownMacros: Hooks = {};

/** Marks routes with this handler as public. */
export function markPublic<Handler extends object>(handler: Handler): Handler {
  publicHandlers.add(handler);
  return handler;
}

/** Protects every route that is added to `plugin`, or to an instance that uses it. `handOver` is its hook that passes claims on. */
export function protectPlugin(plugin: Instance, protection: Protection, handOver: object): void {
  handOvers.set(handOver, protection);
  ownMacros = plugin.extender.macro;
  protect(plugin, protection);
}

export const isOwnMacro = (macro: unknown): boolean => Object.values(ownMacros).includes(macro);

/** Whether an instance has a macro of the guard. */
export const usesMacros = ({ extender: { macro } }: Instance) =>
  requirementNames.some((name) => name in ownMacros && macro[name] === ownMacros[name]);

export const protectionsOf = (instance: Instance): readonly Protection[] => protections.get(instance) ?? [];
export const isSandbox = (instance: Instance): boolean => sandboxes.has(instance);
export const isClosed = (instance: Instance): boolean => closed.has(instance);
export const isHandOver = ({ fn }: Hook): boolean => handOvers.has(fn as object);
export const isPublic = (handler: unknown): boolean => typeof handler === 'function' && publicHandlers.has(handler);

function protect(instance: Instance, protection: Protection): void {
  const known = protectionsOf(instance);
  const all = withProtection(known, protection);
  if (all === known) return;
  const left = known.length === 0 ? openRoutes(instance) : unprotectedRoutes(instance, [protection]);
  if (left[0])
    close(
      instance,
      left,
      `${left[0].method} ${left[0].path} was added before the guard and would stay open. Add it after the guard, or move public routes to a separate Elysia instance`,
    );
  protections.set(instance, all);
  // Elysia drops the hooks of a second plugin with the same name and seed.
  if (instance.config.name !== undefined) instance.config.seed ||= crypto.randomUUID();
  // Another copy of Elysia accepts a promised instance of ours only as a module.
  const useInCopy = (app: Instance) => {
    protectParent(app, instance);
    return app.use(instance);
  };
  Object.assign(instance, { default: useInCopy });
}

/** Stops serving these routes, in every instance that has taken them over, and routes that are added later. */
function close(instance: Instance, routes: readonly Route[], reason: string): never {
  shut(instance, routes);
  throw rememberFailure(new Error(`Cannot guard routes: ${reason}`));
}

/** Remembers an error that kept a guard from being added, and returns it. */
export function rememberFailure<Failure>(error: Failure): Failure {
  failures.add(Object(error));
  return error;
}

/** Closes an instance that a guard does not reach, because an asynchronously loaded plugin failed with an error of the guard. */
export function closeAfter(instance: Instance, error: unknown): never {
  if (failures.has(Object(error))) shut(instance, openRoutes(instance));
  throw error;
}

function shut(instance: Instance, routes: readonly Route[]): void {
  closed.add(instance);
  // Each instance that takes over a route seals its handler again.
  const handlerOf = ({ handler }: Route) => sealOf(handler)?.handler ?? handler;
  const handlers = new Set(routes.map(handlerOf));
  for (const app of withAncestors(instance)) {
    for (const route of app.router.history) if (handlers.has(handlerOf(route))) closeRoute(app, route);
    // A listener of Bun has routes of its own for most paths. Without them, it calls the application.
    if ('Bun' in globalThis) app.server?.reload({ fetch: app.fetch, routes: {} });
  }
}

/** Closes an instance, because Elysia does not pass another instance's guards on to it. */
export function closeFor(guarded: Instance, instance: Instance, reason: string): never {
  close(instance, unprotectedRoutes(instance, protectionsOf(guarded)), reason);
}

/** Remembers the instance of a callback, whose routes `outer` takes over. Only `outer` checks all that they require. */
export function rememberSandbox(instance: Instance, outer: Instance): void {
  rememberParent(instance, outer);
  if (protections.has(outer) || isSandbox(outer)) sandboxes.add(instance);
}

/** Remembers that an instance without a guard has requirements for all of its routes. Elysia ignores them. */
export function rememberUnread(instance: Instance, hooks: unknown): void {
  const name = requirementNames.find((each) => each in (Object(hooks) as Hooks));
  if (name !== undefined && !(name in instance.extender.macro))
    unread.set(instance, `guard({ ${name} }) has no effect on an instance that does not use the guard`);
}

/** Whether `guard()` was called on an instance before its copy of Elysia was met: its requirements are then unknown. */
export function isUnseen(instance: Instance): boolean {
  const { local, scoped, global } = instance.validator;
  return !seen.has(instance) && Boolean(local || scoped || global);
}

/** Remembers that all calls of `guard()` on an instance were seen. */
export function rememberSeen(instance: Instance): void {
  seen.add(instance);
}

/** Remembers an instance of another copy of Elysia that may have had requirements that the copy ignored. */
export function rememberUnseen(instance: Instance): void {
  if (isUnseen(instance))
    unread.set(
      instance,
      'a plugin of another copy of Elysia called guard(), whose requirements are unknown. Use one copy, or the guard in that plugin',
    );
}

/** Preflights have no credentials, so routes that respond to them cannot be guarded. */
const isOpenByDesign = ({ method, handler }: Route) => method === 'OPTIONS' || isPublic(handler);

const openRoutes = ({ router }: Instance): Route[] =>
  router.history.filter((route) => !sealOf(route.handler) && !isOpenByDesign(route));

/** Returns the routes that one of these guards does not check. */
function unprotectedRoutes(instance: Instance, wanted: readonly Protection[]): Route[] {
  const others = instance.router.history.filter(({ handler }) => {
    const { protections: known = wanted } = sealOf(handler)?.plan ?? {};
    return wanted.some((protection) => withProtection(known, protection) !== known);
  });
  return [...openRoutes(instance), ...others];
}

/** Returns the guards of an instance that protect the one that uses it; undefined if its guard would protect nothing. */
export function reachOf(instance: Instance): readonly Protection[] | undefined {
  const reaching = hooksOf(instance.event, 'transform').flatMap(({ fn, scope }) => {
    const protection = typeof fn === 'function' && scope !== 'local' ? handOvers.get(fn) : undefined;
    return protection ?? [];
  });
  const isLost = reaching.length === 0 && protections.has(instance) && !hasGuardedRoute(instance);
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
      "an instance that uses the guard has no routes, so its parent would stay open. End that instance with .as('scoped')",
    );
  for (const protection of reaching) protect(parent, protection);
  refuseUnread(parent, instance);
}

/** Closes an instance if requirements of it, or of an instance that it uses, reach no guard. */
export function refuseUnread(parent: Instance, instance: Instance): void {
  const lost = unread.get(instance) ?? unread.get(parent);
  if (lost === undefined) return;
  unread.set(parent, lost);
  const routes = parent.router.history.filter((route) => !isOpenByDesign(route));
  if (usesMacros(parent) || usesMacros(instance)) close(parent, routes, lost);
}

/** A macro with the same name would receive the requirements, so they would never reach the guard. */
export function refuseReplacedMacros(instance: Instance): void {
  const replaced = requirementNames.find((name) => instance.extender.macro[name] !== ownMacros[name]);
  if (replaced !== undefined)
    close(
      instance,
      openRoutes(instance),
      `the application's macro \`${replaced}\` overrides the guard's route option. Rename the macro`,
    );
}
