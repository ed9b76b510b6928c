import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { llmsText, sections, standalone } from '../docs/.vitepress/pages.ts';
import manifest from '../src/auth/package.json' with { type: 'json' };

/** Writes what the npm package contains: JavaScript and declarations of the doors to `src/auth/dist`, and the pages to `src/auth/docs`. */
const folder = join(import.meta.dir, '../src/auth');

/**
 * Writes JavaScript and declarations of the doors to a folder. Each door is one file, and what doors share is in further files,
 * of which there is one copy: a guard from one door works with the others. Node.js takes a third of a millisecond for each file.
 */
export async function compilePackage(outDir: string): Promise<void> {
  const options = ['--emitDeclarationOnly', '--outDir', outDir];
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folder, ...options]);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  await build({
    absWorkingDir: folder,
    entryPoints: entryPoints(),
    outdir: outDir,
    chunkNames: 'shared/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    packages: 'external',
    target: 'es2023',
    // By default it drops the attributes of JSON imports, and modules that package.json does not list as having side effects.
    supported: { 'import-attributes': true },
    ignoreAnnotations: true,
  });
  // The compiler does not rewrite the endings of relative imports in declarations: https://github.com/microsoft/TypeScript/issues/61037
  for (const name of await readdir(outDir, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = Bun.file(join(outDir, name));
    await file.write((await file.text()).replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Returns the sources of the doors and of the command. */
const entryPoints = () =>
  [...Object.values(manifest.exports), ...Object.values(manifest.bin)].flatMap((built) => {
    const file = typeof built === 'string' ? built : built.default;
    return file.endsWith('.js') ? file.replace('dist/', '').replace(/js$/, 'ts') : [];
  });

/** Writes the pages of the documentation, which the npm package contains for people and language models without a network. */
async function writePages(pagesDir: string): Promise<void> {
  await rm(pagesDir, { recursive: true, force: true });
  await Bun.write(join(pagesDir, 'llms.txt'), llmsText(''));
  for (const page of Object.values(sections).flat()) await Bun.write(join(pagesDir, `${page}.md`), standalone(page));
  const pictures = join(import.meta.dir, '../docs/public');
  for (const name of new Bun.Glob('*.svg').scanSync(pictures))
    await Bun.write(join(pagesDir, 'public', name), Bun.file(join(pictures, name)));
}

if (import.meta.main) {
  await rm(join(folder, 'dist'), { recursive: true, force: true });
  await compilePackage(join(folder, 'dist'));
  await writePages(join(folder, 'docs'));
}
