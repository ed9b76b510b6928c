import { test } from 'bun:test';
import { clients, expectNoFaults } from './matrix/bundle.ts';
import { runCells } from './matrix/cells.ts';

/** Nightly, the seed is another one and the cells are more. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 300);

test('an application of any composition answers no request without a decision of its guard', async () => {
  expectNoFaults(await runCells(clients(), cells, seed), cells);
}, 3_600_000);
