import { expect, test } from 'bun:test';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/auth/package.json';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The suite of the adapter, with the oldest Elysia of the peer range and with the newest 1.4. */
const oldest = manifest.peerDependencies.elysia.replace('>=', '');

test.each([oldest, '~1.4.0'])(
  'the suite of the adapter passes with elysia@%s',
  async (version) => {
    const installed = temporaryFolder();
    await Bun.write(join(installed, 'package.json'), '{ "private": true }');
    await $`${process.execPath} add --ignore-scripts ${`elysia@${version}`}`.cwd(installed).quiet();
    const folder = temporaryFolder('dist');
    // Copies: Bun follows links, and what is linked would import the other Elysia.
    for (const path of ['src', 'tests/auth', 'tests/support', 'package.json', 'tsconfig.json', 'bunfig.toml'])
      await cp(join(root, path), join(folder, path), { recursive: true });
    await $`cp -a ${join(root, 'node_modules')} ${folder}`.quiet();
    const elysia = join(folder, 'node_modules/elysia');
    await $`rm -rf ${elysia} && cp -a ${join(installed, 'node_modules/elysia')} ${elysia}`.quiet();
    for (const name of Object.keys((await Bun.file(join(elysia, 'package.json')).json()).dependencies))
      await cp(join(installed, 'node_modules', name), join(elysia, 'node_modules', name), { recursive: true });
    const { exitCode, stderr } = await $`${process.execPath} test --timeout 120000 tests/auth/elysia`
      .cwd(folder)
      .nothrow()
      .quiet();
    expect(exitCode, stderr.toString().slice(-4000)).toBe(0);
  },
  1_800_000,
);
