import { afterAll, beforeAll, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';
import { bundleMatrix, clientsOf, expectNoFaults, runBundle } from '../auth/elysia/matrix/bundle.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';

const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 200);

let issuer: Issuer;
let folder: string;
beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  folder = await mkdtemp(join(tmpdir(), 'matrix-'));
});
afterAll(async () => {
  await issuer.close();
  await rm(folder, { recursive: true });
});

/** The programs of each form. Flags of the binary are those of the build, which Elysia's reading of source text survives. */
const forms: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'es2016 under Node': async () => ['node', await bundleMatrix(folder)],
  'es2016 under Deno': async () => ['deno', 'run', '--allow-all', await bundleMatrix(folder)],
  'a binary': async () => {
    const main = join(import.meta.dir, '../auth/elysia/matrix/main.ts');
    const binary = join(folder, 'matrix');
    await $`${process.execPath} build --compile --minify-whitespace --minify-syntax --outfile ${binary} ${main}`.quiet();
    return [binary];
  },
};

for (const [name, prepare] of Object.entries(forms))
  test(`the matrix as ${name}`, async () => {
    expectNoFaults(await runBundle(await prepare(), clientsOf(issuer.url), cells, seed), cells);
  }, 3_600_000);
