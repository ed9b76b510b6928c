import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../package.json';
import { name, version } from '../../src/auth/package.json';
import { startedFor } from './fixture.ts';
import { root } from './repository.ts';
import { temporaryFolder } from './temporary-folder.ts';

const versions = { ...manifest.dependencies, ...manifest.devDependencies };

let tarball: Promise<string> | undefined;

/** Returns the path of the tarball, which is packed once for all tests of a process. */
export function packed(): Promise<string> {
  tarball ??= pack();
  return tarball;
}

async function pack() {
  const folder = temporaryFolder();
  await $`${process.execPath} pm pack --destination ${folder}`.cwd(join(root, 'src/auth')).quiet();
  return join(folder, `${name}-${version}.tgz`);
}

/** Installs the tarball and `others`, in the versions that package.json pins, into an empty folder. */
async function install(others: readonly (keyof typeof versions)[], from: string, files: string[]) {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const pinned = others.map((name) => `${name}@${versions[name]}`);
  await $`npm install --no-audit --no-fund --ignore-scripts ${await packed()} ${pinned}`.cwd(folder).quiet();
  for (const file of files) await copyFile(join(root, 'tests', from, file), join(folder, file));
  return folder;
}

/** Installs the package, with these files from a folder of tests beside it, before the tests of the enclosing describe(). */
export const installedPackage = (...options: Parameters<typeof install>) => startedFor(() => install(...options));

/** Compiles a TypeScript file into a folder with the package, because Node.js 20 runs none, and returns the path of the result. */
export async function compiled(source: string, folder: string, change = (text: string) => text) {
  // tsconfig.json leads the package to its sources, so it is named.
  const external = ['protected-api', 'protected-api/*'];
  const { outputs } = await Bun.build({ entrypoints: [source], target: 'node', packages: 'external', external });
  const file = join(folder, 'compiled.mjs');
  await Bun.write(file, change((await outputs[0]?.text()) ?? ''));
  return file;
}
