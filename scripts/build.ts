import { mkdirSync, mkdtempSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { billOfMaterials, bundledPackages, licenceProblems } from './bill-of-materials.ts';

/**
 * Writes the executable to `outfile` and its bill of materials beside it, as `<outfile>.cdx.json`.
 *
 * @throws Error if the bundle fails or contains a package whose licence is not on the list.
 */
export async function build(outfile: string, target?: string): Promise<void> {
  const { metafile } = await Bun.build({
    entrypoints: ['src/index.ts'],
    // An executable must not read configuration from the folder in which it is started.
    compile: {
      outfile,
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(target !== undefined && { target: target as Bun.Build.CompileTarget }),
    },
    // Elysia analyses the source of its handlers, so identifiers must keep their names.
    minify: { whitespace: true, syntax: true, identifiers: false },
    bytecode: true,
    format: 'esm',
    // Otherwise CommonJS modules would contain the build folder, and builds in two folders would differ.
    define: { 'process.env.NODE_ENV': '"production"', __dirname: '"/"', __filename: '"/"' },
    metafile: true,
  });
  if (!metafile) throw new Error('Cannot list what was bundled: the bundler returned no metafile');
  const packages = await bundledPackages(metafile);
  const problems = licenceProblems(packages);
  if (problems.length > 0) throw new Error(`Cannot ship the bundle:\n${problems.join('\n')}`);
  const sha256 = new Bun.CryptoHasher('sha256').update(await Bun.file(outfile).bytes()).digest('hex');
  await Bun.write(`${outfile}.cdx.json`, `${JSON.stringify(billOfMaterials(packages, sha256), null, 2)}\n`);
}

if (import.meta.main) {
  // A target is a Bun release to embed, such as bun-linux-arm64. It defaults to the Bun that runs this script.
  const { values } = parseArgs({ options: { target: { type: 'string' } } });
  const outfile = 'dist/protected-api';
  mkdirSync('dist', { recursive: true });
  // Built elsewhere and then moved, because another process may be starting the current executable, or building one too.
  const folder = mkdtempSync('dist/build-');
  await build(join(folder, 'protected-api'), values.target);
  for (const suffix of ['', '.cdx.json']) renameSync(join(folder, `protected-api${suffix}`), `${outfile}${suffix}`);
  rmdirSync(folder);
  console.log(`${outfile}: ${(Bun.file(outfile).size / 1e6).toFixed(0)} MB`);
}
