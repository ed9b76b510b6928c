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
  readonly store: unknown;
}

/** What a router finds: `handler` and `compile` with ahead-of-time compilation, `handle` and `hooks` without. */
export interface Store {
  handler?: unknown;
  compile?: () => unknown;
  handle?: unknown;
  hooks?: object;
  /** The path of the route, without ahead-of-time compilation. */
  readonly route?: string;
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
  readonly store: unknown;
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

/** Returns what the routers find for a route: a pattern finds itself. Static routes with ahead-of-time compilation are in none. */
export function storesOf({ config, router }: Instance, { method, path }: Route): readonly Store[] {
  const routed = config.aot === false ? router.dynamic : router.http;
  // Without ahead-of-time compilation, Elysia adds each spelling of a path as a route of its own.
  const spellings = [path, path.endsWith('/') ? path.slice(0, -1) : `${path}/`].flatMap((one) => [one, encodeURI(one)]);
  const isRouted = config.aot === false || /[:*]/.test(path);
  return isRouted ? [...new Set(spellings.flatMap((one) => routed.find(method, one)?.store ?? []))] : [];
}

/** Returns the application that an instance is part of, also in the callback of a group, which Elysia gives no parent. */
export function rootOf(instance: Instance): Instance {
  const parent = instance.getParent();
  if (parent) return rootOf(parent);
  const own = Object.getOwnPropertyDescriptor(instance, 'getServer');
  if (!own) return instance;
  // Such an instance can only ask for the server, which the root answers by this method.
  const prototype = Object.getPrototypeOf(instance) as Instance;
  const [askForServer, { getServer }] = [instance.getServer, prototype];
  let root = instance;
  prototype.getServer = function (this: Instance) {
    root = this;
    return getServer.call(this);
  };
  // With `.use(async (app) => app)`, an instance would call itself endlessly.
  Object.defineProperty(instance, 'getServer', { configurable: true, value: () => undefined });
  try {
    askForServer();
  } finally {
    prototype.getServer = getServer;
    Object.defineProperty(instance, 'getServer', own);
  }
  return root;
}
