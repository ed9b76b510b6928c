import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './repository.ts';

export type Environment = Readonly<Record<string, string>>;

export type RunningProcess = ReturnType<typeof run>;

const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

/** By default, Bun keeps large modules that it has transpiled in HOME, which is empty. */
const BUN_RUNTIME_TRANSPILER_CACHE_PATH = join(root, 'node_modules/.cache/transpiled');

/** The command of the probe, whose keys are made before. */
export const probeCommand = [
  ...[process.execPath, '--preload', join(import.meta.dir, 'preload-of-processes.ts')],
  join(root, 'src/probe/command.ts'),
];

/** The folders of processes that have not ended. A test that failed may leave some. */
const living = new Map<Bun.Subprocess, string>();
process.on('exit', () => {
  for (const [child, folder] of living) {
    child.kill('SIGKILL');
    remove(folder);
  }
});

function collect(stream: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder();
  let text = '';
  const read = async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  return { text: () => text, ended: read() };
}

/** Runs a command in a folder that has only `files`, with PATH, a cache and this environment, and keeps its output. */
export function run(
  command: readonly string[],
  environment: Environment = {},
  files: Readonly<Record<string, string>> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'protected-api-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const env = { BUN_RUNTIME_TRANSPILER_CACHE_PATH, HOME: folder, PATH: process.env.PATH ?? '', ...environment };
  const child = Bun.spawn([...command], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  living.set(child, folder);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const finished = child.exited.then(async (status) => {
    await Promise.all([stdout.ended, stderr.ended]);
    living.delete(child);
    remove(folder);
    return { status, stdout: stdout.text(), stderr: stderr.text() };
  });
  return {
    pid: child.pid,
    stdout: stdout.text,
    stderr: stderr.text,
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** Resolves once the process has exited and its output has been read. */
    finished,
  };
}

export const runToEnd = (...args: Parameters<typeof run>) => run(...args).finished;

/** The kernel assigns only ports above these, so none of these is taken between the choice and its use. */
const PORTS = { first: 20_000, end: 32_768 };

/**
 * Returns a port on which nothing listens, for servers that must know it before they start. No other process gets it.
 */
export async function freePort(): Promise<number> {
  const port = PORTS.first + Math.floor(Math.random() * (PORTS.end - PORTS.first));
  try {
    // A UDP socket on the same port shows the reservation to other processes. It is held until this process ends.
    const reservation = await Bun.udpSocket({ hostname: '127.0.0.1', port });
    reservation.unref();
    // `::` covers both address families; `localhost` may be either.
    Bun.listen({ hostname: '::', port, socket: { data() {} } }).stop(true);
    return port;
  } catch {
    return freePort();
  }
}

const POLL_MS = 10;
const DEADLINE_MS = 120_000;

type Condition = () => boolean | Promise<boolean>;

/** Resolves once `isTrue` returns true, or rejects after a generous time limit. */
export async function until(isTrue: Condition, what: string): Promise<void> {
  const end = Date.now() + DEADLINE_MS;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`Waited ${DEADLINE_MS} ms in vain: ${what}`);
    await Bun.sleep(POLL_MS);
  }
}

/** Like `until`, for what a process does. If it exits first, rejects with its output. */
export async function untilProcess({ finished }: RunningProcess, isTrue: Condition, what: string): Promise<void> {
  const ended = finished.then(({ status, stdout, stderr }) => {
    throw new Error(`It ended with ${status}: ${stderr || stdout}`);
  });
  await Promise.race([until(isTrue, what), ended]);
}

/**
 * Resolves once there is a response at this URL, or one that is expected. If the process exits first, rejects with its
 * output.
 */
export const untilReachable = (url: string, process: RunningProcess, isExpected = (_: Response) => true) =>
  untilProcess(process, () => fetch(url, { keepalive: false }).then(isExpected, () => false), url);
