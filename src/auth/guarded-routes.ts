import type { AnyElysia } from 'elysia';

/** A route as Elysia lists it in `app.routes`, as far as it is read here. */
export interface ListedRoute {
  readonly method: string;
  readonly path: string;
  readonly handler: unknown;
  readonly hooks: object;
}

/** The hook of every guard, by which a guarded route is recognized. */
const guards = new WeakSet<object>();
/** Handlers of routes that are open by design. */
const openHandlers = new WeakSet<object>();

/** Declares that a route with this handler needs no guard. */
export function markOpen<Handler extends object>(handler: Handler): Handler {
  openHandlers.add(handler);
  return handler;
}

/** Whether a route of `app.routes` is behind a guard. Walk all routes in a test, and a forgotten guard fails it. */
export function isGuarded(route: ListedRoute): boolean {
  return hooksOf(route, 'transform').some(({ fn }) => fn !== undefined && guards.has(fn));
}

/**
 * Makes `.use(plugin)` throw when the application has routes already: Elysia adds hooks to later routes only, so earlier ones
 * would be open. It relies on Elysia telling a plugin its parent by assigning `getParent`
 * (https://github.com/elysiajs/elysia/blob/1.4.30/src/index.ts, `_use`); a test fails when that changes.
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
 * Throws when a route of the application that `plugin` is part of would be answered without the guard that it has. Elysia 1.4
 * - skips all hooks of a handler that is a value when they are of four kinds (`composeHandler` in src/compose.ts);
 * - skips the hooks of a mounted handler with `aot: false` (src/dynamic-handle.ts);
 * - ignores the macros that follow one which is off (`applyMacro` in src/index.ts), and leaves their options where they are.
 * A test for each fails when that changes.
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

/** Elysia tells a plugin its parent, and the root of an application has none. */
function rootOf(app: AnyElysia): AnyElysia {
  const { getParent } = app as unknown as { getParent(): AnyElysia | null | undefined };
  const parent = getParent.call(app);
  return parent ? rootOf(parent) : app;
}

/** Preflights carry no credentials, so the routes that answer them cannot be guarded. */
function isOpenByDesign({ method, handler }: ListedRoute): boolean {
  return method === 'OPTIONS' || (typeof handler === 'function' && openHandlers.has(handler));
}

/** Elysia keeps no hook, one, or a list of them. */
function hooksOf({ hooks }: Pick<ListedRoute, 'hooks'>, kind: string): readonly { readonly fn?: object }[] {
  return [(hooks as Readonly<Record<string, unknown>>)[kind] ?? []].flat() as { readonly fn?: object }[];
}
