import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
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
}

/** Returns the sources of the doors of a package, and of its command. */
const entryPoints = (name: Package) =>
  [...Object.values(manifests[name].exports), ...Object.values(manifests[name].bin)].flatMap((built) => {
    const file = typeof built === 'string' ? built : built.default;
    return file.endsWith('.js') ? file.replace('dist/', '').replace(/js$/, 'ts') : [];
  });

/** Writes the declarations that doors lead to. Those of the probe name doors of the guard, whose sources the compiler reads. */
async function declare(name: Package, outDir: string): Promise<void> {
  const whole = `${outDir}-declared`;
  const options = ['--emitDeclarationOnly', '--outDir', whole];
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folders[name], ...options]);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  const from = existsSync(join(whole, name)) ? join(whole, name) : whole;
  const files = entryPoints(name).map((file) => file.replace(/ts$/, 'd.ts'));
  // The array grows while it is walked.
  for (const file of files) {
    const text = await Bun.file(join(from, file)).text();
    // The compiler does not rewrite the endings of relative imports: https://github.com/microsoft/TypeScript/issues/61037
    const written = text.replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js');
    await Bun.write(join(outDir, file), written);
    for (const [, path = ''] of written.matchAll(/(?:from |import\()['"](\.[^'"]*)\.js['"]/g)) {
      const next = join(file, '..', `${path}.d.ts`);
      if (!files.includes(next)) files.push(next);
    }
  }
  await rm(whole, { recursive: true });
}

/** The pages of the other package: how to use it, and its results. */
const pagesOfProbe = ['guides/probe', 'comparison'];

/** Writes the pages of the documentation, which the npm package contains for people and language models without a network. */
async function writePages(pagesDir: string): Promise<void> {
  await rm(pagesDir, { recursive: true, force: true });
  const isOurs = (line: string) => !pagesOfProbe.some((page) => line.includes(`](${page}.md)`));
  await Bun.write(join(pagesDir, 'llms.txt'), llmsText('').split('\n').filter(isOurs).join('\n'));
  for (const page of Object.values(sections).flat()) {
    if (pagesOfProbe.includes(page)) continue;
    const links = /\]\((?:\.\.\/)?((?:guides\/)?probe|comparison)\.md/g;
    const text = standalone(page).replaceAll(links, (_, to) => `](${site}${to === 'probe' ? 'guides/probe' : to}`);
    await Bun.write(join(pagesDir, `${page}.md`), text);
  }
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
