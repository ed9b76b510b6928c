import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { $, type BunPlugin } from 'bun';
import manifest from '../../package.json';
import { name, version } from '../../src/auth/package.json';
import { startedFor } from './fixture.ts';
import { readText, root } from './repository.ts';
import { temporaryFolder } from './temporary-folder.ts';

const versions: Readonly<Record<string, string>> = {
  ...manifest.dependencies,
  ...manifest.devDependencies,
  // A peer of Elysia, of which the lockfile has one version.
  '@sinclair/typebox': JSON.parse(await readText('node_modules/@sinclair/typebox/package.json')).version,
};
/** Returns a package with the version that package.json pins, unless it has a version of its own. */
export function pin(name: string): string {
  const version = versions[name];
  if (version === undefined && !/.@/.test(name)) throw new Error(`package.json pins no ${name}`);
  return version === undefined ? name : `${name}@${version}`;
}

const packing = new Map<string, Promise<string>>();

/** Returns the path of the tarball of a member, which is packed once for all tests of a process. */
export function packed(member: 'auth' | 'probe' = 'auth'): Promise<string> {
  const found = packing.get(member) ?? pack(member);
  packing.set(member, found);
  return found;
}

async function pack(member: 'auth' | 'probe') {
  const file = `${member === 'auth' ? name : 'protected-api-probe'}-${version}.tgz`;
  // `.ci/run` packs both once, because packing writes files that suites at the same time would share.
  const { TARBALLS } = process.env;
  if (TARBALLS) return join(TARBALLS, file);
  const folder = temporaryFolder();
  await $`${process.execPath} pm pack --destination ${folder}`.cwd(join(root, 'src', member)).quiet();
  return join(folder, file);
}

/** The package manager of most applications, one that takes a twentieth of the time, and one that links packages. */
const installers = {
  npm: ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts'],
  bun: [process.execPath, 'add', '--ignore-scripts'],
  pnpm: ['npx', '--yes', 'pnpm@10.33.0', 'add', '--ignore-scripts'],
};

/**
 * Installs the tarball and `others`, separated by blanks, into an empty folder, with these files of a folder of tests.
 */
async function install(
  others = '',
  from = '',
  files: readonly string[] = [],
  installer: keyof typeof installers = 'bun',
) {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await $`${installers[installer]} ${await packed()} ${others.split(' ').filter(Boolean).map(pin)}`.cwd(folder).quiet();
  for (const file of files) await copyFile(join(root, 'tests', from, file), join(folder, file));
  // The servers in tests/runtimes respond with the codes of the service, which the HTTP tests expect.
  const errors = new Bun.Transpiler({ loader: 'ts' }).transformSync(await readText('src/errors.ts'));
  await Bun.write(join(folder, 'errors.mjs'), errors);
  return folder;
}

export const installedPackage = (...options: Parameters<typeof install>) => startedFor(() => install(...options));

/**
 * Installs this package, and what the lock file in a folder of tests pins, into a new folder with these files of that
 * one.
 */
export async function installLocked(from: string, ...files: readonly string[]): Promise<string> {
  const folder = temporaryFolder();
  for (const file of ['package.json', 'bun.lock', 'bunfig.toml', ...files])
    await copyFile(join(root, 'tests', from, file), join(folder, file));
  await $`${process.execPath} install --frozen-lockfile`.cwd(folder).quiet();
  await $`${process.execPath} add ${await packed()}`.cwd(folder).quiet();
  return folder;
}

/**
 * Compiles a TypeScript file into a folder with the package, because Node.js 20 runs none, and returns the path of the
 * result.
 */
export async function compiled(source: string, folder: string, change = (text: string) => text, name = 'compiled') {
  // tsconfig.json leads the package to its sources, before Bun sees that it is external.
  const installed: BunPlugin = {
    name: 'installed',
    setup: ({ onResolve }) =>
      void onResolve({ filter: new RegExp(`^${name}(?:/|$)`) }, ({ path }) => ({ path, external: true })),
  };
  const options = { target: 'node', packages: 'external' } as const;
  const { outputs } = await Bun.build({ ...options, entrypoints: [source], plugins: [installed] });
  const file = join(folder, `${name}.mjs`);
  await Bun.write(file, change((await outputs[0]?.text()) ?? ''));
  return file;
}
