import { beforeAll, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { build } from 'esbuild';
import { clients, expectNoFaults, expectSpread, type Report } from '../auth/elysia/matrix/report.ts';
import { runToEnd } from '../support/child-process.ts';
import { isNight } from '../support/node-versions.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const seed = Number(process.env.MATRIX_SEED ?? 20);
const cells = Number(process.env.MATRIX_CELLS ?? 250);

const main = join(import.meta.dir, 'matrix-main.ts');
const binary = join(temporaryFolder(), 'matrix');
/** The flags are those of the build, which Elysia's reading of source text survives. */
beforeAll(async () => {
  await $`${process.execPath} build --compile --minify-whitespace --minify-syntax --outfile ${binary} ${main}`.quiet();
});

const required = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
/** Node.js 20 has no such function, without which the traces of Elysia fail. */
const withResolvers =
  'Promise.withResolvers ??= () => { let parts; const promise = new Promise((...both) => { parts = both; }); return { promise, resolve: parts[0], reject: parts[1] }; };';

/** Compiles the matrix, the plugin and Elysia for old browsers, to a module with the name that commands use. */
async function bundleMatrix() {
  const { outputFiles } = await build({
    entryPoints: [main],
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'es2016',
    supported: { 'import-meta': true },
    banner: { js: `${required}\n${withResolvers}` },
    logLevel: 'error',
  });
  return { 'matrix.mjs': outputFiles[0]?.text ?? '' };
}

/** What bundlers do is the same in each runtime, so by day one runs it. */
const runtimes = [
  ['es2016 under Node', 'node', 'matrix.mjs'],
  ['es2016 under Bun', 'bun', 'matrix.mjs'],
  ['es2016 under Deno', 'deno', 'run', '--allow-all', 'matrix.mjs'],
] as const;

for (const [name, ...command] of [...(isNight ? runtimes : runtimes.slice(0, 1)), ['a binary', binary] as const])
  test(`the matrix as ${name}`, async () => {
    const settings = { CLIENTS: JSON.stringify(clients()), COUNT: String(cells), SEED: String(seed) };
    const environment = { PATH: process.env.PATH ?? '', NO_COLOR: '1', ...settings };
    const { status, stdout, stderr } = await runToEnd(command, environment, await bundleMatrix());
    if (status !== 0) throw new Error(`The matrix ended with ${status}: ${stderr}`);
    const report: Report = JSON.parse(stdout);
    expectNoFaults(report, seed);
    expectSpread(report, cells);
  }, 3_600_000);
