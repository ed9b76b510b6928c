import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { assertAttested, assertOnGitHub, assertOnNpm, findImage, outputOf, runQuietly } from './release-existing.ts';
import { baseImageProblems, benchProblems, measuredCode, releaseNotes, tagProblems, tagsOf } from './release-plan.ts';

/*
 * Publishes what `bun run release build` has written to dist/release. Node.js alone runs this file and what it imports:
 * no dependency, of which one release could change the next, runs where there is the right to publish.
 */

const { version } = packageJson;
const tag = `v${version}`;
export const folder = 'dist/release';
const repository = packageJson.repository.replace('github:', '');
const image = `ghcr.io/${repository}`;

/** What is published, in this order: the probe needs the guard. */
const packages = ['protected-api', 'protected-api-probe'] as const;

interface Release {
  /** Checks everything, and publishes nothing. */
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
  npm({ isDryRun, published }) {
    const missing: string[] = [];
    for (const name of packages) {
      const tarball = join(folder, `${name}-${version}.tgz`);
      if (!publishedVersions(name).includes(version)) missing.push(tarball);
      else {
        assertOnNpm(name, version, tarball);
        console.log(`${name}@${version} is on npm`);
      }
    }
    const flags = ['--access', 'public', '--tag', tagsOf(version, published).npm];
    for (const tarball of missing) run('npm', ['publish', `./${tarball}`, ...flags, '--dry-run']);
    if (isDryRun) return;
    for (const tarball of missing) run('npm', ['publish', `./${tarball}`, ...flags, '--provenance']);
  },

  /** Prints what the workflow needs to build, push and attest the image, unless an earlier run has done so. */
  image({ published, baseImages }) {
    const [first = '', ...others] = tagsOf(version, published).image.map((each) => `${image}:${each}`);
    const found = findImage(first);
    if (found !== undefined) assertAttested(image, found, repository, tag);
    console.log(`tags=${[first, ...others].join()}\nis_missing=${found === undefined}`);
    for (const [argument, base] of Object.entries(baseImages)) console.log(`${argument}=${base}`);
  },

  /** Makes the GitHub release of the files, a draft until it has all of them. */
  github({ isDryRun, published, changelog }) {
    const notes = 'dist/release-notes.md';
    writeFileSync(notes, releaseNotes(version, changelog));
    const files = readdirSync(folder)
      .toSorted()
      .map((name) => join(folder, name));
    if (isDryRun) return console.log(`Files of ${tag}: ${files.length}\n\n${readFileSync(notes, 'utf8')}`);
    const view = ['release', 'view', tag, '--json', 'isDraft', '--jq', '.isDraft'];
    const found = outputOf('gh', view, /^release not found$/m);
    if (found === 'false') {
      assertOnGitHub(tag, folder);
      return console.log(`The release ${tag} is on GitHub`);
    }
    const title = ['--title', tag, '--notes-file', notes];
    if (found === undefined) run('gh', ['release', 'create', tag, '--draft', '--verify-tag', ...title]);
    run('gh', ['release', 'upload', tag, ...files, '--clobber']);
    // A draft may have had files of another.
    assertOnGitHub(tag, folder);
    // A fix of an older version must not become what GitHub links to as the latest.
    run('gh', ['release', 'edit', tag, '--draft=false', `--latest=${tagsOf(version, published).npm === 'latest'}`]);
  },
} satisfies Record<string, (release: Release) => void>;

/** Runs a command whose output belongs into the log. */
function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`"${command} ${args.join(' ')}" ended with ${status}`);
}

/** Returns the versions of a package on npm, which are none before its name is created. */
function publishedVersions(name: string): string[] {
  const { stdout } = runQuietly('npm', ['view', name, 'versions', '--json']);
  const found: string | string[] | { readonly error: { readonly code: string } } = JSON.parse(stdout);
  if (typeof found === 'string' || Array.isArray(found)) return [found].flat();
  if (found.error.code === 'E404') return [];
  throw new Error(`Cannot read the versions on npm: ${found.error.code}`);
}

/** Ends the process if the version in package.json cannot be released, and with `isDryRun` only says why. */
export function checkRelease(isDryRun: boolean): void {
  const problems = [
    ...tagProblems(isDryRun ? tag : `${process.env.GITHUB_REF}`.replace('refs/tags/', ''), version, readChangelog()),
    ...benchProblems(
      readFileSync(join(import.meta.dirname, '../bench/results.md'), 'utf8'),
      measuredCode(),
      readChangelog(),
    ),
    ...baseImageProblems(readBaseImages()),
  ];
  if (problems.length === 0) return;
  console.error(`Cannot release:\n${problems.join('\n')}`);
  if (!isDryRun) process.exit(1);
}

const readChangelog = () => readFileSync('CHANGELOG.md', 'utf8');
const readBaseImages = () => JSON.parse(readFileSync('scripts/base-images.json', 'utf8'));

/** Runs the steps with these names. */
export function publish(names: readonly string[], isDryRun: boolean): void {
  const read = { changelog: readChangelog(), baseImages: readBaseImages() };
  const release = { isDryRun, published: publishedVersions(packages[0]), ...read };
  for (const [name, step] of Object.entries(steps)) {
    if (!names.includes(name)) continue;
    console.error(`== ${name}`);
    step(release);
  }
}

if (import.meta.main) {
  checkRelease(false);
  publish(process.argv.slice(2), false);
}
