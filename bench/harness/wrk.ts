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
  /** The arguments of the script; see load.lua. */
  readonly args: readonly string[];
}

/** A load that is interrupted and continued, so that several servers can be measured at practically the same time. */
export interface PausedLoad {
  resume(): void;
  pause(): void;
  /** Ends the load and returns what it saw. `seconds` and the rates include the pauses. */
  finish(): Promise<Load>;
}

interface Printed {
  readonly requests: number;
  readonly durationUs: number;
  readonly refused: number;
  readonly socketErrors: number;
  readonly statuses: Readonly<Record<string, number>>;
}

/** Runs wrk with one thread. */
export async function runWrk(options: LoadOptions): Promise<Load> {
  return readLoad(spawnWrk(options));
}

/** Starts wrk with one thread, and pauses it once it has prepared its requests. */
export async function startPaused(options: Omit<LoadOptions, 'seconds'>): Promise<PausedLoad> {
  const child = spawnWrk({ ...options, seconds: 600, env: { ...options.env, ANNOUNCE_START: 'true' } });
  const load = readLoad(child);
  const started = await Promise.race([child.stderr.getReader().read(), load]);
  if (!('value' in started)) throw new Error('Cannot start wrk');
  child.kill('SIGSTOP');
  return {
    resume: () => child.kill('SIGCONT'),
    pause: () => child.kill('SIGSTOP'),
    async finish() {
      child.kill('SIGCONT');
      // Repeated, because the signal ends wrk only if its first thread gets it.
      const interrupt = () => child.kill('SIGINT');
      interrupt();
      const timer = setInterval(interrupt, 20);
      return load.finally(() => clearInterval(timer));
    },
  };
}

function spawnWrk({ url, seconds, connections = 64, cores, env, args }: LoadOptions) {
  const pin = cores === undefined ? [] : ['taskset', '-c', cores];
  const script = join(import.meta.dir, 'load.lua');
  // An answer that arrives during a pause is not late.
  const flags = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', `${seconds + 60}s`];
  const command = [...pin, 'wrk', ...flags, '-s', script, url, '--', ...args];
  return Bun.spawn(command, { env: { ...process.env, ...env }, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
}

async function readLoad(child: ReturnType<typeof spawnWrk>): Promise<Load> {
  const [output] = await Promise.all([child.stdout.text(), child.exited]);
  const summary = output.trim().split('\n').at(-1) ?? '';
  if (!summary.startsWith('{')) throw new Error(`Cannot read the answer of wrk: ${output}`);

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
