import { cpus, loadavg, release, totalmem } from 'node:os';
import { join } from 'node:path';
import manifest from '../../package.json';
import { measuredCode } from '../../scripts/release-plan.ts';

const folder = join(import.meta.dir, '..', '..');

function read(...command: readonly string[]): string {
  if (!Bun.which(command[0] ?? '')) return 'not installed';
  const { stdout, stderr } = Bun.spawnSync([...command], { cwd: folder });
  return (stdout.toString() || stderr.toString()).split('\n', 1)[0]?.trim() ?? '';
}

/** Returns what the figures depend on, as a Markdown list; called before anything is measured. It names no host. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const hasChanges = read('git', 'status', '--porcelain', '--', 'src', 'package.json', 'bun.lock') !== '';
  const revision = read('git', 'rev-parse', '--short', 'HEAD') + (hasChanges ? ' with changes' : '');
  return [
    `- Date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC; revision: ${revision}; version: ${manifest.version}, code: ${measuredCode()}`,
    `- Machine: ${cpu?.model.trim()}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release().split('-')[0]}; load before the run: ${(loadavg()[0] ?? 0).toFixed(1)}`,
    `- Versions: Bun ${Bun.version}, ${read('haproxy', '-v').split(' 20')[0]}, ${read('wrk', '-v').split(' Copyright')[0]}, elysia ${manifest.dependencies.elysia}, jose ${manifest.devDependencies.jose}`,
  ].join('\n');
}

export const writePage = (text: string) => Bun.write(join(folder, 'bench/results.md'), text);

/** Returns a Markdown table; the first column is text, the others are figures. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const rule = header.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(header), line(rule), ...rows.map(line)].join('\n');
}
