import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns why a tag cannot be released, based on the version in package.json and the changelog. Empty if it can be
 * released.
 */
export function tagProblems(tag: string, version: string, changelog: string): string[] {
  const problems: string[] = [];
  if (tag !== `v${version}`) problems.push(`Tag "${tag}" is not v${version}, the version in package.json`);
  if (!isReleasable(version))
    problems.push(`Version "${version}" has "-" or "+": pre-releases and builds are not released`);
  const heading = headingOf(version);
  if (!changelog.split('\n').some((line) => line.startsWith(heading) && /- \d{4}-\d\d-\d\d$/.test(line)))
    problems.push(`CHANGELOG.md has no heading "${heading}YYYY-MM-DD"`);
  return problems;
}

/**
 * Returns what the changelog says about this version, and what the executables need.
 *
 * @throws Error if the changelog says nothing about it.
 */
export function releaseNotes(version: string, changelog: string): string {
  const [, afterHeading = ''] = changelog.split(`\n${headingOf(version)}`);
  const [section = ''] = afterHeading.split('\n## ');
  const changes = section.replace(/^.*\n/, '').trim();
  if (changes === '') throw new Error(`Cannot write the notes of the release: CHANGELOG.md has no ${version}`);
  // GitHub breaks the lines of notes where the text does.
  return `${changes}\n\n${requirements}`.replaceAll(/(?<=\S)\n *(?=[^\s#-])/g, ' ');
}

/** Returns a digest of the code on which the figures of bench/results.md depend most. */
export function measuredCode(): string {
  const hasher = createHash('sha256');
  for (const room of ['auth/elysia', 'http']) {
    const folder = join(import.meta.dirname, '../src', room);
    for (const name of readdirSync(folder).toSorted()) hasher.update(name).update(readFileSync(join(folder, name)));
  }
  return hasher.digest('hex').slice(0, 12);
}

/**
 * Returns why the benchmark must be run again: the code that it measured has changed, and two versions were released
 * since.
 */
export function benchProblems(results: string, code: string, changelog: string): string[] {
  const [, revision, version, measured] = /revision: (.+); version: (\S+), code: (\w+)/.exec(results) ?? [];
  if (!revision || !version) return ['bench/results.md names no revision and version: bun run bench'];
  const released = Array.from(changelog.matchAll(/^## \[(.+)\] - \d{4}-/gm), ([, each = '']) => each);
  const isOld = released.filter((each) => isHigher(each, version)).length > 1;
  return isOld && measured !== code
    ? [`bench/results.md is of ${revision} (${version}), and what it measures has changed since: bun run bench`]
    : [];
}

/**
 * Returns which base images are not named by a digest, so that whoever can move their tags decides what is in the
 * released image.
 */
export function baseImageProblems(images: Readonly<Record<string, string>>): string[] {
  const unpinned = Object.values(images).filter((image) => !/@sha256:[\da-f]{64}$/.test(image));
  return unpinned.map(
    (image) =>
      `scripts/base-images.json has no digest of ${image}: add @ and what this prints: ` +
      `docker buildx imagetools inspect ${image} --format '{{.Manifest.Digest}}'`,
  );
}

/** Whether a version can have the tag `latest`, and be the tag of an image. */
const isReleasable = (version: string) => !/[-+]/.test(version);

/** Whether a version that is released is higher than another. */
function isHigher(version: string, other: string): boolean {
  const others = other.split('.').map(Number);
  const differences = version.split('.').map((part, index) => Number(part) - (others[index] ?? 0));
  return (differences.find((difference) => difference !== 0) ?? 0) > 0;
}

/** Returns the tags of a version on npm and of its image: an older version than the newest moves no tag to itself. */
export function tagsOf(version: string, onNpm: readonly string[]): { npm: string; image: readonly string[] } {
  const [major = ''] = version.split('.');
  const published = onNpm.filter(isReleasable);
  const isNewest = (versions: readonly string[]) => versions.every((other) => !isHigher(other, version));
  const isNewestOfMajor = isNewest(published.filter((other) => other.startsWith(`${major}.`)));
  return {
    npm: isNewest(published) ? 'latest' : `latest-${major}`,
    image: [version, ...(isNewestOfMajor ? [major] : []), ...(isNewest(published) ? ['latest'] : [])],
  };
}

const headingOf = (version: string) => `## [${version}] - `;

const requirements = `## Executables

An executable needs neither Bun nor Node.js. It needs Linux with glibc 2.17 or later, or macOS 13 or later; on x64, a CPU with
SSE4.2 (Intel since 2008, AMD since 2011). On Alpine Linux, use the image or run from source. No executable is notarized by Apple:
after a download with a browser, run \`xattr -d com.apple.quarantine protected-api\`. To verify where a file was built, run
\`gh attestation verify FILE --repo protected-api/protected-api\`.
`;
