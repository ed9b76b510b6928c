/*
 * The undocumented parts of Elysia that the adapter relies on
 * (https://github.com/elysiajs/elysia/blob/1.4.30/src/index.ts), and the versions that have them.
 * `tests/auth/elysia/canaries.test.ts` fails when a new version changes a part.
 */
import * as elysia from 'elysia';

/** The version of Elysia that this package uses. */
export const version = requireSupported(readVersion());

/** Returns the installed version, or undefined in a bundle that contains Elysia. Bundlers would rewrite an import. */
function readVersion(): string | undefined {
  try {
    const node = globalThis.process.getBuiltinModule('node:module');
    return node.createRequire(import.meta.url)('elysia/package.json').version;
  } catch {
    return undefined;
  }
}

/** Returns a version of Elysia, or throws if the adapter does not know it. An unknown one must have what 1.4 has. */
export function requireSupported(found = 'getSchemaValidator' in elysia ? '1.4.30' : 'of an unknown version'): string {
  const [major, minor, patch = 0] = found.split(/[.-]/).map(Number);
  // Before 1.4.28, a promised guard in the callback of `guard()` reaches no route, and nothing says so.
  if (major === 1 && minor === 4 && patch >= 28) return found;
  throw new Error(
    `Cannot use Elysia ${found}: the plugin needs Elysia 1.4.28 or a later 1.4. The guard of protected-api needs no Elysia`,
  );
}

/** A hook in the lists of an instance or a route. */
export interface Hook {
  readonly fn: unknown;
  readonly scope?: 'local' | 'scoped' | 'global';
  readonly subType?: string;
  readonly isAsync?: boolean;
  readonly hasReturn?: boolean;
}

/** The hooks and options of a route. */
export type Hooks = Record<string, unknown>;

/** A route in `app.routes`. Without ahead-of-time compilation, it has no `compile`. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly handler: unknown;
  readonly hooks: Hooks;
  /** Serves a path without parameters. */
  composed?: unknown;
  /** Returns everything that Elysia does for a request, and makes it `composed`. */
  compile?: () => Composed;
}

export type Composed = (context: Context) => unknown;

/** The part of a context that an application does not change. */
export interface RouteContext {
  /** The request. */
  readonly request: Request;
}

/** The context that Elysia creates for a request. */
export interface Context extends RouteContext {
  readonly set: { readonly headers: Record<string, unknown> };
  readonly store: unknown;
  /** The path by which Elysia found the route. Undefined if Bun found it. */
  readonly path?: string;
}

/** What a router finds: `handler` with ahead-of-time compilation, `hooks` without. */
export interface Store {
  handler?: Composed;
  hooks?: Hooks;
  readonly route?: string;
}

export interface Found {
  readonly store: Store;
  readonly params?: object;
}

interface Router {
  add(method: string, path: string, store: Store, options?: object): unknown;
  find(method: string, path: string): Found | null;
  build(): void;
}

/** The members of an instance that the adapter uses. */
export interface Instance {
  add(method: string, path: string, handler: unknown, hooks?: Hooks, options?: object): unknown;
  listen(...given: unknown[]): unknown;
  _use(plugin: unknown): unknown;
  applyMacro(hooks: Hooks, applied?: Hooks, state?: { readonly iteration: number; readonly applied: object }): void;
  trace(...given: unknown[]): Instance;
  getParent(): Instance;
  handleError(context: Context, error: unknown): unknown;
  readonly promisedModules: {
    readonly promises: readonly Promise<unknown>[];
    add(promise: Promise<unknown>): Promise<unknown>;
  };
  getServer(): unknown;
  readonly config: { readonly aot?: boolean; readonly name?: string; precompile?: unknown; seed?: unknown };
  readonly event: Record<string, readonly Hook[] | undefined>;
  readonly extender: { readonly macro: Hooks };
  readonly store: unknown;
  readonly router: { readonly history: Route[]; readonly http: Router; readonly dynamic: Router };
  readonly '~adapter': {
    readonly handler: { mapResponse(response: Response, set: object, request: Request): Response };
  };
}

/** Whether a value is an instance, of this copy of Elysia or another. */
export function isInstance(value: unknown): value is Instance {
  const { _use, router } = Object(value) as Partial<Instance>;
  return typeof _use === 'function' && typeof router === 'object';
}
