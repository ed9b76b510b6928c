import { engines } from '../../src/auth/package.json';

/** Whether what takes long is tested too, as `.ci/run nightly` does. */
export const isNight = process.env.NIGHTLY === 'true';

/**
 * Returns the versions to test: by day the oldest, which lacks the most, and by night all. Pages and examples run on
 * the newest.
 */
export const testedOf = (versions: readonly string[]): readonly string[] => (isNight ? versions : versions.slice(0, 1));

/** The newest line of Node.js that is tested. */
export const newestNode = '24';

/**
 * The releases of Node.js that the package is tested with: the oldest that it allows, and the lines that Node.js
 * maintains.
 */
export const nodeVersions = testedOf([...(engines.node.match(/\d+\.\d+\.\d+/g) ?? []), '22', newestNode]);

/** Returns the path of the newest Node.js of this line, which npm installs once on a machine. */
export const nodePath = (version: string): string => commandPath(`node@${version}`, 'node');

const found = new Map<string, string>();

/** Returns the path of a command of a package, which npm installs once on a machine. */
export function commandPath(name: string, command: string): string {
  const path = found.get(name) ?? installed(name, command);
  found.set(name, path);
  return path;
}

function installed(name: string, command: string): string {
  const { stdout, stderr } = Bun.spawnSync(['npx', '--yes', `--package=${name}`, '-c', `command -v ${command}`]);
  const path = stdout.toString().trim();
  if (path === '') throw new Error(`Cannot install ${name}: ${stderr}`);
  return path;
}

// Suites that run at the same time must not install the same release.
if (import.meta.main) for (const version of new Set([...nodeVersions, newestNode])) nodePath(version);
