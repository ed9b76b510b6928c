import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, freePort, type RunningProcess, run, untilItAnswers } from './child-process.ts';

export interface Service {
  readonly origin: string;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The output of the process so far, stdout and stderr. Empty in-process. */
  output(): string;
  /** Stops the service with SIGTERM, and returns the exit status. */
  close(): Promise<number>;
}

/** One of the ways in which the service is used. */
export interface Form {
  readonly name: string;
  /** Time limit for preparing the form and starting it. */
  readonly startTimeoutMs: number;
  /** Starts the service on a free port of loopback with these settings. */
  start(settings: Environment, flags?: readonly string[]): Promise<Service>;
}

/** A form that is a command, for tests of flags, settings and exit statuses. */
export interface CommandForm extends Form {
  command(): Promise<readonly string[]>;
}

const root = join(import.meta.dir, '../..');
const binary = join(root, 'dist/protected-api');

/** A connection for each request: one that is kept may be ended by the service just when the next request is sent. */
export const fetchFrom =
  (origin: string) =>
  (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}${path}`, { redirect: 'manual', keepalive: false, ...init });

export async function startProcess(
  command: readonly string[],
  settings: Environment,
  flags: readonly string[],
): Promise<Service> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const child: RunningProcess = run([...command, ...flags], { HOST: '127.0.0.1', PORT: String(port), ...settings });
  await untilItAnswers(origin, child);
  return {
    origin,
    fetch: fetchFrom(origin),
    output: () => child.stdout() + child.stderr(),
    async close() {
      child.signal('SIGTERM');
      return (await child.finished).status;
    },
  };
}

/** `bun run src/index.ts`, started in another folder. */
export const sourceForm: CommandForm = {
  name: 'bun run src/index.ts',
  startTimeoutMs: 120_000,
  command: async () => [process.execPath, 'run', join(root, 'src/index.ts')],
  async start(settings, flags = []) {
    return startProcess(await this.command(), settings, flags);
  },
};

function newestChangeMs(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Math.max(...files.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs));
}

let built: Promise<void> | undefined;

/** Builds the executable once, unless it is newer than all its sources. */
function ensureBuilt(): Promise<void> {
  built ??= (async () => {
    const changedMs = Math.max(
      newestChangeMs(join(root, 'src')),
      newestChangeMs(join(root, 'scripts')),
      statSync(join(root, 'bun.lock')).mtimeMs,
      statSync(join(root, 'package.json')).mtimeMs,
    );
    if (existsSync(binary) && statSync(binary).mtimeMs > changedMs) return;
    const build = Bun.spawnSync([process.execPath, 'run', 'build'], { cwd: root, stdout: 'pipe', stderr: 'pipe' });
    if (build.exitCode !== 0) throw new Error(`Cannot build the executable: ${build.stdout}${build.stderr}`);
  })();
  return built;
}

/** The single-file executable, built if it is missing or older than its sources. */
export const executableForm: CommandForm = {
  name: 'dist/protected-api',
  startTimeoutMs: 120_000,
  async command() {
    await ensureBuilt();
    return [binary];
  },
  async start(settings, flags = []) {
    return startProcess(await this.command(), settings, flags);
  },
};
