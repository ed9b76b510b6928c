import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { $, CryptoHasher } from 'bun';

/*
 * What a release finds where it wants to publish. "Is there" is not "is ours": whoever may write to a registry can put
 * a version there first. So it must be exactly what this run has built, or be attested by the workflow for this very
 * commit.
 */

/** Throws unless a version on npm is exactly this tarball. */
export async function assertOnNpm(name: string, version: string, tarball: string): Promise<void> {
  const found = (await $`npm view ${name}@${version} dist.integrity`.quiet().text()).trim();
  const packed = `sha512-${await digestOf('sha512', 'base64', tarball)}`;
  if (found !== packed) throw new Error(`${name}@${version} on npm is another: ${found}, not ${packed} of ${tarball}`);
}

/** Returns the digest of an image in the registry, or undefined if there is none. */
export async function findImage(name: string): Promise<string | undefined> {
  const inspect = $`docker buildx imagetools inspect ${name} --format ${'{{.Manifest.Digest}}'}`;
  return (await inspect.nothrow().quiet().text()).trim() || undefined;
}

/**
 * Throws unless the release workflow has attested that it built this image from the commit that is checked out, for
 * this tag.
 */
export async function assertAttested(image: string, digest: string, repository: string, tag: string): Promise<void> {
  const commit = (await $`git rev-parse HEAD`.quiet().text()).trim();
  const workflow = `${repository}/.github/workflows/release.yml`;
  const source = ['--signer-workflow', workflow, '--source-ref', `refs/tags/${tag}`, '--source-digest', commit];
  const verified = await $`gh attestation verify oci://${image}@${digest} --repo ${repository} ${source}`.nothrow();
  if (verified.exitCode !== 0)
    throw new Error(
      `${image}@${digest} has the tag of this release, which did not build it: find out who pushed it, then delete it`,
    );
}

/** Throws unless a release on GitHub has exactly the files of this folder. */
export async function assertOnGitHub(tag: string, folder: string): Promise<void> {
  const files = (await readdir(folder)).map((name) => join(folder, name));
  const built = files.map(async (file) => `${basename(file)} sha256:${await digestOf('sha256', 'hex', file)}`);
  const { assets }: { readonly assets: readonly { readonly name: string; readonly digest?: string }[] } =
    await $`gh release view ${tag} --json assets`.quiet().json();
  const found = assets.map(({ name, digest }) => `${name} ${digest}`);
  const differing = new Set(await Promise.all(built)).symmetricDifference(new Set(found));
  if (differing.size > 0)
    throw new Error(`The release ${tag} on GitHub has other files:\n${[...differing].join('\n')}`);
}

export const digestOf = async (algorithm: 'sha256' | 'sha512', encoding: 'hex' | 'base64', file: string) =>
  new CryptoHasher(algorithm).update(await Bun.file(file).bytes()).digest(encoding);
