import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { build, transform } from 'esbuild';
import { llmsText, sections, site, standalone } from '../docs/.vitepress/pages.ts';
import auth from '../src/auth/package.json' with { type: 'json' };
import probe from '../src/probe/package.json' with { type: 'json' };

const manifests = { auth, probe };

/** The folders of the packages. */
const folders = { auth: join(import.meta.dir, '../src/auth'), probe: join(import.meta.dir, '../src/probe') };
export type Package = keyof typeof folders;

/**
 * Writes JavaScript and declarations of the doors to a folder. Each door is one file, and what doors share is in
 * further files, of which there is one copy: a guard from one door works with the others. Node.js takes a third of a
 * millisecond for each file.
 */
export async function compilePackage(outDir: string, name: Package = 'auth'): Promise<void> {
  const folder = folders[name];
  await declare(name, outDir);
  const { outputFiles } = await build({
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
    write: false,
  });
  for (const { path, text } of outputFiles) await Bun.write(path, await withoutComments(text));
}

const withoutDocstrings = (text: string) => text.replaceAll(/^ *\/\*\*.*?\*\/\n/gms, '');

/** Declarations have the docstrings. What is left in JavaScript are the names of the sources. */
async function withoutComments(text: string): Promise<string> {
  const shorter = withoutDocstrings(text).replaceAll(/^ *\/\/ (?!\S+\.ts$).*\n/gm, '');
  const [before, after] = await Promise.all([text, shorter].map((code) => transform(code, { minify: true })));
  if (before?.code !== after?.code) throw new Error('Cannot remove the comments: a text looks like one');
  return shorter;
}

/** Returns the sources of the doors of a package, and of its command. */
const entryPoints = (name: Package) =>
  [...Object.values(manifests[name].exports), ...Object.values(manifests[name].bin)].flatMap((built) => {
    const file = typeof built === 'string' ? built : built.default;
    return file.endsWith('.js') ? file.replace('dist/', '').replace(/js$/, 'ts') : [];
  });

/**
 * Writes the declarations that doors lead to. Those of the probe name doors of the guard, whose sources the compiler
 * reads.
 */
async function declare(name: Package, outDir: string): Promise<void> {
  const whole = `${outDir}-declared`;
  const options = ['--emitDeclarationOnly', '--outDir', whole];
  const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'x', 'tsc', '-p', folders[name], ...options]);
  if (exitCode !== 0) throw new Error(`Cannot compile the package:\n${stdout}`);
  const from = existsSync(join(whole, name)) ? join(whole, name) : whole;
  const files = entryPoints(name).map((file) => file.replace(/ts$/, 'd.ts'));
  // Editors show the docstrings of what doors export, and of the types in their options and results.
  const doors = new Set(files);
  const shown = new Set([...doors, 'types.d.ts', 'rejections.d.ts']);
  // The array grows while it is walked, the doors first.
  for (const file of files) {
    const text = await Bun.file(join(from, file)).text();
    // The compiler does not rewrite the endings of relative imports:
    // https://github.com/microsoft/TypeScript/issues/61037
    const written = text.replaceAll(/((?:from |import\()['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js');
    await Bun.write(join(outDir, file), shown.has(file) ? written : withoutDocstrings(written));
    for (const [, word, path = ''] of written.matchAll(/(export [^;]*)?(?:from |import\()['"](\.[^'"]*)\.js['"]/g)) {
      const next = join(file, '..', `${path}.d.ts`);
      if (word !== undefined && doors.has(file)) shown.add(next);
      if (!files.includes(next)) files.push(next);
    }
  }
  await rm(whole, { recursive: true });
}

/**
 * What is read on the site: pages for operators, for one issuer, for a rare need, and for what comes
 * before or after writing code: choosing, installing, calling, looking for the reason of a rejection. The declarations
 * have the text of the settings, and llms.txt lists the pages.
 */
const isOnSite = (path: string) =>
  [
    /^(?:issuers|migration)\//,
    /^mcp\/connect$/,
    /^(?:index|explain|troubleshooting|settings|standards|comparison|security|deploy|operations|kubernetes)$/,
    /^start\/(?:install|full-stack|graphql)$/,
    /^guides\/(?:callers|own-issuer|token-exchange|several-issuers|opaque-tokens|certificates)$/,
    /^guides\/(?:probe|forward-auth|observability|websockets)$/,
  ].some((pages) => pages.test(path));

/**
 * Writes the pages that people and language models need to write code without a network. Other links lead to the site.
 */
async function writePages(pagesDir: string): Promise<void> {
  await rm(pagesDir, { recursive: true, force: true });
  const packed: typeof sections = Object.fromEntries(
    Object.entries(sections).map(([title, pages]) => [title, pages.filter((page) => !isOnSite(page))]),
  );
  await Bun.write(join(pagesDir, 'llms.txt'), llmsText('', packed));
  for (const page of Object.values(packed).flat()) {
    const text = standalone(page, true).replaceAll(/(\]\()(?![a-z]+:|#)([^)#\s]+)/g, (link, start, path) => {
      const to = posix.join(posix.dirname(page), path.replace(/\.md$/, ''));
      return isOnSite(to) ? start + site + to.replace(/(?<=^|\/)index$/, '') : link;
    });
    await Bun.write(join(pagesDir, `${page}.md`), text);
  }
}

if (import.meta.main) {
  const name: Package = process.argv[2] === 'probe' ? 'probe' : 'auth';
  const dist = join(folders[name], 'dist');
  await rm(dist, { recursive: true, force: true });
  await compilePackage(dist, name);
  if (name === 'auth') await writePages(join(folders.auth, 'docs'));
}
