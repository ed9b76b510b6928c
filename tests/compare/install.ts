import { cp } from 'node:fs/promises';
import { $ } from 'bun';
import { packed } from '../support/installed-package.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

export const nodeLine = '24';

/** Installs the libraries and this package into a new folder, which has the files of this one. */
export async function installLibraries(): Promise<string> {
  const folder = temporaryFolder();
  await cp(import.meta.dir, folder, { recursive: true });
  await $`${process.execPath} install --frozen-lockfile`.cwd(folder).quiet();
  await $`${process.execPath} add ${await packed()}`.cwd(folder).quiet();
  return folder;
}
