/*
 * Misspelt route options. Elysia ignores an option that it does not know, and TypeScript checks no unknown names beside a schema,
 * so the route would be open to tokens without the scope.
 */
import { requirementError } from '../guard/scopes.ts';
import { isClose } from '../options/check-options.ts';
import { close } from './closing.ts';
import type { Hooks, Instance } from './internals.ts';
import { type Requirement, requirementNames } from './plan.ts';

/** What is a misspelling though more than two letters differ. `acr` is too short for the distance. */
const misspellings: Readonly<Record<Requirement['name'], RegExp>> = {
  scope: /^scope|scopes?$/,
  acr: /^acrs?(values?)?$/,
  maxAge: /^maxage/,
  authorize: /^authori[sz]/,
};

/**
 * Closes an instance for a misspelt option that is none of its macros. Of Elysia's own options, only `stop` is as close to ours.
 * @param place where the option stands, for the error
 * @throws {TypeError} an option is misspelt
 */
export function checkSpelling(instance: Instance, options: Hooks, place: string): void {
  for (const option of Object.keys(options)) {
    if (option in instance.extender.macro || option === 'stop') continue;
    const word = option.toLowerCase().replaceAll(/[_-]/g, '');
    const meant = requirementNames.find(
      (name) => misspellings[name].test(word) || (name !== 'acr' && isClose(word, name.toLowerCase(), 2)),
    );
    if (meant)
      throw close(instance, requirementError(`${option} is not a route option. Did you mean ${meant}?`, place));
  }
}
