import { bundledPackages } from './bill-of-materials.ts';

/**
 * Runs `bun audit` for the packages in the executable, which include the dependencies of the plugin. Bun exits with the same
 * status for a finding and for an unreachable advisory service. Here, 1 means a finding, and 2 means that nothing was checked.
 */
const audit = Bun.spawnSync([process.execPath, 'audit', '--json']);
const output = audit.stdout.toString().trim();
const trouble = audit.stderr.toString().trim();

if (output === '' && trouble.startsWith('error: POST ')) {
  console.error('audit: NOT CHECKED, the advisory service cannot be reached');
  process.exitCode = 2;
} else if (audit.exitCode !== 0 && output === '') {
  console.error(`audit: ${trouble}`);
  process.exitCode = 1;
} else {
  const { metafile } = await Bun.build({ entrypoints: ['src/index.ts'], target: 'bun', metafile: true });
  if (!metafile) throw new Error('Cannot list what is shipped: the bundler returned no metafile');
  const shipped = new Set((await bundledPackages(metafile)).map(({ name }) => name));
  const found = Object.entries<unknown>(JSON.parse(output || '{}')).filter(([name]) => shipped.has(name));
  if (found.length === 0) console.log(`audit: no known vulnerability in the ${shipped.size} packages that are shipped`);
  else console.error(`audit: ${JSON.stringify(Object.fromEntries(found), null, 2)}`);
  process.exitCode = found.length === 0 ? 0 : 1;
}
