import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import manifest from '../../package.json';
import { root } from './repository.ts';
import { temporaryFolder } from './temporary-folder.ts';

const { version } = manifest;

/** The version on npm, the integrity of each tarball unless INTEGRITY says another, and what is rejected. */
const npm = `case "$1 $2 $3" in
  *dist.integrity) printf %s "\${INTEGRITY:-sha512-$(openssl dgst -sha512 -binary dist/release/\${2%@*}-\${2##*@}.tgz | base64 -w0)}";;
  "view protected-api-probe "*) printf %s "\${NPM_PROBE:-$NPM}";;
  view*) printf %s "$NPM";;
  *) echo "npm $*" >>commands; case "$2" in *"$REFUSED"*) exit 1;; esac;;
esac`;

/** Whether there is a release, the files that were uploaded and PLANTED, and whether an image is attested. */
const gh = `case "$1 $2 $5" in
  "attestation verify "*) echo "gh $*" >>asked; exit "$ATTESTED";;
  "release view assets") cd dist/release
    sha256sum * $PLANTED | sed 's/\\(.*\\)  \\(.*\\)/{"name":"\\2","digest":"sha256:\\1"}/' | paste -sd, | sed 's/.*/{"assets":[&]}/';;
  "release view"*) printf %s "$GH"; printf "%s\\n" "$GH_ERROR" >&2; [ -z "$GH_ERROR" ];;
  *) echo "gh $*" >>commands;;
esac`;

/** The digest of the image, if IMAGE is its tag, or what REGISTRY says instead. */
const docker = `case "$3 $4" in "inspect "*":\${IMAGE:-none}") echo sha256:0123;;
  *) printf "\${REGISTRY:-ERROR: $4: not found}\\n" >&2; exit 1;;
esac`;

/**
 * Runs these steps of a release, or with `--dry-run` what `bun run release` does, in a folder of its own. `npm`, `gh`,
 * `git` and `docker` are scripts that write down what they are told to do, but for questions, which they answer as
 * `state` says.
 */
export async function runRelease(args: readonly string[], state: object) {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'CHANGELOG.md'), `# Changelog\n\n## [${version}] - 2026-12-01\n\n- First\n`);
  await Bun.write(join(folder, 'dist/release/SHA256SUMS'), '');
  const digest = `sha256:${'0'.repeat(64)}`;
  await Bun.write(join(folder, 'scripts/base-images.json'), JSON.stringify({ BUN_IMAGE: `oven/bun:1@${digest}` }));
  for (const name of ['protected-api', 'protected-api-probe'])
    await Bun.write(join(folder, `dist/release/${name}-${version}.tgz`), name);
  for (const [name, script] of Object.entries({ npm, gh, docker, git: 'echo abcdef' })) {
    await Bun.write(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    await chmod(join(folder, 'bin', name), 0o755);
  }
  const nothing = { NPM: '[]', REFUSED: 'nothing', GH: '', GH_ERROR: '', ATTESTED: '1', IMAGE: '', PLANTED: '' };
  const env = { ...nothing, GITHUB_REF: `refs/tags/v${version}`, ...state };
  const script = args.includes('--dry-run') ? 'release.ts' : 'publish.ts';
  const command = [process.execPath, join(root, 'scripts', script), ...args];
  const path = `${join(folder, 'bin')}:${process.env.PATH}`;
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, { cwd: folder, env: { ...env, PATH: path } });
  const linesOf = async (name: string) => {
    const file = Bun.file(join(folder, name));
    return (await file.exists()) ? (await file.text()).trim().split('\n') : [];
  };
  return {
    exitCode,
    stdout: stdout.toString(),
    stderr: stderr.toString(),
    commands: await linesOf('commands'),
    asked: await linesOf('asked'),
  };
}
