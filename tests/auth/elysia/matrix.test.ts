import { afterAll, beforeAll, describe, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';
import { bundleMatrix, clientsOf, expectNoFaults, runBundle } from './matrix/bundle.ts';
import { runCells } from './matrix/run.ts';

/** Nightly, the seed is another one and the cells are more. */
const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 300);

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

describe('an application of any composition answers no request without a decision of its guard', () => {
  test('in this process', async () => {
    expectNoFaults(await runCells(clientsOf(issuer.url), cells, seed), cells);
  }, 3_600_000);

  test('compiled to es2016', async () => {
    const bundle = await bundleMatrix(folder);
    expectNoFaults(await runBundle(['bun', bundle], clientsOf(issuer.url), cells / 5, seed), cells / 5);
  }, 3_600_000);
});
