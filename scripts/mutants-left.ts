/** A mutant that no test kills, and why that is right. */
export interface MutantLeft {
  readonly file: string;
  /** The changed line. */
  readonly changed: string;
  readonly reason: string;
}

/** Every mutant that may survive `bun run mutate`; any other fails it. */
export const mutantsLeft: readonly MutantLeft[] = [];
