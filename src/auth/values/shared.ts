/**
 * Returns what every copy of this major version of the package in a process shares, because package managers install
 * several if their peers differ, and a hot reload makes another one: what one copy has accepted, the other one finds.
 */
export function shared<Value>(name: string, create: () => Value): Value {
  const values = globalThis as unknown as Record<symbol, Value | undefined>;
  const key = Symbol.for(`protected-api 1: ${name}`);
  values[key] ??= create();
  return values[key];
}

/** Returns a map that all copies share. */
export const sharedMap = <Key extends object, Value>(name: string): WeakMap<Key, Value> =>
  shared(name, () => new WeakMap());
