import type { RouteContext } from './plan.ts';

/** A hook in the lists of an instance or a route. */
export interface Hook {
  readonly fn: unknown;
  readonly scope?: 'local' | 'scoped' | 'global';
  readonly subType?: string;
  readonly isAsync?: boolean;
  readonly hasReturn?: boolean;
}

/** A route in `app.routes`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  handler: unknown;
  hooks: Record<string, unknown>;
  /** Everything that Elysia does for a request to this route, with ahead-of-time compilation. */
  composed?: unknown;
  compile?: (() => Composed) | undefined;
}

export type Composed = (context: Context) => unknown;

/** The context that Elysia creates for a request. */
export interface Context extends RouteContext {
  readonly set: { readonly headers: Readonly<Record<string, unknown>> };
}

/** What a router finds: `handler` and `compile` with ahead-of-time compilation, `handle` and `hooks` without. */
export interface Store {
  handler?: unknown;
  compile?: () => unknown;
  handle?: unknown;
  hooks?: object;
}

interface Router {
  find(method: string, path: string): { readonly store: Store } | null;
}

export type Add = (
  this: Instance,
  method: string,
  path: string,
  handler: unknown,
  hooks?: Readonly<Record<string, unknown>>,
  options?: object,
) => unknown;

/**
 * The undocumented part of an Elysia instance that the locks rely on; `tests/auth/elysia/canaries.test.ts` fails when it changes.
 * @see https://github.com/elysiajs/elysia/blob/1.4.29/src/index.ts
 */
export interface Instance {
  readonly config: { readonly aot?: boolean; precompile?: unknown };
  readonly event: Record<string, readonly Hook[] | undefined>;
  readonly extender: { readonly macro: Readonly<Record<string, unknown>> };
  readonly decorator: object;
  readonly router: {
    readonly history: Route[];
    readonly http: Router;
    readonly dynamic: Router;
    /** Static responses that Bun serves without any hook. */
    readonly response: Record<string, unknown>;
  };
  add: Add;
  handleError(context: Context, error: unknown): unknown;
  getParent(): Instance | null | undefined;
  getServer(): unknown;
}

/** Elysia stores no hook, a single one, or a list. */
export function hooksOf(hooks: object, kind: string): readonly Hook[] {
  return [(hooks as Readonly<Record<string, unknown>>)[kind] ?? []].flat() as Hook[];
}

/** Returns the store of a route with a pattern, which finds itself. Undefined for a route without one. */
export function storeOf({ config, router }: Instance, { method, path }: Route): Store | undefined {
  if (config.aot === false) return router.dynamic.find(method, path)?.store;
  return /[:*]/.test(path) ? router.http.find(method, path)?.store : undefined;
}

/** Returns the application that an instance is part of, also in the callback of a group, which Elysia gives no parent. */
export function rootOf(instance: Instance): Instance {
  const parent = instance.getParent();
  if (parent) return rootOf(parent);
  // Such an instance can only ask for the server, which the root answers by this method.
  const prototype = Object.getPrototypeOf(instance) as Instance;
  const { getServer } = prototype;
  let root = instance;
  prototype.getServer = function (this: Instance) {
    root = this;
    return getServer.call(this);
  };
  try {
    instance.getServer();
  } finally {
    prototype.getServer = getServer;
  }
  return root;
}
