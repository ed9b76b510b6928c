import { ifPossible } from './faults.ts';

/** The members of a JSON object, of any type. */
export type Members = Readonly<Record<string, unknown>>;

/** Whether a value is an object in the sense of JSON: neither null nor a list. */
export function isJsonObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether an application can say something by the names of its members: a Map has none, and would say nothing. */
export const isRecord = (value: unknown): value is Members => isJsonObject(value) && !(Symbol.iterator in value);

/** Whether a value is an object literal, which has all that it holds in its own members. */
export const isPlainObject = (value: unknown): value is Members =>
  isJsonObject(value) && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** Whether a value is a list of such members. A hole counts as a member that is undefined. */
export function isListOf<Member>(
  value: unknown,
  isMember: (member: unknown) => member is Member,
): value is readonly Member[] {
  return Array.isArray(value) && Array.from(value).every(isMember);
}

/** Returns the names of an object's members, inherited ones included, but not those that every object inherits. */
export function namesIn(value: object): readonly string[] {
  const names: string[] = [];
  for (const name in value) if (Object.hasOwn(value, name) || !(name in Object.prototype)) names.push(name);
  return names;
}

/**
 * Whether an object has a member, its own or inherited. What the prototype of all objects has, such as a name that a
 * fault of another library has added, counts nowhere.
 */
export function hasMember(object: object, name: string): boolean {
  if (!(name in object)) return false;
  if (!(name in Object.prototype)) return true;
  for (let each: object | null = object; each !== null && each !== Object.prototype; each = Object.getPrototypeOf(each))
    if (Object.hasOwn(each, name)) return true;
  return false;
}

/** Returns such a member of an object, or undefined. */
export function memberOf(object: object, name: string): unknown {
  const value: unknown = Reflect.get(object, name);
  // Of an object that has only a getter for all names, it is not known what it has.
  return value === undefined || !(name in Object.prototype) || hasMember(object, name) ? value : undefined;
}

/** Whether a value is a string that is not blank. */
export const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns the JSON object in `bytes`, or undefined for anything else, including an object after a byte order mark. */
export function parseJsonObject(bytes: Uint8Array): Members | undefined {
  const value: unknown = ifPossible(() => JSON.parse(strictUtf8.decode(bytes)));
  return isJsonObject(value) ? value : undefined;
}

/** Returns an object without the members that are null: many serializers write it for a value that is missing. */
export const withoutNulls = (object: Members): Members =>
  Object.values(object).includes(null)
    ? Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))
    : object;

/** Removes, at any depth, members that would change prototypes where an application merges the value into an object. */
export function removePrototypes<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  Reflect.deleteProperty(value, '__proto__');
  const inherited: unknown = value.constructor;
  if (isJsonObject(inherited) && Object.hasOwn(inherited, 'prototype')) Reflect.deleteProperty(value, 'constructor');
  for (const member of Object.values(value)) removePrototypes(member);
  return value;
}

/** Freezes a value with everything in it, and returns it. What cannot be frozen, such as bytes, stays as it is. */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  // Members first, because reading the members of a frozen object is slower.
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}
