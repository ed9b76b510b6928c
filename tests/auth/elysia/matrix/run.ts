import type { GuardOptions } from '../../../../src/auth/elysia.ts';
import { type Cell, isImpossible, unusual } from './cells.ts';
import { compare, expectationOf } from './expect.ts';
import { observeGuarded, type Tokens } from './observe.ts';

/**
 * Options of the guard, and tokens: one that every route accepts, one without the scope, one that another key signed.
 */
export interface Clients extends Omit<Tokens, 'none'> {
  readonly options: GuardOptions;
}

/** Runs cells with the options of a guard. What Elysia writes to the console is not shown. */
export async function runCells({ options, ...tokens }: Clients, cells: readonly Cell[]) {
  const { error, log, warn } = console;
  Object.assign(console, { error() {}, log() {}, warn() {} });
  const outcomes = { served: 0, closed: 0, impossible: 0 };
  const faulty: { faults: readonly string[]; cell: Partial<Cell> }[] = [];
  for (const cell of cells) {
    if (isImpossible(cell)) {
      outcomes.impossible += 1;
      continue;
    }
    const expected = await expectationOf(cell);
    const { faults, wasServed } = compare(expected, await observeGuarded(cell, options, { none: '', ...tokens }));
    outcomes[wasServed ? 'served' : 'closed'] += 1;
    if (faults.length > 0) faulty.push({ faults, cell: unusual(cell) });
  }
  Object.assign(console, { error, log, warn });
  return { outcomes, faulty };
}
