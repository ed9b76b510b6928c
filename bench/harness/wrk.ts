import { join } from 'node:path';

/** What a load generator saw, and what it took. */
export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Answers with a status of 400 or more. */
  readonly refused: number;
  readonly socketErrors: number;
  /** How many answers had each status; empty unless COUNT_STATUSES was set. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Share of one core that wrk itself used: near 1, wrk and not the server is the limit. */
  readonly generatorBusy: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly seconds: number;
  readonly connections?: number;
  /** The cores wrk may use; those of the calling process by default. */
  readonly cores?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the script is told; see load.lua. */
  readonly args: readonly string[];
}

interface Printed {
  readonly requests: number;
  readonly durationUs: number;
  readonly refused: number;
  readonly socketErrors: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/** Runs wrk with one thread. */
export async function runWrk({ url, seconds, connections = 64, cores, env, args }: LoadOptions): Promise<Load> {
  const pin = cores === undefined ? [] : ['taskset', '-c', cores];
  const script = join(import.meta.dir, 'load.lua');
  const command = [...pin, 'wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, url, '--', ...args];
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'pipe' });
  const [output, problem] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const summary = output.trim().split('\n').at(-1) ?? '';
  if (!summary.startsWith('{')) throw new Error(`Cannot read the answer of wrk: ${problem || output}`);

  const printed = JSON.parse(summary) as Printed;
  const elapsed = printed.durationUs / 1e6;
  const cpuMicroseconds = Number(child.resourceUsage()?.cpuTime.total ?? 0);
  return {
    requests: printed.requests,
    seconds: elapsed,
    requestsPerSecond: printed.requests / elapsed,
    refused: printed.refused,
    socketErrors: printed.socketErrors,
    statuses: printed.statuses,
    generatorBusy: cpuMicroseconds / 1e6 / elapsed,
  };
}
