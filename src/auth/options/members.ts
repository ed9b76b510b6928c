import { isRecord, type Members, memberOf, namesIn } from '../values/json.ts';
import { describeValue } from './describe-value.ts';
import type { DefaultedRule, OptionRule } from './kinds.ts';
import { describeUnknown } from './spelling.ts';
import { inCode, say } from './wording.ts';

/*
 * How an object of the application is read: each member by its rule, and once, because it may be a getter. Inherited
 * members count. How the options of a guard are read, with all of their mistakes, is in check-options.ts.
 */

type Rules = Readonly<Record<string, OptionRule>>;
type ValueOf<Rule> =
  Rule extends DefaultedRule<infer Value> ? Value : Rule extends OptionRule<infer Value> ? Value | undefined : never;

/** Returns the members that are not undefined, and what is wrong with the first that is not valid. */
export function readMembers(rules: Rules, given: Members, required: readonly string[] = []) {
  // Without a prototype, because whoever reads a member that is left out must not find one of all objects.
  const values: Record<string, unknown> = Object.create(null);
  const unknown = namesIn(given).find((name) => !Object.hasOwn(rules, name));
  if (unknown !== undefined) return { values, fault: describeUnknown(unknown, Object.keys(rules)) };
  for (const [name, { read, expected, isSecret = false }] of Object.entries(rules)) {
    const value = memberOf(given, name);
    if (value === undefined && !required.includes(name)) continue;
    values[name] = read(value);
    if (values[name] !== undefined) continue;
    return {
      values,
      fault: `${name} must be ${say(expected, inCode)}, got ${isSecret ? '***' : describeValue(value)}`,
    };
  }
  return { values, fault: undefined };
}

/**
 * Returns all members, with the defaults of those that are undefined.
 * @throws {TypeError} the value is no object, or a member is unknown, or not valid
 */
export function checkMembers<Given extends Rules>(
  action: string,
  rules: Given,
  given: unknown,
  required?: readonly string[],
): { readonly [Name in keyof Given]: ValueOf<Given[Name]> } {
  const { values, fault } = isRecord(given)
    ? readMembers(rules, given, required)
    : { values: {}, fault: `options must be an object, got ${describeValue(given)}` };
  if (fault !== undefined) throw new TypeError(`${action}: ${fault}`);
  const fallbacks = Object.entries(rules).map(([name, rule]) => [name, memberOf(rule, 'fallback')]);
  return { ...Object.fromEntries(fallbacks), ...values };
}
