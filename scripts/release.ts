import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { $ } from 'bun';
import packageJson from '../package.json' with { type: 'json' };
import guard from '../src/auth/package.json' with { type: 'json' };
import probe from '../src/probe/package.json' with { type: 'json' };
import { billOfMaterials, ownFolder, packagesIn } from './bill-of-materials.ts';
import { billName, build, executableName, noticesName } from './build.ts';
import { assertAttested, assertOnGitHub, assertOnNpm, digestOf, findImage } from './release-existing.ts';
import { baseImageProblems, benchProblems, measuredCode, releaseNotes, tagProblems, tagsOf } from './release-plan.ts';

const { version } = packageJson;
const tag = `v${version}`;
const targets = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'] as const;
const folder = 'dist/release';
const repository = packageJson.repository.replace('github:', '');
const image = `ghcr.io/${repository}`;

/** What is published, in this order: the probe needs the guard. */
const members = [
  { folder: 'src/auth', manifest: guard },
  { folder: 'src/probe', manifest: probe },
] as const;
type Member = (typeof members)[number];

interface Release {
  /** Prepares and checks everything, and publishes nothing. */
  readonly isDryRun: boolean;
  /** The versions of the guard on npm. */
  readonly published: readonly string[];
  readonly changelog: string;
  /** By argument of the Dockerfile, the images that the released image is built from. */
  readonly baseImages: Readonly<Record<string, string>>;
}

/**
 * The steps in their order: npm is first, because a version on npm cannot be replaced. Each leaves alone what is there,
 * if it is ours.
 */
export const steps = {
  /**
   * Publishes both packages, or none: what could stop the second is done before the first. Their names must be there:
   * trusted publishing cannot create one.
   */
  async npm({ isDryRun, published }) {
    const missing: string[] = [];
    for (const member of members) {
      const { name } = member.manifest;
      const tarball = await packPackage(member);
      if (!(await publishedVersions(name)).includes(version)) missing.push(tarball);
      else {
        await assertOnNpm(name, version, tarball);
        console.log(`${name}@${version} is on npm`);
      }
    }
    const flags = ['--access', 'public', '--tag', tagsOf(version, published).npm];
    for (const tarball of missing) await $`npm publish ./${tarball} ${flags} --dry-run`;
    if (isDryRun) return;
    for (const tarball of missing) await $`npm publish ./${tarball} ${flags} --provenance`;
  },

  /** Prints what the workflow needs to build, push and attest the image, unless an earlier run has done so. */
  async image({ published, baseImages }) {
    const [first = '', ...others] = tagsOf(version, published).image.map((each) => `${image}:${each}`);
    const found = await findImage(first);
    if (found !== undefined) await assertAttested(image, found, repository, tag);
    console.log(`tags=${[first, ...others].join()}\nis_missing=${found === undefined}`);
    for (const [argument, base] of Object.entries(baseImages)) console.log(`${argument}=${base}`);
  },

  /** Writes the files of the GitHub release, with their SHA-256 sums in SHA256SUMS. */
  async assets() {
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
    const sums = names.map(async (name) => `${await digestOf('sha256', 'hex', join(folder, name))}  ${name}\n`);
    await Bun.write(join(folder, 'SHA256SUMS'), (await Promise.all(sums)).join(''));
    console.log(names.join('\n'));
  },

  /** Makes the GitHub release of these files, a draft until it has all of them. */
  async github({ isDryRun, published, changelog }) {
    const notes = 'dist/release-notes.md';
    await Bun.write(notes, releaseNotes(version, changelog));
    const files = (await readdir(folder)).map((name) => join(folder, name));
    if (isDryRun) return console.log(`Files of ${tag}: ${files.length}\n\n${await Bun.file(notes).text()}`);
    const found = await $`gh release view ${tag} --json isDraft --jq .isDraft`.nothrow().quiet();
    if (found.text().trim() === 'false') {
      await assertOnGitHub(tag, folder);
      return console.log(`The release ${tag} is on GitHub`);
    }
    if (found.exitCode !== 0)
      await $`gh release create ${tag} --draft --verify-tag --title ${tag} --notes-file ${notes}`;
    await $`gh release upload ${tag} ${files} --clobber`;
    // A draft may have had files of another.
    await assertOnGitHub(tag, folder);
    // A fix of an older version must not become what GitHub links to as the latest.
    await $`gh release edit ${tag} --draft=false --latest=${tagsOf(version, published).npm === 'latest'}`;
  },
} satisfies Record<string, (release: Release) => Promise<void>>;

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
  const hash = { alg: 'SHA-512', content: await digestOf('sha512', 'hex', tarball) };
  return billOfMaterials({ manifest, type: 'library', hash }, await packagesIn(dependenciesOf(manifest)));
}

/** Returns the folders of the dependencies of a package, and of theirs. */
function dependenciesOf({ dependencies }: Pick<Member['manifest'], 'dependencies'>): readonly string[] {
  return Object.keys(dependencies).flatMap((name) =>
    name === guard.name ? [ownFolder, ...dependenciesOf(guard)] : [`node_modules/${name}`],
  );
}

/** Returns the versions of a package on npm, which are none before its name is created. */
async function publishedVersions(name: string): Promise<string[]> {
  const { stdout } = await $`npm view ${name} versions --json`.nothrow().quiet();
  const found: string | string[] | { readonly error: { readonly code: string } } = JSON.parse(stdout.toString());
  if (typeof found === 'string' || Array.isArray(found)) return [found].flat();
  if (found.error.code === 'E404') return [];
  throw new Error(`Cannot read the versions on npm: ${found.error.code}`);
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  });
  const isDryRun = values['dry-run'];
  const changelog = await Bun.file('CHANGELOG.md').text();
  const baseImages = await Bun.file('scripts/base-images.json').json();
  const problems = [
    ...tagProblems(isDryRun ? tag : `${process.env.GITHUB_REF}`.replace('refs/tags/', ''), version, changelog),
    ...benchProblems(await Bun.file(join(import.meta.dir, '../bench/results.md')).text(), measuredCode(), changelog),
    ...baseImageProblems(baseImages),
  ];
  if (problems.length > 0) {
    console.error(`Cannot release:\n${problems.join('\n')}`);
    if (!isDryRun) process.exit(1);
  }
  const release = { isDryRun, published: await publishedVersions(guard.name), changelog, baseImages };
  for (const [name, step] of Object.entries(steps)) {
    if (positionals.length > 0 && !positionals.includes(name)) continue;
    console.error(`== ${name}`);
    await step(release);
  }
}
