import { algorithms } from '../keys/algorithms.ts';
import type { Trusts } from '../token/trust.ts';
import type { CheckedOptions } from '../types.ts';
import { isPromise, whenSettled } from '../values/promises.ts';
import type { List } from './answer.ts';
import type { IssuerFinder } from './issuer-finder.ts';
import type { QuestionOptions } from './questions.ts';

/*
 * Issuers that a function of the application looks up, as a guard has those that are listed: keys and trusts.
 */

/** Returns the issuers of a guard that the function `ask` knows. */
export function createLookup(options: CheckedOptions, parts: Omit<QuestionOptions, 'jwksTimeoutSeconds'>, list: List) {
  // Loaded only by guards that have such a function, and when they are created: a request must not miss a file.
  let finder: IssuerFinder | Promise<IssuerFinder> = load();
  const known = () => (isPromise(finder) ? undefined : finder);

  async function load(): Promise<IssuerFinder> {
    const { IssuerFinder } = await import('./issuer-finder.ts');
    finder = new IssuerFinder(options, parts, list);
    return finder;
  }

  const trusts: Trusts = {
    algorithms,
    sole: undefined,
    introspected: undefined,
    of: (iss) => whenSettled(finder, (loaded) => loaded.of(iss)),
  };
  const keys = {
    start: () => void whenSettled(finder, (loaded) => loaded.start()),
    stop: () => void whenSettled(finder, (loaded) => loaded.stop()),
    reload: async (only?: string) => (await finder).reload(only),
    state: () => known()?.state() ?? [],
  };
  return { keys, trusts, rulesOf: (iss: string) => known()?.rulesOf(iss) };
}
