import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../package.json';

export type Installation = Awaited<ReturnType<typeof installPackage>>;

/** Packs the plugin, and installs the tarball and `others`, in the versions that package.json pins, into an empty folder. */
export async function installPackage(...others: (keyof typeof manifest.devDependencies)[]) {
  const folder = await mkdtemp(join(tmpdir(), 'protected-api-package-'));
  await $`${process.execPath} pm pack --destination ${folder}`.cwd(join(import.meta.dir, '../..')).quiet();
  await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const pinned = others.map((name) => `${name}@${manifest.devDependencies[name]}`);
  const tarball = `./${manifest.name}-${manifest.version}.tgz`;
  await $`npm install --no-audit --no-fund --ignore-scripts ${tarball} ${pinned}`.cwd(folder).quiet();
  return { folder, remove: () => rm(folder, { recursive: true }) };
}
