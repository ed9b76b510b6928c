import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { folder } from './tokens.ts';

/** A server under test, alone on its core. */
export interface ServerProcess {
  readonly pid: number;
  readonly url: string;
  /** User and system time of all its threads since it started. */
  cpuSeconds(): number;
  residentBytes(): number;
  openDescriptors(): number;
  hasExited(): boolean;
  stop(): Promise<void>;
}

export interface Launch {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
  /** Polled until it answers 200. */
  readonly readyPath: string;
}

const running = new Set<Bun.Subprocess>();

// A benchmark that is interrupted must not leave servers behind that spoil the next one.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));

/** Returns a port that was free a moment ago. */
export function freePort(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const probe = createServer().once('error', reject);
  probe.listen(0, '127.0.0.1', () => {
    const address = probe.address();
    const port = address !== null && typeof address === 'object' ? address.port : 0;
    probe.close(() => resolve(port));
  });
  return promise;
}

/** Keeps this process, and so the load generators it starts, off the servers' core. */
export function pinSelf(core: number): void {
  Bun.spawnSync(['taskset', '-acp', String(core), String(process.pid)]);
}

/** In ticks of 10 ms, and with the threads that have ended: summing up the threads that run loses theirs. */
function readCpuSeconds(pid: number): number {
  const [, , ...fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(/(?<=\)) | /);
  const [user, system] = fields.slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) / 100;
}

function readResidentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}

const isReady = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(1000) }).then(
    (response) => response.status === 200,
    () => false,
  );

async function stopChild(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGTERM');
  const isGone = await Promise.race([child.exited.then(() => true), Bun.sleep(3000).then(() => false)]);
  if (!isGone) child.kill('SIGKILL');
  await child.exited;
  running.delete(child);
}

/**
 * Starts `command` on core 0 and waits until it answers.
 * @throws {Error} it has exited or does not answer within 20 seconds; the message names its log file
 */
export async function startServer(launch: Launch): Promise<ServerProcess> {
  const { name, command, env, port, readyPath } = launch;
  const log = join(folder, `${name.replaceAll(/[^a-z0-9]+/gi, '-')}-${port}.log`);
  const child = Bun.spawn(['taskset', '-c', '0', ...command], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
    stdin: 'ignore',
    stdout: Bun.file(log),
    stderr: Bun.file(log),
  });
  running.add(child);
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + 20_000;
  while (!(await isReady(url + readyPath))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stopChild(child);
      throw new Error(`Cannot start ${name}: see ${log}`);
    }
    await Bun.sleep(20);
  }
  return {
    pid: child.pid,
    url,
    cpuSeconds: () => readCpuSeconds(child.pid),
    residentBytes: () => readResidentBytes(child.pid),
    openDescriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    hasExited: () => child.exitCode !== null,
    async stop() {
      await stopChild(child);
      rmSync(log, { force: true });
    },
  };
}
