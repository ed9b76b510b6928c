import { engines } from '../../src/auth/package.json';

/** Whether what takes long is tested too, as `.ci/run nightly` does. */
export const isNight = process.env.NIGHTLY === 'true';

/** Returns the versions to test: by day the oldest and the newest, by night all. */
export const testedOf = (versions: readonly string[]): readonly string[] =>
  isNight ? versions : [versions.at(0) ?? '', versions.at(-1) ?? ''];

/** The newest line of Node.js that is tested. */
export const newestNode = '24';

/** The releases of Node.js that the package is tested with: the oldest that it allows, and the lines that Node.js maintains. */
export const nodeVersions = testedOf([...(engines.node.match(/\d+\.\d+\.\d+/g) ?? []), '22', newestNode]);

const found = new Map<string, string>();

/** Returns the path of the newest Node.js of this line, which npm installs once on a machine. */
export function nodePath(version: string): string {
  const path = found.get(version) ?? installed(version);
  found.set(version, path);
  return path;
}

function installed(version: string): string {
  const command = ['npx', '--yes', `--package=node@${version}`, '-c', 'command -v node'];
  const { stdout, stderr } = Bun.spawnSync(command);
  const path = stdout.toString().trim();
  if (path === '') throw new Error(`Cannot install Node.js ${version}: ${stderr}`);
  return path;
}
