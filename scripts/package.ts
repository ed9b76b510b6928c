import { existsSync } from 'node:fs';
import { cp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { llmsText, sections, site, standalone } from '../docs/.vitepress/pages.ts';
import auth from '../src/auth/package.json' with { type: 'json' };
import probe from '../src/probe/package.json' with { type: 'json' };

const manifests = { auth, probe };

/** The folders of the packages. */
const folders = { auth: join(import.meta.dir, '../src/auth'), probe: join(import.meta.dir, '../src/probe') };
export type Package = keyof typeof folders;

/**
 * Writes JavaScript and declarations of the doors to a folder. Each door is one file, and what doors share is in further files,
 * of which there is one copy: a guard from one door works with the others. Node.js takes a third of a millisecond for each file.
 */
export async function compilePackage(outDir: string, name: Package = 'auth'): Promise<void> {
  const folder = folders[name];
  await declare(name, outDir);
  await build({
    absWorkingDir: folder,
    entryPoints: entryPoints(name),
    outdir: outDir,
    chunkNames: 'shared/[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    packages: 'external',
    target: 'es2023',
    // By default it drops modules that package.json does not list as having side effects.
    ignoreAnnotations: true,
    // tsconfig.json would lead one package to the sources of the other.
    tsconfigRaw: {},
  });
  // The compiler does not rewrite the endings of relative imports in declarations: https://github.com/microsoft/TypeScript/issues/61037
  for (const name of await readdir(outDir, { recursive: true })) {
    if (!name.endsWith('.d.ts')) continue;
    const file = Bun.file(join(outDir, name));
    await file.write((await file.text()).replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'));
  }
}

/** Returns the sources of the doors of a package, and of its command. */
const entryPoints = (name: Package) =>
  [...Object.values(manifests[name].exports), ...Object.values(manifests[name].bin)].flatMap((built) => {
    const file = typeof built === 'string' ? built : built.default;
    return file.endsWith('.js') ? file.replace('dist/', '').replace(/js$/, 'ts') : [];
  });

/** Writes declarations. Those of the probe name the doors of the guard, whose sources the compiler reads but does not write. */
async function declare(name: Package, outDir: string): Promise<void> {
  const whole = `${outDir}-declared`;
  const options = ['--emitDeclarationOnly', '--outDir', whole];
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folders[name], ...options]);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  await cp(existsSync(join(whole, name)) ? join(whole, name) : whole, outDir, { recursive: true });
  await rm(whole, { recursive: true });
}

/** The page of the other package. */
const probePage = 'guides/probe';

/** Writes the pages of the documentation, which the npm package contains for people and language models without a network. */
async function writePages(pagesDir: string): Promise<void> {
  await rm(pagesDir, { recursive: true, force: true });
  const written = Object.values(sections)
    .flat()
    .filter((page) => page !== probePage);
  await Bun.write(
    join(pagesDir, 'llms.txt'),
    llmsText('').replace(new RegExp(`^.*\\(${probePage}\\.md\\).*\n`, 'm'), ''),
  );
  for (const page of written)
    await Bun.write(
      join(pagesDir, `${page}.md`),
      standalone(page).replaceAll(/\]\((?:\.\.\/)?(?:guides\/)?probe\.md/g, `](${site}${probePage}`),
    );
  const pictures = join(import.meta.dir, '../docs/public');
  for (const name of new Bun.Glob('*.svg').scanSync(pictures))
    await Bun.write(join(pagesDir, 'public', name), Bun.file(join(pictures, name)));
}

if (import.meta.main) {
  const name: Package = process.argv[2] === 'probe' ? 'probe' : 'auth';
  const dist = join(folders[name], 'dist');
  await rm(dist, { recursive: true, force: true });
  await compilePackage(dist, name);
  if (name === 'auth') await writePages(join(folders.auth, 'docs'));
}
