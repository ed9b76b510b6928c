import type { CaseName } from '../harness/cases.ts';
import type { Measurement } from '../harness/measure.ts';

/** A member of a measurement that is a number. */
export type Figure = Exclude<keyof Measurement, 'contestant' | 'caseName' | 'problems'>;

/** Returns the figure of each round, in order; empty when it was not measured. */
export type Lookup = (contestant: string, caseName: CaseName, figure: Figure) => number[];

export const createLookup =
  (rounds: readonly (readonly Measurement[])[]): Lookup =>
  (contestant, caseName, figure) =>
    rounds.flatMap((round) =>
      round.filter((one) => one.contestant === contestant && one.caseName === caseName).map((one) => one[figure]),
    );
