import { memberOf } from '../values/json.ts';

/** What to do instead of writing a guard by hand, which compiles: applications pass it to functions of their own. */
export const inTests =
  'In tests, give createGuard the options of createTestIssuer() instead of writing a guard by hand';

/**
 * Does nothing for what can be options.
 * @throws {TypeError} the value has a method of a guard, so it is a copy of one, or was written by hand
 */
export function rejectForeignGuard(value: object): void {
  if (['check', 'requireToken'].some((name) => typeof memberOf(value, name) === 'function'))
    throw new TypeError(`Cannot use this guard: it must be one that createGuard() returned, not a copy. ${inTests}`);
}
