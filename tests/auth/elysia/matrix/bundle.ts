import { expect } from 'bun:test';
import { join } from 'node:path';
import { build } from 'esbuild';
import { offline, tokenOf } from '../../../support/checked.ts';
import { runToEnd } from '../../../support/child-process.ts';
import { rsaKey } from '../../../support/keys.ts';
import { EASY, SCOPE } from './requirements.ts';
import type { Clients, runCells } from './run.ts';

type Report = Awaited<ReturnType<typeof runCells>>;

/** Every night, the cells take longer than a token of the other tests is valid. */
const exp = 4_000_000_000;

export const clients = (): Clients => ({
  options: offline(),
  valid: tokenOf({ claims: { exp, scope: `${SCOPE} ${EASY}` } }),
  unscoped: tokenOf({ claims: { exp, scope: EASY } }),
  forged: tokenOf({ claims: { exp }, key: rsaKey('another key') }),
});

/** Compiles the matrix, the plugin and Elysia for old browsers, to a module with the name that commands use. */
async function bundleMatrix() {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dir, 'main.ts')],
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2016',
    supported: { 'import-meta': true },
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  });
  return { 'matrix.mjs': outputFiles[0]?.text ?? '' };
}

/** Runs the matrix in another process, by a command for `matrix.mjs`. */
export async function runBundle(command: readonly string[], count: number, seed: number): Promise<Report> {
  const settings = { CLIENTS: JSON.stringify(clients()), COUNT: String(count), SEED: String(seed) };
  const environment = { PATH: process.env.PATH ?? '', NO_COLOR: '1', ...settings };
  const { status, stdout, stderr } = await runToEnd(command, environment, await bundleMatrix());
  if (status !== 0) throw new Error(`The matrix ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

/** The seed is part of the comparison, so a failure can be repeated with MATRIX_SEED. */
export function expectNoFaults({ faulty }: Report, seed?: number): void {
  expect({ seed, faults: faulty.length, faulty: faulty.slice(0, 10) }).toEqual({ seed, faults: 0, faulty: [] });
}

/** Of the cells that exist on this runtime, where some cannot listen, many are served and some are not. */
export function expectSpread({ outcomes }: Report, count: number): void {
  const possible = count - outcomes.impossible;
  expect(possible).toBeGreaterThan(count / 2);
  expect(outcomes.served).toBeGreaterThan(possible / 3);
  expect(outcomes.closed).toBeGreaterThan(possible / 20);
}
