import { beforeAll, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { expectNoFaults, expectSpread, runBundle } from '../auth/elysia/matrix/bundle.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 200);

const binary = join(temporaryFolder(), 'matrix');
/** The flags are those of the build, which Elysia's reading of source text survives. */
beforeAll(async () => {
  const main = join(import.meta.dir, '../auth/elysia/matrix/main.ts');
  await $`${process.execPath} build --compile --minify-whitespace --minify-syntax --outfile ${binary} ${main}`.quiet();
});

for (const [name, ...command] of [
  ['es2016 under Bun', 'bun', 'matrix.mjs'],
  ['es2016 under Node', 'node', 'matrix.mjs'],
  ['es2016 under Deno', 'deno', 'run', '--allow-all', 'matrix.mjs'],
  ['a binary', binary],
])
  test(`the matrix as ${name}`, async () => {
    const report = await runBundle(command, cells, seed);
    expectNoFaults(report, seed);
    expectSpread(report, cells);
  }, 3_600_000);
