import { arch, cpus, loadavg, release, totalmem } from 'node:os';

const firstLine = (...command: readonly string[]): string => {
  if (!Bun.which(command[0] ?? '')) return 'not installed';
  const { stdout, stderr } = Bun.spawnSync([...command]);
  return (stdout.toString() || stderr.toString()).split('\n', 1)[0]?.trim() ?? '';
};

/** The revision that was measured, and whether the product's files differ from it. */
function revision(): string {
  const folder = `${import.meta.dir}/../..`;
  const commit = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD'], { cwd: folder }).stdout.toString().trim();
  const product = ['src', 'package.json', 'bun.lock'];
  const changes = Bun.spawnSync(['git', 'status', '--porcelain', '--', ...product], { cwd: folder }).stdout.toString();
  return changes === '' ? commit : `${commit} with changes`;
}

/** Returns what the figures depend on, as a Markdown list; called before anything is measured. It names no host. */
export function describeMachine(): string {
  const [cpu] = cpus();
  return [
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC; revision: ${revision()}`,
    `- Machine: ${cpu?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${arch()}, Linux ${release().split('-')[0]}; load before the run: ${(loadavg()[0] ?? 0).toFixed(1)}`,
    `- Versions: Bun ${Bun.version}, Node ${firstLine('node', '--version')}, ${firstLine('haproxy', '-v').split(' 20')[0]}, ${firstLine('wrk', '-v').split(' Copyright')[0]}`,
  ].join('\n');
}

/** Returns the exact versions of the peers. */
export async function describePeers(): Promise<string> {
  const manifest = await Bun.file(`${import.meta.dir}/../package.json`).json();
  const pins = Object.entries(manifest.dependencies as Record<string, string>);
  return pins.map(([name, version]) => `${name} ${version}`).join(', ');
}
