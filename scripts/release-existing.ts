import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/*
 * What a release finds where it wants to publish. "Is there" is not "is ours": whoever may write to a registry can put
 * a version there first. So it must be exactly what this run has built, or be attested by the workflow for this very
 * commit. And "cannot be read" is not "is not there": only the words of the tool for that are.
 */

/** Throws unless a version on npm is exactly this tarball. */
export function assertOnNpm(name: string, version: string, tarball: string): void {
  const found = outputOf('npm', ['view', `${name}@${version}`, 'dist.integrity']);
  const packed = `sha512-${digestOf('sha512', 'base64', tarball)}`;
  if (found !== packed) throw new Error(`${name}@${version} on npm is another: ${found}, not ${packed} of ${tarball}`);
}

/** Returns the digest of an image in the registry, or undefined if the registry says that there is none. */
export function findImage(name: string): string | undefined {
  const args = ['buildx', 'imagetools', 'inspect', name, '--format', '{{.Manifest.Digest}}'];
  return outputOf('docker', args, new RegExp(`^(?:ERROR|error): ${RegExp.escape(name)}: not found$`, 'm'));
}

/**
 * Throws unless the release workflow has attested that it built this image from the commit that is checked out, for
 * this tag.
 */
export function assertAttested(image: string, digest: string, repository: string, tag: string): void {
  const commit = outputOf('git', ['rev-parse', 'HEAD']) ?? '';
  const workflow = `${repository}/.github/workflows/release.yml`;
  const source = ['--signer-workflow', workflow, '--source-ref', `refs/tags/${tag}`, '--source-digest', commit];
  const subject = [`oci://${image}@${digest}`, '--repo', repository];
  const verified = runQuietly('gh', ['attestation', 'verify', ...subject, ...source]);
  if (verified.status !== 0)
    throw new Error(
      `${image}@${digest} has the tag of this release, which did not build it: find out who pushed it, then delete it`,
    );
}

/** Throws unless a release on GitHub has exactly the files of this folder. */
export function assertOnGitHub(tag: string, folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  const built = files.map((file) => `${basename(file)} sha256:${digestOf('sha256', 'hex', file)}`);
  const { assets }: { readonly assets: readonly { readonly name: string; readonly digest?: string }[] } = JSON.parse(
    outputOf('gh', ['release', 'view', tag, '--json', 'assets']) ?? '',
  );
  const found = assets.map(({ name, digest }) => `${name} ${digest}`);
  const differing = new Set(built).symmetricDifference(new Set(found));
  if (differing.size > 0)
    throw new Error(`The release ${tag} on GitHub has other files:\n${[...differing].join('\n')}`);
}

export const digestOf = (algorithm: 'sha256' | 'sha512', encoding: 'hex' | 'base64', file: string) =>
  createHash(algorithm).update(readFileSync(file)).digest(encoding);

/** Runs a command, and returns how it ended and what it printed. */
export function runQuietly(command: string, args: readonly string[]) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (error) throw error;
  return { status, stdout, stderr };
}

/** Returns what a command prints, or undefined if it fails with `notFound`. Any other failure is an error. */
export function outputOf(command: string, args: readonly string[], notFound?: RegExp): string | undefined {
  const { status, stdout, stderr } = runQuietly(command, args);
  if (status === 0) return stdout.trim();
  if (notFound?.test(stderr)) return undefined;
  throw new Error(`"${command} ${args.join(' ')}" ended with ${status}: ${stderr.trim()}`);
}
