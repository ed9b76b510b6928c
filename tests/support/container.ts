import { type Environment, run } from './child-process.ts';
import { type Form, startService } from './forms.ts';
import { root } from './repository.ts';

/** The docker client finds its engine and its settings by these. */
const clientEnvironment: Environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(PATH|HOME|DOCKER_\w+)$/.test(name)) as [string, string][],
);

export const docker = (...args: readonly string[]): Promise<string> => dockerIn({}, ...args);

/** Runs the docker client with these variables as well. */
export async function dockerIn(environment: Environment, ...args: readonly string[]): Promise<string> {
  const client = Bun.which('docker');
  if (client === null) throw new Error('Cannot test the container: docker is not on the PATH');
  const { status, stdout, stderr } = await run([client, ...args], { ...clientEnvironment, ...environment }).finished;
  if (status !== 0) throw new Error(`docker ${args[0]} ended with ${status}: ${stderr || stdout}`);
  return stdout.trim();
}

let built: Promise<string> | undefined;

/** Returns the name of the image under test: IMAGE from the environment, else one that is built from the Dockerfile. */
export async function imageUnderTest(): Promise<string> {
  if (process.env.IMAGE) return process.env.IMAGE;
  built ??= docker('build', '--tag', 'protected-api:test', root);
  await built;
  return 'protected-api:test';
}

/** The minimum that a container needs: no capabilities, no new privileges and no writable files. */
const RESTRICTED = ['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'];

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
) {
  started += 1;
  const name = `protected-api-test-${process.pid}-${started}`;
  const settings = Object.entries(environment).flatMap(([setting, value]) => ['--env', `${setting}=${value}`]);
  const command = ['docker', 'run', '--rm', '--name', name, ...RESTRICTED, ...options, ...settings];
  const container = run([...command, await imageUnderTest(), ...flags], clientEnvironment);
  running.add(name);
  void container.finished.then(() => running.delete(name));
  return {
    name,
    /** `docker run` in the foreground, so its output and exit status are the container's. */
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
  // `docker run` passes signals on.
  start: (settings, flags) =>
    startService(async (given) => (await runContainer(['--network', 'host'], given, flags)).process, settings),
};
