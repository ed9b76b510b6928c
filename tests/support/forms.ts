import { join } from 'node:path';
import { type Environment, freePort, type RunningProcess, run, untilReachable } from './child-process.ts';
import { root } from './repository.ts';

export interface Service {
  readonly origin: string;
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The output of the process so far, stdout and stderr. Empty in-process. */
  output(): string;
  /** Stops the service with SIGTERM, and returns the exit status. */
  close(): Promise<number>;
}

export interface Form<Started extends Service = Service> {
  readonly name: string;
  /** Starts the service on a free port of loopback with these settings. */
  start(settings: Environment, flags?: readonly string[]): Promise<Started>;
}

export interface CommandForm extends Form<ServiceProcess> {
  readonly command: () => Promise<readonly string[]>;
}

const binary = join(root, 'dist/protected-api');

export interface ServiceProcess extends Service {
  readonly port: number;
  readonly process: RunningProcess;
}

/**
 * Starts the service by `start`, which is given the settings, by default with a free port of loopback, and resolves
 * once it responds.
 */
export async function startService(
  start: (environment: Environment) => RunningProcess | Promise<RunningProcess>,
  settings: Environment = {},
): Promise<ServiceProcess> {
  const port = Number(settings.PORT ?? (await freePort()));
  const origin = `http://127.0.0.1:${port}`;
  const child = await start({ HOST: '127.0.0.1', ...settings, PORT: String(port) });
  await untilReachable(`${origin}/livez`, child);
  return {
    origin,
    port,
    process: child,
    // A connection for each request: one that is kept may be ended by the service just when the next request is sent.
    fetch: (path, init) => fetch(`${origin}${path}`, { redirect: 'manual', keepalive: false, ...init }),
    output: () => child.stdout() + child.stderr(),
    async close() {
      child.signal('SIGTERM');
      return (await child.finished).status;
    },
  };
}

const commandForm = (name: string, command: CommandForm['command']): CommandForm => ({
  name,
  command,
  async start(settings, flags = []) {
    const words = [...(await command()), ...flags];
    return startService((environment) => run(words, environment), settings);
  },
});

const source = [process.execPath, 'run', join(root, 'src/index.ts')];
export const sourceForm = commandForm('bun run src/index.ts', async () => source);

let built: Promise<void> | undefined;

async function build(): Promise<void> {
  // Without an executable, `find` fails.
  const sources = ['src', 'scripts', 'bun.lock', 'package.json', 'tsconfig.json'];
  const changed = Bun.spawnSync(['find', ...sources, '-newer', binary], { cwd: root });
  if (changed.success && changed.stdout.length === 0) return;
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, 'run', 'build'], { cwd: root });
  if (exitCode !== 0) throw new Error(`Cannot build the executable: ${stdout}${stderr}`);
}

/** The single-file executable, built once if it is missing or older than its sources. */
export const executableForm = commandForm('dist/protected-api', async () => {
  built ??= build();
  await built;
  return [binary];
});
