import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, until } from '../support/child-process.ts';
import { docker } from '../support/container.ts';
import { root, unknownSettings } from './settings.ts';

setDefaultTimeout(120_000);

const isPlugin = Bun.spawnSync(['docker', 'compose', 'version']).exitCode === 0;
const port = await freePort();

/** The plugin of Docker's client, or the command of the same name where that is what there is. */
function compose(...args: readonly string[]): string {
  const command = [...(isPlugin ? ['docker', 'compose'] : ['docker-compose']), '--project-name', 'protected-api-test'];
  const { exitCode, stdout, stderr } = Bun.spawnSync(
    [...command, '--file', join(root, 'deploy/compose.yaml'), ...args],
    {
      env: {
        ...process.env,
        ISSUER: 'https://issuer.invalid/',
        AUDIENCE: 'https://api.example.test/',
        PUBLISH: String(port),
      },
    },
  );
  if (exitCode !== 0) throw new Error(`compose ${args.join(' ')}: ${stderr}`);
  return stdout.toString();
}

afterAll(() => void compose('down', '--timeout', '0'));

interface Resolved {
  readonly services: {
    readonly 'protected-api': {
      readonly environment: Readonly<Record<string, string>>;
      readonly stop_grace_period: string;
    };
  };
}

test('the compose file is valid, sets nothing but settings, and leaves time for the shutdown', async () => {
  const { services } = Bun.YAML.parse(compose('config')) as Resolved;
  const { environment, stop_grace_period: gracePeriod } = services['protected-api'];
  expect(await unknownSettings(Object.keys(environment))).toEqual([]);
  expect(Number.parseInt(gracePeriod, 10)).toBeGreaterThan(Number(environment.SHUTDOWN_TIMEOUT_SECONDS));
});

test('compose builds, starts and stops the service, which needs no more than the file allows', async () => {
  compose('up', '--detach', '--build');
  const id = compose('ps', '--quiet').trim();
  const inspect = async (format: string) => JSON.parse(await docker('inspect', '--format', `{{json ${format}}}`, id));
  const isAnswered = () =>
    fetch(`http://127.0.0.1:${port}/api/public`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isAnswered, 'an answer at the published port');
  expect(await inspect('.HostConfig')).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], Memory: 256 * 2 ** 20 });
  compose('stop');
  expect(await inspect('.State.ExitCode')).toBe(0);
});
