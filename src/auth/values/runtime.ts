/** The global object, with what only some runtimes have. */
export const runtime = globalThis as {
  readonly Bun?: object;
  readonly Deno?: {
    readonly permissions: { querySync(wanted: object): { readonly state: string } };
    createHttpClient?(options: object): { close(): void };
    unrefTimer(id: unknown): void;
  };
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly execArgv?: readonly string[];
  };
};

/** Whether this process may read a variable. Only Deno can forbid that, and would ask a person for permission. */
export function mayReadVariable(variable: string): boolean {
  const { Deno } = runtime;
  return Deno === undefined || Deno.permissions.querySync({ name: 'env', variable }).state === 'granted';
}

/** Whether an object is the environment of this process, and not a copy. */
export const isOwnEnvironment = (environment: object) => environment === runtime.process?.env;
