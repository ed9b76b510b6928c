import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json';
import { billOfMaterials, bundledPackages, licenceProblems } from './bill-of-materials.ts';
import { withoutSignature } from './code-signature.ts';
import { thirdPartyNotices } from './third-party-notices.ts';

export const [executableName, billName, noticesName] = [
  'protected-api',
  'protected-api.cdx.json',
  'THIRD-PARTY-NOTICES',
] as const;

/**
 * Writes the executable, its bill of materials and the licences of what it contains to `folder`.
 *
 * @throws Error if the bundle fails, or contains a package without a licence, or with one that is not on the list.
 */
export async function build(folder: string, target?: string): Promise<void> {
  const outfile = join(folder, executableName);
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
  let executable: Buffer = Buffer.from(await Bun.file(outfile).arrayBuffer());
  if (target === 'bun-darwin-x64') {
    executable = withoutSignature(executable);
    await Bun.write(outfile, executable);
  }
  const hash = { alg: 'SHA-256', content: new Bun.CryptoHasher('sha256').update(executable).digest('hex') };
  await Bun.write(join(folder, billName), billOfMaterials({ manifest, type: 'application', hash }, packages));
  await Bun.write(join(folder, noticesName), await thirdPartyNotices(packages));
}

if (import.meta.main) {
  // A target is a Bun release to embed, such as bun-linux-arm64. It defaults to the Bun that runs this script.
  const { values } = parseArgs({ options: { target: { type: 'string' } } });
  mkdirSync('dist', { recursive: true });
  // Built elsewhere and then moved, because another process may be starting the current executable, or building one
  // too.
  const folder = mkdtempSync('dist/build-');
  try {
    await build(folder, values.target);
    for (const name of [executableName, billName, noticesName]) renameSync(join(folder, name), join('dist', name));
  } finally {
    rmSync(folder, { recursive: true });
  }
  console.log(`dist/${executableName}: ${(Bun.file(`dist/${executableName}`).size / 1e6).toFixed(0)} MB`);
}
