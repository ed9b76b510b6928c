interface Runtime {
  readonly process?: { readonly env?: object };
  readonly Deno?: { readonly permissions: { querySync(wanted: object): { readonly state: string } } };
}

/** Whether this process may read a variable. Only Deno can forbid that, and would ask a person for permission. */
export function mayReadVariable(variable: string): boolean {
  const { Deno } = globalThis as Runtime;
  return Deno === undefined || Deno.permissions.querySync({ name: 'env', variable }).state === 'granted';
}

/** Whether an object is the environment of this process, and not a copy. */
export const isOwnEnvironment = (environment: object) => environment === (globalThis as Runtime).process?.env;
