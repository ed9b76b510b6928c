import { join } from 'node:path';
import {
  type Environment,
  type Finished,
  freePort,
  type RunningProcess,
  run,
  untilItAnswers,
} from './child-process.ts';
import { type Form, fetchFrom } from './forms.ts';

const root = join(import.meta.dir, '../..');
const BUILD_TIMEOUT_MS = 600_000;

/** The docker client finds its engine and its settings by these. */
const clientEnvironment: Environment = Object.fromEntries(
  ['PATH', 'HOME', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG', 'DOCKER_BUILDKIT'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

/** Runs docker until it exits. If it fails, throws its output. */
export async function docker(...args: readonly string[]): Promise<string> {
  const client = Bun.which('docker');
  if (client === null) throw new Error('Cannot test the container: docker is not on the PATH');
  const { status, stdout, stderr } = await run([client, ...args], clientEnvironment).finished;
  if (status !== 0) throw new Error(`docker ${args[0]} ended with ${status}: ${stderr || stdout}`);
  return stdout.trim();
}

let image: Promise<string> | undefined;

/** Returns the name of the image under test: IMAGE from the environment, else one that is built from the Dockerfile. */
export function imageUnderTest(): Promise<string> {
  image ??= (async () => {
    await docker('version', '--format', '{{.Server.Version}}').catch((error: unknown) => {
      throw new Error('Cannot test the container: the docker engine does not answer', { cause: error });
    });
    if (process.env.IMAGE) return process.env.IMAGE;
    await docker('build', '--tag', 'protected-api:test', root);
    return 'protected-api:test';
  })();
  return image;
}

/** The minimum that a container needs: no capabilities, no new privileges and no writable files. */
export const RESTRICTED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

export interface Container {
  readonly name: string;
  /** `docker run` in the foreground, so its output and exit status are the container's. */
  readonly process: RunningProcess;
  /** Ends it as an operator does. */
  stop(): Promise<Finished>;
}

let started = 0;
const running = new Set<string>();
// A failed test leaves its container behind, which the engine would keep.
process.on('exit', () => {
  if (running.size > 0) Bun.spawnSync(['docker', 'rm', '--force', ...running]);
});

/** Starts the image with these options of `docker run` and these flags of the service. */
export async function runContainer(
  options: readonly string[],
  environment: Environment = {},
  flags: readonly string[] = [],
): Promise<Container> {
  started += 1;
  const name = `protected-api-test-${process.pid}-${started}`;
  const settings = Object.entries(environment).flatMap(([setting, value]) => ['--env', `${setting}=${value}`]);
  const command = ['docker', 'run', '--rm', '--name', name, ...RESTRICTED, ...options, ...settings];
  const container = run([...command, await imageUnderTest(), ...flags], clientEnvironment);
  running.add(name);
  void container.finished.then(() => running.delete(name));
  return {
    name,
    process: container,
    async stop() {
      await docker('stop', name);
      return container.finished;
    },
  };
}

/** The image, on the host's network so that an issuer on loopback can be reached. */
export const containerForm: Form = {
  name: 'the container',
  startTimeoutMs: BUILD_TIMEOUT_MS,
  async start(settings, flags = []) {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const environment = { HOST: '127.0.0.1', PORT: String(port), ...settings };
    const container = await runContainer(['--network', 'host'], environment, flags);
    await untilItAnswers(origin, container.process);
    return {
      origin,
      fetch: fetchFrom(origin),
      output: () => container.process.stdout() + container.process.stderr(),
      close: async () => (await container.stop()).status,
    };
  },
};
