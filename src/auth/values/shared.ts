/**
 * Returns a map that every copy of this major version of the package in a process shares, because package managers
 * install several if their peers differ: what one copy has accepted, the other one finds.
 */
export function sharedMap<Key extends object, Value>(name: string): WeakMap<Key, Value> {
  const maps = globalThis as unknown as Record<symbol, WeakMap<Key, Value> | undefined>;
  const key = Symbol.for(`protected-api 1: ${name}`);
  maps[key] ??= new WeakMap();
  return maps[key];
}
