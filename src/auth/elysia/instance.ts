/** A hook in the lists of an instance or a route. */
export interface Hook {
  readonly fn: unknown;
  readonly scope?: 'local' | 'scoped' | 'global';
  readonly subType?: string;
  readonly isAsync?: boolean;
  readonly hasReturn?: boolean;
}

/** The hooks and options of a route. */
export type Hooks = Readonly<Record<string, unknown>>;

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

/** The context of a route, of which an application can change everything but the Request that the guard accepted. */
export interface RouteContext {
  readonly request: Request;
}

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

/** A function of an application that gets an instance. */
export type Run = (instance: Instance) => unknown;

/** The methods by which Elysia adds routes, plugins, macros and hooks. */
export interface Methods {
  add(this: Instance, method: string, path: string, handler: unknown, hooks?: Hooks, options?: object): unknown;
  use(this: Instance, plugin: unknown): unknown;
  _use(this: Instance, plugin: unknown): unknown;
  applyMacro(this: Instance, hooks: object, applied?: Hooks, state?: { iteration: number; applied: object }): void;
  guard(this: Instance, hooks: unknown, run?: Run): unknown;
  as(this: Instance, scope: unknown): unknown;
  group(this: Instance, prefix: string, hooksOrRun: unknown, run?: Run): unknown;
  mount(this: Instance, path: unknown, handler?: unknown, options?: unknown): unknown;
  on(this: Instance, ...given: unknown[]): unknown;
}

/**
 * The undocumented part of an Elysia instance that the adapter relies on; `tests/auth/elysia/canaries.test.ts` fails when it changes.
 * @see https://github.com/elysiajs/elysia/blob/1.4.29/src/index.ts
 */
export interface Instance extends Methods {
  readonly config: { readonly aot?: boolean; readonly name?: string; precompile?: unknown; seed?: unknown };
  readonly event: Record<string, readonly Hook[] | undefined>;
  readonly extender: { readonly macro: Hooks };
  /** Elysia fills these in when `guard()` is called without a callback. */
  readonly validator: { readonly local: unknown; readonly scoped: unknown; readonly global: unknown };
  readonly decorator: object;
  readonly store: unknown;
  readonly router: {
    readonly history: Route[];
    readonly http: Router;
    readonly dynamic: Router;
    /** Static responses that Bun serves without any hook. */
    readonly response: Record<string, unknown>;
  };
  handleError(context: Context, error: unknown): unknown;
  readonly fetch: unknown;
  /** Its listener. */
  readonly server?: { reload(options: object): unknown } | null;
}

/** Whether a value is an instance, of this copy of Elysia or another. */
export function isInstance(value: unknown): value is Instance {
  const { add, _use, router } = Object(value) as Partial<Instance>;
  return typeof add === 'function' && typeof _use === 'function' && typeof router === 'object';
}

/** Elysia stores no hook, a single one, or a list. */
export function hooksOf(hooks: object, kind: string): readonly Hook[] {
  return [(hooks as Hooks)[kind] ?? []].flat() as Hook[];
}

/** Returns hooks with the members of their class as their own, because Elysia and this adapter copy hooks. */
export function withInherited<Given>(given: Given): Given {
  const hooks = Object(given) as Hooks;
  if (typeof given === 'function' || [Object.prototype, null].includes(Object.getPrototypeOf(hooks))) return given;
  const own: Record<string, unknown> = {};
  for (let each = hooks; each !== null; each = Object.getPrototypeOf(each))
    for (const name of Object.getOwnPropertyNames(each)) if (!(name in Object.prototype)) own[name] = hooks[name];
  return own as Given;
}

/** Returns what the routers find for a route's own pattern. Static routes with ahead-of-time compilation are in no router. */
export function storesOf({ config, router }: Instance, { method, path }: Route): readonly Store[] {
  const routed = config.aot === false ? router.dynamic : router.http;
  // Without ahead-of-time compilation, Elysia adds each spelling of a path as a route of its own.
  const spellings = [path, path.endsWith('/') ? path.slice(0, -1) : `${path}/`].flatMap((one) => [one, encodeURI(one)]);
  const isRouted = config.aot === false || /[:*]/.test(path);
  return isRouted ? [...new Set(spellings.flatMap((one) => routed.find(method, one)?.store ?? []))] : [];
}

/** The instances that take over the routes of an instance. */
const parentsOf = new WeakMap<object, Set<Instance>>();

export function rememberParent(instance: Instance, parent: Instance): void {
  if (instance !== parent) parentsOf.set(instance, (parentsOf.get(instance) ?? new Set()).add(parent));
}

/** Returns an instance, and all that take over its routes. */
export function withAncestors(instance: Instance): ReadonlySet<Instance> {
  const all = new Set([instance]);
  for (const one of all) for (const parent of parentsOf.get(one) ?? []) all.add(parent);
  return all;
}

/** Elysia reads the source of handlers and hooks to find out what they need: query, cookies, the body. */
export function withSource<Fn extends object>(fn: Fn, source: string): Fn {
  return Object.defineProperty(fn, 'toString', { value: () => source });
}
