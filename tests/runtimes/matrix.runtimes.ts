import { afterAll, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';
import { expectNoFaults, runBundle } from '../auth/elysia/matrix/bundle.ts';

const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 200);

const folder = mkdtempSync(join(tmpdir(), 'matrix-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The programs of each form. Flags of the binary are those of the build, which Elysia's reading of source text survives. */
const forms: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'es2016 under Bun': async () => ['bun', 'matrix.mjs'],
  'es2016 under Node': async () => ['node', 'matrix.mjs'],
  'es2016 under Deno': async () => ['deno', 'run', '--allow-all', 'matrix.mjs'],
  'a binary': async () => {
    const main = join(import.meta.dir, '../auth/elysia/matrix/main.ts');
    const binary = join(folder, 'matrix');
    await $`${process.execPath} build --compile --minify-whitespace --minify-syntax --outfile ${binary} ${main}`.quiet();
    return [binary];
  },
};

for (const [name, prepare] of Object.entries(forms))
  test(`the matrix as ${name}`, async () => {
    expectNoFaults(await runBundle(await prepare(), cells, seed), cells);
  }, 3_600_000);
