import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { runToEnd } from '../support/child-process.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';

const folder = installedPackage([], 'runtimes', ['own-tests.mjs']);

// Deno finds packages by its working directory, and does not type-check a tarball.
for (const command of ['bun test --timeout 60000', 'node --test', 'deno test --no-prompt --no-check'])
  test(`an application without Elysia is tested by ${command}`, async () => {
    const inFolder = ['sh', '-c', `cd "$0" && exec ${command} ./own-tests.mjs`, folder()];
    const { status, stdout, stderr } = await runToEnd(inFolder, { PATH: process.env.PATH ?? '', NO_COLOR: '1' });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout + stderr).toMatch(/\b2 pass(ed)?\b|pass 2\b/);
  });

describe('servers of Node.js, with the tarball', () => {
  const folder = installedPackage(['connect', 'express', 'express-4'], 'runtimes', []);

  test('pass the tests of tests/auth/node under Node.js', async () => {
    const file = await compiled(join(import.meta.dir, '../auth/node/servers.test.ts'), folder());
    const { status, stdout, stderr } = await runToEnd(['node', '--test', file], { PATH: process.env.PATH ?? '' });
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/pass [1-9]\d/);
  });
});
