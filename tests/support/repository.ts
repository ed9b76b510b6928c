import { join } from 'node:path';
import { $ } from 'bun';

export const root = join(import.meta.dir, '../..');

export const readText = (path: string) => Bun.file(join(root, path)).text();

/** Returns the paths of the pages that people read on GitHub. */
export const pages = [
  '*.md',
  '{bench,deploy,docs,examples}/*.md',
  'docs/{guides,issuers,mcp,migration,start}/*.md',
  'src/{auth,probe}/*.md',
].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(root)]);

/** Copies what is in the repository, committed or not, and the installed packages. */
export async function copyRepository(folder: string): Promise<void> {
  await copySources(folder);
  const copyPackages = (options: string) => $`cp ${options} node_modules ${folder}`.cwd(root).quiet().nothrow();
  // Links where the file system allows them: copying takes seconds.
  if ((await copyPackages('-al')).exitCode !== 0) await copyPackages('-a');
}

/** Copies what is in the repository, as a fresh clone has it. */
export async function copySources(folder: string): Promise<void> {
  await $`git ls-files -co --exclude-standard -z | tar --null -c --ignore-failed-read -T - | tar -x -C ${folder}`
    .cwd(root)
    .quiet();
}
