import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { llmsText, sections, standalone } from '../docs/.vitepress/pages.ts';

/** Writes what the npm package contains: JavaScript and declarations of the doors to `src/auth/dist`, and the pages to `src/auth/docs`. */
const folder = join(import.meta.dir, '../src/auth');

/** Writes JavaScript and declarations of the doors to a folder. */
export async function compilePackage(outDir: string): Promise<void> {
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folder, '--outDir', outDir]);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  // The compiler rewrites the endings of relative imports in JavaScript only: https://github.com/microsoft/TypeScript/issues/61037
  for (const name of await readdir(outDir, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = Bun.file(join(outDir, name));
    await file.write((await file.text()).replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Writes the pages of the documentation, which the npm package contains for people and language models without a network. */
async function writePages(pagesDir: string): Promise<void> {
  await rm(pagesDir, { recursive: true, force: true });
  await Bun.write(join(pagesDir, 'llms.txt'), llmsText(''));
  for (const page of Object.values(sections).flat()) await Bun.write(join(pagesDir, `${page}.md`), standalone(page));
  await Bun.write(join(pagesDir, 'public/request.svg'), Bun.file(join(import.meta.dir, '../docs/public/request.svg')));
}

if (import.meta.main) {
  await rm(join(folder, 'dist'), { recursive: true, force: true });
  await compilePackage(join(folder, 'dist'));
  await writePages(join(folder, 'docs'));
}
