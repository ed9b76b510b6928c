import { join } from 'node:path';

/** What a load generator saw, and what it took. */
export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly requestsPerSecond: number;
  /** Answers with a status of 400 or more. */
  readonly refused: number;
  readonly socketErrors: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of one core that wrk itself used: near 1, wrk and not the server is the limit. */
  readonly generatorBusy: number;
}

export interface LoadOptions {
  readonly url: string;
  readonly seconds: number;
  readonly connections?: number;
  readonly script?: string;
  /** What the script is told; see load.lua. */
  readonly args: readonly string[];
}

interface Printed {
  readonly requests: number;
  readonly durationUs: number;
  readonly refused: number;
  readonly socketErrors: number;
  readonly p50Us: number;
  readonly p99Us: number;
}

/** Runs wrk with one thread, on the cores of the calling process. */
export async function runWrk({
  url,
  seconds,
  connections = 64,
  script = 'load.lua',
  args,
}: LoadOptions): Promise<Load> {
  const command = ['wrk', '-t1', `-c${connections}`, `-d${seconds}s`, '-s', join(import.meta.dir, script), url];
  const child = Bun.spawn([...command, '--', ...args], { stdout: 'pipe', stderr: 'pipe' });
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
    p50Ms: printed.p50Us / 1000,
    p99Ms: printed.p99Us / 1000,
    generatorBusy: cpuMicroseconds / 1e6 / elapsed,
  };
}
