import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { $ } from 'bun';
import packageJson from '../package.json' with { type: 'json' };
import { build } from './build.ts';

const linux = ['linux-x64', 'linux-arm64', 'linux-x64-musl', 'linux-arm64-musl'] as const;
const targets = [...linux, 'darwin-x64', 'darwin-arm64', 'windows-x64'] as const;

/** Returns why a tag cannot be released, based on the version in package.json and the changelog. Empty if it can be released. */
export function tagProblems(tag: string, version: string, changelog: string): string[] {
  const problems: string[] = [];
  if (tag !== `v${version}`) problems.push(`Tag ${tag} is not v${version}, the version in package.json`);
  const heading = `## [${version}] - `;
  if (!changelog.split('\n').some((line) => line.startsWith(heading) && /- \d{4}-\d\d-\d\d$/.test(line)))
    problems.push(`CHANGELOG.md has no heading "${heading}YYYY-MM-DD"`);
  return problems;
}

/**
 * Writes an archive of the executable and the licence to `archive`. The same executable makes the same archive. Every system can
 * unpack it: Windows has had tar since 2018.
 */
export async function pack(executable: string, archive: string): Promise<void> {
  const reproducible = ['--mtime=@0', '--owner=0', '--group=0', '--numeric-owner', '--mode=a+rX,u+w,go-w'];
  const files = ['-C', dirname(executable), basename(executable), '-C', process.cwd(), 'LICENSE'];
  await $`tar --create --gzip --file ${archive} ${reproducible} ${files}`;
}

/** Writes an archive and a bill of materials for each target to `folder`, and their SHA-256 sums to SHA256SUMS. */
async function release(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const target of targets) {
    const name = `protected-api-${packageJson.version}-${target}`;
    const executable = join(folder, target.startsWith('windows') ? 'protected-api.exe' : 'protected-api');
    await build(executable, `bun-${target}`);
    await pack(executable, join(folder, `${name}.tar.gz`));
    await rename(`${executable}.cdx.json`, join(folder, `${name}.cdx.json`));
    await rm(executable);
    console.log(join(folder, `${name}.tar.gz`));
  }
  const sums = (await readdir(folder)).toSorted().map(async (name) => {
    const sum = new Bun.CryptoHasher('sha256').update(await Bun.file(join(folder, name)).bytes()).digest('hex');
    return `${sum}  ${name}\n`;
  });
  await Bun.write(join(folder, 'SHA256SUMS'), (await Promise.all(sums)).join(''));
}

if (import.meta.main) {
  const { GITHUB_REF_TYPE, GITHUB_REF_NAME = '' } = process.env;
  const changelog = await Bun.file('CHANGELOG.md').text();
  const problems = GITHUB_REF_TYPE === 'tag' ? tagProblems(GITHUB_REF_NAME, packageJson.version, changelog) : [];
  if (problems.length > 0) {
    console.error(`Cannot release:\n${problems.join('\n')}`);
    process.exit(1);
  }
  await release('dist/release');
}
