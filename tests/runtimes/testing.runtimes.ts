import { afterAll, beforeAll, expect, test } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { type Installation, installPackage } from '../support/installed-package.ts';

let installation: Installation;
const file = () => join(installation.folder, 'own-tests.mjs');
beforeAll(async () => {
  installation = await installPackage();
  await copyFile(join(import.meta.dir, 'own-tests.mjs'), file());
}, 300_000);
afterAll(() => installation.remove(), 60_000);

// Deno allows no network without a flag.
for (const command of [['bun'], ['node'], ['deno', 'run', '--no-prompt']])
  test(`an application without Elysia is tested under ${command[0]}`, async () => {
    const finished = await runToEnd([...command, file()], { PATH: process.env.PATH ?? '', NO_COLOR: '1' });
    expect(finished).toEqual({ status: 0, stdout: 'All as expected\n', stderr: '' });
  });
