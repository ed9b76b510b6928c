import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { $ } from 'bun';
import packageJson from '../package.json' with { type: 'json' };
import guard from '../src/auth/package.json' with { type: 'json' };
import probe from '../src/probe/package.json' with { type: 'json' };
import { billOfMaterials, ownFolder, packagesIn } from './bill-of-materials.ts';
import { billName, build, executableName, noticesName } from './build.ts';
import { checkRelease, folder, publish, steps } from './publish.ts';
import { digestOf } from './release-existing.ts';

/*
 * Builds what is released, with the tools that this repository depends on. It has no right to publish: publish.ts does
 * that in another job, without them.
 */

const { version } = packageJson;
const targets = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'] as const;

const members = [
  { folder: 'src/auth', manifest: guard },
  { folder: 'src/probe', manifest: probe },
] as const;
type Member = (typeof members)[number];

/** Writes the tarballs of the packages, and the files of the GitHub release with their SHA-256 sums in SHA256SUMS. */
async function buildRelease(): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const target of targets) {
    const name = join(folder, `protected-api-${version}-${target}`);
    const built = join(folder, target);
    await mkdir(built, { recursive: true });
    await build(built, `bun-${target}`);
    await pack(built, `${name}.tar.gz`);
    await rename(join(built, billName), `${name}.cdx.json`);
    await rm(built, { recursive: true });
  }
  for (const member of members) {
    const tarball = await packPackage(member);
    await Bun.write(`${tarball}.cdx.json`, await packageBill(tarball, member.manifest));
  }
  const names = (await readdir(folder)).toSorted();
  const sums = names.map((name) => `${digestOf('sha256', 'hex', join(folder, name))}  ${name}\n`);
  await Bun.write(join(folder, 'SHA256SUMS'), sums.join(''));
  console.log(names.join('\n'));
}

/** Writes an archive of an executable and its licences to `archive`. The same files make the same archive. */
export async function pack(built: string, archive: string): Promise<void> {
  const reproducible = ['--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=a+rX,u+w,go-w'];
  const files = ['-C', built, executableName, noticesName, '-C', process.cwd(), 'LICENSE'];
  await $`tar --create --gzip --file ${archive} ${reproducible} ${files}`;
}

/** Returns the path of the tarball of a package, which is the same each time. */
async function packPackage({ folder: member, manifest }: Member): Promise<string> {
  await $`${process.execPath} pm pack --quiet --destination ${join(process.cwd(), folder)}`.cwd(member).quiet();
  return join(folder, `${manifest.name}-${version}.tgz`);
}

/** Returns the bill of materials of a package, with the versions of its dependencies that it is tested with. */
export async function packageBill(tarball: string, manifest: Member['manifest'] = guard): Promise<string> {
  const hash = { alg: 'SHA-512', content: digestOf('sha512', 'hex', tarball) };
  return billOfMaterials({ manifest, type: 'library', hash }, await packagesIn(dependenciesOf(manifest)));
}

/** Returns the folders of the dependencies of a package, and of theirs. */
function dependenciesOf({ dependencies }: Pick<Member['manifest'], 'dependencies'>): readonly string[] {
  return Object.keys(dependencies).flatMap((name) =>
    name === guard.name ? [ownFolder, ...dependenciesOf(guard)] : [`node_modules/${name}`],
  );
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  });
  const isDryRun = values['dry-run'];
  const names = positionals.length > 0 ? positionals : ['build', ...Object.keys(steps)];
  if (!isDryRun && names.some((name) => name !== 'build')) {
    console.error('Only the job that may publish does: node scripts/publish.ts. Here, run "build", or use --dry-run');
    process.exit(1);
  }
  checkRelease(isDryRun);
  if (names.includes('build')) await buildRelease();
  if (isDryRun) publish(names, isDryRun);
}
