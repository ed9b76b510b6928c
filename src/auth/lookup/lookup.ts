import { algorithms } from '../keys/algorithms.ts';
import { canBeIssuer } from '../options/issuers.ts';
import { rejectFor } from '../rejections.ts';
import type { Trusts } from '../token/trust.ts';
import type { CheckedOptions } from '../types.ts';
import { isPromise, whenSettled } from '../values/promises.ts';
import { createAnswerReader, type List } from './answer.ts';
import type { IssuerFinder } from './issuer-finder.ts';
import type { QuestionOptions } from './questions.ts';

/*
 * Issuers that a function of the application looks up, as a guard has those that are listed: keys and trusts.
 */

/**
 * Returns the issuers of a guard that the function `ask` knows.
 * @throws {TypeError} of `reload`: no issuer can have this name
 */
export function createLookup(options: CheckedOptions, parts: Omit<QuestionOptions, 'jwksTimeoutSeconds'>, list: List) {
  const read = createAnswerReader(options, list);
  // Loaded only by guards that have such a function, and when they are created: a request must not miss a file. It
  // imports little that other rooms do, because each set of modules that is shared is one more file of the package.
  let finder: IssuerFinder | Promise<IssuerFinder> = load();
  const known = () => (isPromise(finder) ? undefined : finder);

  async function load(): Promise<IssuerFinder> {
    const { IssuerFinder } = await import('./issuer-finder.ts');
    finder = new IssuerFinder({ ...options, ...parts, read });
    return finder;
  }

  const trusts: Trusts = {
    algorithms,
    sole: undefined,
    introspected: undefined,
    of: (iss) => (canBeIssuer(iss) ? whenSettled(finder, (loaded) => loaded.of(iss)) : rejectFor('issuer_mismatch')),
  };
  const keys = {
    start: () => void whenSettled(finder, (loaded) => loaded.start()),
    stop: () => void whenSettled(finder, (loaded) => loaded.stop()),
    async reload(only?: string) {
      if (only !== undefined && !canBeIssuer(only)) throw new TypeError('Cannot reload an issuer: expected its iss');
      await (await finder).reload(only);
    },
    state: () => known()?.state() ?? [],
  };
  return { keys, trusts, rulesOf: (iss: string) => known()?.rulesOf(iss) };
}
