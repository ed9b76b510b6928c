import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export type Environment = Readonly<Record<string, string>>;

/** The exit status and the output of a command. */
export interface Finished {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningProcess {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Resolves once the process has exited and its output has been read. */
  readonly finished: Promise<Finished>;
}

const living = new Set<Bun.Subprocess>();
process.on('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

async function collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  for await (const chunk of stream) add(decoder.decode(chunk, { stream: true }));
}

/**
 * Runs a command in a folder of its own, empty but for `files`, with no environment but the one given, and keeps what it
 * writes.
 */
export function run(
  command: readonly string[],
  environment: Environment = {},
  files: Readonly<Record<string, string>> = {},
): RunningProcess {
  const folder = mkdtempSync(join(tmpdir(), 'protected-api-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const child = Bun.spawn([...command], {
    cwd: folder,
    env: { HOME: folder, ...environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  living.add(child);
  let stdout = '';
  let stderr = '';
  const read = Promise.all([
    collect(child.stdout, (text) => {
      stdout += text;
    }),
    collect(child.stderr, (text) => {
      stderr += text;
    }),
  ]);
  const finished = child.exited.then(async (status) => {
    await read;
    living.delete(child);
    rmSync(folder, { recursive: true, force: true });
    return { status, stdout, stderr };
  });
  return { pid: child.pid, stdout: () => stdout, stderr: () => stderr, signal: (name) => child.kill(name), finished };
}

const MAX_RUN_MS = 120_000;

/** Runs a command that should exit by itself. A command that does not is killed. */
export async function runToEnd(...args: Parameters<typeof run>): Promise<Finished> {
  const child = run(...args);
  const timer = setTimeout(() => child.signal('SIGKILL'), MAX_RUN_MS);
  const finished = await child.finished;
  clearTimeout(timer);
  return finished;
}

/** The kernel gives the ports above to whoever asks for any, so none of these is taken between the choice and its use. */
const PORTS = { first: 20_000, end: 32_768 };
const reserved = new Set<number>();

/**
 * Returns a port on which nothing listens, on any address, and which no other process gets from this function while this one
 * lives: for servers that must know their port before they start. What can say where it listens gets port 0.
 */
export async function freePort(): Promise<number> {
  const port = PORTS.first + Math.floor(Math.random() * (PORTS.end - PORTS.first));
  const isFree = !reserved.has(port) && (await isReservable(port)) && (await isListenable(port));
  if (!isFree) return freePort();
  reserved.add(port);
  return port;
}

/** The socket for datagrams of the same number is what other processes see of a reservation. It is held until the process ends. */
async function isReservable(port: number): Promise<boolean> {
  try {
    // Bun throws at once for a port in use, and returns no promise.
    const socket = await Bun.udpSocket({ hostname: '127.0.0.1', port });
    socket.unref();
    return true;
  } catch {
    return false;
  }
}

/** `::` takes both address families, one of which `localhost` may be. */
function isListenable(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, () => server.close(() => done(true)));
  });
}

const POLL_MS = 10;

/** Resolves once `isTrue` returns true, or rejects after a generous time limit. */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs = 120_000,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain: ${what}`);
    await Bun.sleep(POLL_MS);
  }
}

/** Like `until`, for what a process does. If it exits first, rejects with its output. */
export async function untilProcess(
  { finished }: RunningProcess,
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  deadlineMs?: number,
): Promise<void> {
  let ended: Finished | undefined;
  void finished.then((end) => {
    ended = end;
  });
  const isTrueBeforeItsEnd = () => {
    if (ended !== undefined) throw new Error(`It ended with ${ended.status}: ${ended.stderr || ended.stdout}`);
    return isTrue();
  };
  await until(isTrueBeforeItsEnd, what, deadlineMs);
}

/** Resolves once anything is answered at this address. If the process exits first, rejects with its output. */
export function untilReachable(url: string, process: RunningProcess): Promise<void> {
  const isReachable = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  return untilProcess(process, isReachable, url);
}

/** Resolves once the service responds. If it exits first, rejects with its output. */
export function untilItAnswers(origin: string, process: RunningProcess, deadlineMs?: number): Promise<void> {
  const isLive = () =>
    fetch(`${origin}/livez`).then(
      ({ status }) => status === 200,
      () => false,
    );
  return untilProcess(process, isLive, `${origin}/livez`, deadlineMs);
}
