import type { AnyElysia } from 'elysia';

/** The part of a route in `app.routes` that is used here. */
export interface ListedRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: unknown;
  readonly hooks: object;
}

/** The hooks of all guards, by which guarded routes are recognized. */
const guards = new WeakSet<object>();
/** Handlers of routes that are public by design. */
const openHandlers = new WeakSet<object>();

/** Marks routes with this handler as public. */
export function markOpen<Handler extends object>(handler: Handler): Handler {
  openHandlers.add(handler);
  return handler;
}

/** Whether a route in `app.routes` is guarded. Check all routes in a test to find a forgotten guard. */
export function isGuarded(route: ListedRoute): boolean {
  return hooksOf(route, 'transform').some(({ fn }) => fn !== undefined && guards.has(fn));
}

/**
 * Makes `.use(plugin)` throw if the application already has routes. Elysia adds hooks only to later routes, so these would be
 * unguarded. Relies on Elysia assigning `getParent` to a plugin, which a test verifies
 * (https://github.com/elysiajs/elysia/blob/1.4.30/src/index.ts, `_use`).
 */
export function forbidEarlierRoutes(plugin: AnyElysia): void {
  for (const { fn } of hooksOf({ hooks: plugin.event }, 'transform')) if (fn) guards.add(fn);
  let getParent: () => AnyElysia | undefined = () => undefined;
  Object.defineProperty(plugin, 'getParent', {
    get: () => getParent,
    set(assigned: typeof getParent) {
      getParent = assigned;
      const open = getParent()?.routes.find((route) => !isGuarded(route) && !isOpenByDesign(route));
      if (!open) return;
      const { method, path } = open;
      throw new Error(
        `Cannot guard routes: ${method} ${path} was added before the guard, which would leave it open. Add it after the guard, or add open routes to an Elysia instance of their own`,
      );
    },
  });
}

/**
 * Throws if Elysia would skip the guard of a route in the application that `plugin` is part of. Elysia 1.4
 * - skips all hooks of a handler that is a value if there are four kinds of them (`composeHandler` in src/compose.ts);
 * - skips the hooks of a mounted handler with `aot: false` (src/dynamic-handle.ts);
 * - ignores the macros after one that is `false` (`applyMacro` in src/index.ts), and leaves their options in place.
 * A test for each fails if that changes.
 */
export function forbidSkippedGuards(plugin: AnyElysia): void {
  const app = rootOf(plugin);
  for (const route of app.routes.filter(isGuarded)) {
    const { method, path, handler } = route;
    const { scope, config } = route.hooks as {
      readonly scope?: unknown;
      readonly config?: { readonly mount?: unknown };
    };
    if (scope !== undefined)
      throw new Error(
        `Cannot guard routes: Elysia ignores the scope of ${method} ${path}; put scope first in its options`,
      );
    const isSkipped =
      typeof handler === 'function'
        ? app.config.aot === false && config?.mount !== undefined
        : ['parse', 'transform', 'beforeHandle', 'afterHandle'].every((kind) => hooksOf(route, kind).length > 0);
    if (isSkipped)
      throw new Error(
        `Cannot guard routes: Elysia skips the hooks of ${method} ${path}; give it a function as its handler`,
      );
  }
}

/** Elysia assigns a parent to each plugin. The root of an application has none. */
function rootOf(app: AnyElysia): AnyElysia {
  const { getParent } = app as unknown as { getParent(): AnyElysia | null | undefined };
  const parent = getParent.call(app);
  return parent ? rootOf(parent) : app;
}

/** Preflights have no credentials, so routes that answer them cannot be guarded. */
function isOpenByDesign({ method, handler }: ListedRoute): boolean {
  return method === 'OPTIONS' || (typeof handler === 'function' && openHandlers.has(handler));
}

/** Elysia stores no hook, a single one, or a list. */
function hooksOf({ hooks }: Pick<ListedRoute, 'hooks'>, kind: string): readonly { readonly fn?: object }[] {
  return [(hooks as Readonly<Record<string, unknown>>)[kind] ?? []].flat() as { readonly fn?: object }[];
}
