import fc from 'fast-check';
import type { Members } from './oracle.ts';

/**
 * The number of mutated tokens: bounded in every build, more on demand. The other properties try a part of that number.
 */
export const tokens = Number(process.env.ADVERSARY_TOKENS ?? 4000);
/** Time limit of one property: generous for a slow machine, and never reached by a property that holds. */
export const propertyTimeoutMs = 120_000 + tokens * 20;

// Every build tries the same inputs, so only a change can make it fail. At night the seed is random. fast-check prints
// it.
const seed = Number(process.env.ADVERSARY_SEED ?? 1);
fc.configureGlobal(process.env.ADVERSARY_RANDOM === 'true' ? {} : { seed });

/**
 * Tries this many inputs and prints the outcomes. Each of `expected` must occur, or the generator would prove nothing.
 */
export async function holds<Input>(
  name: string,
  inputs: fc.Arbitrary<Input>,
  numRuns: number,
  expected: readonly string[],
  outcomeOf: (input: Input) => Promise<string>,
): Promise<void> {
  const counts = new Map<string, number>();
  const property = fc.asyncProperty(inputs, async (input) => {
    const outcome = await outcomeOf(input);
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  });
  await fc.assert(property, { numRuns });
  console.log(`${name}: ${numRuns} inputs: ${[...counts].map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`);
  const missing = expected.filter((outcome) => !counts.has(outcome));
  if (missing.length > 0) throw new Error(`${name}: no input was ${missing.join(' or ')}`);
}

const ODD_VALUES = [undefined, null, true, false, 0, -1, 1e308, '', ' ', [], {}, [[]]];

/** One member of an object with one of these values or an odd one. `undefined` removes it. */
export const member = (name: string, values: readonly unknown[]): fc.Arbitrary<Members> =>
  fc.constantFrom(...values, ...ODD_VALUES).map((value) => ({ [name]: value }));
export const anyMember = (names: readonly string[]): fc.Arbitrary<Members> =>
  fc
    .tuple(fc.oneof(fc.constantFrom(...names), fc.string()), fc.jsonValue())
    .map(([name, value]) => ({ [name]: value }));
export const merged = (changes: readonly (Members | undefined)[]): Members =>
  Object.fromEntries(changes.flatMap((change) => Object.entries(change ?? {})));

/** At most so many values; none in `tenths` of all cases, so that about a third of the results are valid. */
export const few = <Value>(value: fc.Arbitrary<Value>, maxLength: number, tenths: number): fc.Arbitrary<Value[]> =>
  fc.oneof(
    { weight: tenths, arbitrary: fc.constant<Value[]>([]) },
    { weight: 10 - tenths, arbitrary: fc.array(value, { minLength: 1, maxLength }) },
  );

const edit = fc.record({
  at: fc.nat(),
  length: fc.oneof(fc.nat(1), fc.nat(5), fc.nat(500)),
  text: fc.oneof(
    { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...'ABCxyz019-_.'), maxLength: 4 }) },
    // Characters that a header value may contain, but base64url does not.
    fc.string({ unit: fc.constantFrom(...'=+/ ~,;:"\\%{}[]\t\u00e9\u00ff'), minLength: 1, maxLength: 3 }),
  ),
});
type Edit = typeof edit extends fc.Arbitrary<infer One> ? One : never;
export const editsOf = (tenths: number) => few(edit, 2, tenths);
export const edited = (token: string, edits: readonly Edit[]): string =>
  edits.reduce((result, { at, length, text }) => {
    const start = at % (result.length + 1);
    return result.slice(0, start) + text + result.slice(start + length);
  }, token);
