import { dirname, resolve } from 'node:path';
import probe from '../src/probe/package.json' with { type: 'json' };
import { bundledPackages } from './bill-of-materials.ts';

/**
 * Runs `bun audit` for each lockfile. In that of the root, only a finding in a package that is shipped fails: tools do
 * not run where the product runs. In the others, each fails that the `auditExceptions` of their package.json do not
 * explain. Bun exits with the same status for a finding and for an unreachable advisory service. Here, 1 means a
 * finding, and 2 means that nothing was checked.
 */
interface Manifest {
  /** Why a package with a known vulnerability stays, by its name. */
  readonly auditExceptions?: Readonly<Record<string, string>>;
}

const lockfiles = Bun.spawnSync(['git', 'ls-files', 'bun.lock', '*/bun.lock']).stdout.toString().trim().split('\n');

/** Returns what is known of the packages of a lockfile, or undefined if the advisory service cannot be reached. */
async function audit(lockfile: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  const child = Bun.spawn([process.execPath, 'audit', '--json'], { cwd: dirname(lockfile), stderr: 'pipe' });
  const [output, trouble] = [(await child.stdout.text()).trim(), (await child.stderr.text()).trim()];
  if (output === '' && trouble.startsWith('error: POST ')) return undefined;
  if ((await child.exited) !== 0 && output === '') throw new Error(`Cannot audit ${lockfile}: ${trouble}`);
  return JSON.parse(output || '{}');
}

/** Returns the names of the packages that are shipped: what is in the executable, and what the probe brings. */
async function shippedNames(): Promise<ReadonlySet<string>> {
  const { metafile } = await Bun.build({ entrypoints: ['src/index.ts'], target: 'bun', metafile: true });
  if (!metafile) throw new Error('Cannot list what is shipped: the bundler returned no metafile');
  return new Set([...(await bundledPackages(metafile)).map(({ name }) => name), ...Object.keys(probe.dependencies)]);
}

const results = await Promise.all(lockfiles.map(async (lockfile) => [lockfile, await audit(lockfile)] as const));
if (results.some(([, found]) => found === undefined)) {
  console.error('audit: NOT CHECKED, the advisory service cannot be reached');
  process.exit(2);
}
const shipped = await shippedNames();
for (const [lockfile, found = {}] of results) {
  const { auditExceptions = {} }: Manifest = await Bun.file(`${dirname(lockfile)}/package.json`).json();
  const { packages } = (await import(resolve(lockfile))).default as { readonly packages: object };
  const isRoot = lockfile === 'bun.lock';
  const names = Object.keys(found).filter((name) => (isRoot ? shipped.has(name) : Object.hasOwn(packages, name)));
  for (const name of names) {
    const reason = auditExceptions[name];
    console.error(`audit: ${lockfile}: ${name}: ${reason ?? JSON.stringify(found[name], null, 2)}`);
    if (reason === undefined) process.exitCode = 1;
  }
  const size = isRoot ? `the ${shipped.size} packages that are shipped` : `${Object.keys(packages).length} packages`;
  if (names.length === 0) console.log(`audit: ${lockfile}: no known vulnerability in ${size}`);
}
