import type { RowDescription } from '../row/description.ts';

// Here is what a run returns.

/** The result of a row. */
export type Verdict = 'passed' | 'failed' | 'warning' | 'skipped' | 'inconclusive';

/** The result of a row on a target. */
export interface ProbedRow extends RowDescription {
  /** Method and URL. */
  readonly target: string;
  /** What came, or why the row was skipped. */
  readonly got: string;
  /** Whether the response is what the standard demands. */
  readonly verdict: Verdict;
  /** What to set in the stack that was named, or that the server is likely to have. */
  readonly setting?: string | undefined;
  /** Why it is known that the row fails. */
  readonly known?: string;
}

/** The result of a run. */
export interface ProbeReport {
  /** Every row. */
  readonly rows: readonly ProbedRow[];
  /** Rows that passed. */
  readonly passed: readonly ProbedRow[];
  /** Rows of level `must` that failed, and known ones that no longer do. Known deviations are in `rows` only. */
  readonly failed: readonly ProbedRow[];
  /** Rows of level `should` that failed. */
  readonly warnings: readonly ProbedRow[];
  /** Rows for which something was missing. */
  readonly skipped: readonly ProbedRow[];
  /** Rows whose responses decide nothing. */
  readonly inconclusive: readonly ProbedRow[];
  /** Operations that the OpenAPI document calls public, and methods that were not named: they were not tried. */
  readonly notTried: readonly string[];
  /** The depth, how many rows it has, and the most requests that it sends. */
  readonly depth: string;
  /** Whether every row that applies has a verdict, and any row does. */
  readonly isComplete: boolean;
  /**
   * Returns a sentence that says what to do first, a table of the rows that have not passed, the most harmful first,
   * and the counts. Defaults to no colour, and to lines of at most 120 characters.
   */
  render(hasColour?: boolean, columns?: number): string;
}
