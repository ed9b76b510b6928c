import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { type Installation, installPackage } from '../support/installed-package.ts';

/** The command of each test runner, before the file, and where its `test` comes from. Deno allows no network without a flag, and types no tarball. */
const runners: readonly (readonly [command: readonly string[], declaration: string])[] = [
  [['bun', 'test'], "import { test } from 'bun:test';"],
  [['node', '--test'], "import { test } from 'node:test';"],
  [['deno', 'test', '--no-prompt', '--no-check'], 'const { test } = Deno;'],
];

/** Deno finds packages by the folder in which it is called. */
const inFolder = (command: readonly string[]) => ['sh', '-c', 'cd "$0" && exec "$@"', installation.folder, ...command];

let installation: Installation;
beforeAll(async () => {
  installation = await installPackage();
  await copyFile(join(import.meta.dir, 'own-tests.mjs'), join(installation.folder, 'own-tests.mjs'));
}, 300_000);
afterAll(() => installation.remove(), 60_000);

for (const [command, declaration] of runners) {
  test(`an application without Elysia is tested under ${command.slice(0, 2).join(' ')}`, async () => {
    const file = join(installation.folder, `${command[0]}.test.mjs`);
    const source = `${declaration}
import { cases } from './own-tests.mjs';
for (const [name, run] of Object.entries(cases)) test(name, run);
`;
    await Bun.write(file, source);
    const environment = { PATH: process.env.PATH ?? '', NO_COLOR: '1' };
    const { status, stdout, stderr } = await runToEnd(inFolder([...command, file]), environment);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout + stderr).toMatch(/\b3 pass(ed)?\b|pass 3\b/);
  }, 60_000);
}
