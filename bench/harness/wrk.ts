import { join } from 'node:path';

/** What a load generator saw. */
export interface Load {
  readonly requests: number;
  readonly durationUs: number;
  /** Answers with a status of 400 or more. */
  readonly refused: number;
  readonly socketErrors: number;
  /** How many answers had each status; empty unless COUNT_STATUSES was set. */
  readonly statuses: Readonly<Record<string, number>>;
}

export interface LoadOptions {
  readonly url: string;
  /** A whole number. */
  readonly seconds: number;
  readonly connections: number;
  readonly env?: Readonly<Record<string, string>>;
  /** The arguments of the script; see load.lua. */
  readonly args: readonly string[];
}

/** Runs wrk with one thread, on the cores of this process. */
export async function runWrk({ url, seconds, connections, env, args }: LoadOptions): Promise<Load> {
  const script = join(import.meta.dir, 'load.lua');
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '60s', '-s', script, url, '--', ...args];
  const child = Bun.spawn(['wrk', ...flags], { env: { ...process.env, ...env }, stderr: 'inherit' });
  const output = await child.stdout.text();
  const summary = output.trim().split('\n').at(-1) ?? '';
  if (!summary.startsWith('{')) throw new Error(`Cannot read the answer of wrk: ${output}`);
  return JSON.parse(summary) as Load;
}
