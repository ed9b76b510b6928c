import { describe, test } from 'bun:test';
import { clients, expectNoFaults, runBundle } from './matrix/bundle.ts';
import { runCells } from './matrix/cells.ts';

/** Nightly, the seed is another one and the cells are more. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 300);

describe('an application of any composition answers no request without a decision of its guard', () => {
  test('in this process', async () => {
    expectNoFaults(await runCells(clients(), cells, seed), cells);
  }, 3_600_000);

  test('compiled to es2016', async () => {
    expectNoFaults(await runBundle(['bun', 'matrix.mjs'], cells / 5, seed), cells / 5);
  }, 3_600_000);
});
