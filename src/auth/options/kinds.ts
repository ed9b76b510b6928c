import { isRecord, isText, namesIn } from '../values/json.ts';
import type { Sentence, Wording } from './wording.ts';

/*
 * What kinds of values options and settings have, in code and in an environment variable. Which option is of which kind
 * is decided in options/rules.ts, and what fits together in options/check-options.ts.
 */

/** The format of an option in an environment variable. Options of the kind `code` are not settings. */
export type OptionKind = 'text' | 'list' | 'pairs' | 'boolean' | 'integer' | 'code';

/** The rule of one option. */
export interface OptionRule<Value = unknown> extends Wording {
  readonly kind: OptionKind;
  /** Returns which part of a value in code is not valid, if the value itself does not show it. */
  readonly findFault?: (value: unknown) => string | undefined;
  /** Whether neither messages nor logs repeat the value. */
  readonly isSecret?: boolean;
  /** Returns the checked value, or undefined if it is not valid. */
  readonly read: (value: unknown) => Value | undefined;
  /** The default. Undefined for an option without one. */
  readonly fallback?: Value | undefined;
}

/** The rule of an option that always has a value. */
export interface DefaultedRule<Value> extends OptionRule<Value> {
  readonly fallback: Value;
}

export const withDefault = <Value>(rule: OptionRule<Value>, fallback: Value): DefaultedRule<Value> => ({
  ...rule,
  fallback,
});

/** Returns the rule of a string. */
export const text = (expected: Sentence, isValid: (value: string) => boolean = () => true): OptionRule<string> => ({
  kind: 'text',
  expected,
  read: (value) => (isText(value) && isValid(value) ? value : undefined),
});

/** Returns the rule of an enumeration. */
export const choice = <const Value extends string>(words: readonly Value[], fallback: Value): DefaultedRule<Value> => ({
  kind: 'text',
  expected: `one of ${words.join(', ')}`,
  read: (value) => words.find((word) => word === value),
  fallback,
});

/** Returns the rule of a whole number from `min` to `max`. */
export const integer = (min: number, max: number): OptionRule<number> => ({
  kind: 'integer',
  expected: `a whole number from ${min} to ${max}`,
  read: (value) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined,
});

/** Returns the rule of a boolean. */
export const boolean = (fallback: boolean): DefaultedRule<boolean> => ({
  kind: 'boolean',
  expected: 'true or false',
  read: (value) => (typeof value === 'boolean' ? value : undefined),
  fallback,
});

/** Returns the rule of a list without duplicates. `readMember` returns undefined for a member that is not valid. */
export function list<Member extends string>(
  expected: string,
  readMember: (value: unknown) => Member | undefined,
): OptionRule<readonly Member[]> {
  const read = (value: unknown) => {
    if (!Array.isArray(value) || value.length === 0) return undefined;
    const members = value.flatMap((member) => readMember(member) ?? []);
    return members.length === value.length ? [...new Set(members)] : undefined;
  };
  return { kind: 'list', expected, read };
}

/** Returns the rule of a list of strings that also takes one string. */
export function oneOrMore(
  expected: string,
  isValid: (value: unknown) => value is string = isText,
): OptionRule<readonly string[]> {
  const rule = list(expected, (value) => (isValid(value) ? value : undefined));
  return { ...rule, read: (value) => rule.read(typeof value === 'string' ? [value] : value) };
}

/** Returns the rule of an object whose members, inherited ones included, are read one by one. Defaults to none. */
export function pairs<Value>(
  form: string,
  formInCode: string,
  readMember: (name: string, value: unknown) => Value | undefined,
): DefaultedRule<Readonly<Record<string, Value>>> {
  const read = (given: unknown) => {
    if (!isRecord(given)) return undefined;
    const members = namesIn(given).map((name) => [name, readMember(name, given[name])] as const);
    return members.some(([, value]) => value === undefined)
      ? undefined
      : (Object.fromEntries(members) as Readonly<Record<string, Value>>);
  };
  return { kind: 'pairs', expected: ({ areInCode }) => (areInCode ? formInCode : form), read, fallback: {} };
}

/** Returns the rule of an option that only code can give. It is passed on as it is. */
export const code = <Value>(expected: string, isValid: (value: unknown) => boolean): OptionRule<Value> => ({
  kind: 'code',
  expected,
  read: (value) => (isValid(value) ? (value as Value) : undefined),
});

export const callback = <Value>() => code<Value>('a function', (value) => typeof value === 'function');
