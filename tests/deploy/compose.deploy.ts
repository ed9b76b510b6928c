import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { freePort, until } from '../support/child-process.ts';
import { docker } from '../support/container.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { fillIn, unknownSettings } from './checks.ts';

const isPlugin = Bun.spawnSync(['docker', 'compose', 'version']).exitCode === 0;
const file = await readText('deploy/compose.yaml');
/** The instructions in the file: the commands that copy the settings, start the service and show its log. */
const [copy = '', up = '', logsCommand = ''] = [...file.matchAll(/^# {3}(\w.*)$/gm)].map(([, command]) => command);
const settings = {
  ISSUER: 'https://issuer.invalid/',
  AUDIENCE: 'https://api.example.test/',
  // Nothing listens there: the service runs without its issuer.
  JWKS_URI: 'http://127.0.0.1:9/jwks',
  SHUTDOWN_TIMEOUT_SECONDS: '12',
  DPOP: 'on',
  PUBLIC_URL: 'https://api.example.test',
  REDIS_URL: 'redis://replay-store:6379',
};

/** A copy of the repository, so that the settings of the user stay unchanged. */
const copied = temporaryFolder();
const port = await freePort();
const metricsAddress = `127.0.0.1:${await freePort()}`;

/**
 * Runs a command, such as one of the instructions, by the older docker-compose where Docker has no plugin of that name.
 */
async function run(command: string): Promise<string> {
  const here = isPlugin ? command : command.replace('docker compose', 'docker-compose');
  const published = { PUBLISH: String(port), PUBLISH_METRICS: metricsAddress };
  const environment = { ...process.env, COMPOSE_PROJECT_NAME: 'protected-api-test', ...published };
  return (await $`bash -c ${here}`.cwd(copied).env(environment).quiet()).stdout.toString();
}
const compose = (command: string) => run(`docker compose --file deploy/compose.yaml ${command}`);

await $`cp -r .dockerignore .env.example Dockerfile bun.lock deploy package.json scripts src tsconfig.json ${copied}`.cwd(
  root,
);
await run(copy);
const settingsFile = join(copied, 'deploy/.env');
await Bun.write(settingsFile, fillIn(await Bun.file(settingsFile).text(), settings));

afterAll(() => compose('--profile replay-store down --timeout 0'));

/**
 * If the image cannot be pulled, Debian's redis-server replaces it. This tests the options in the file, not the image.
 */
async function ensureStoreImage(): Promise<void> {
  const image = /image: (redis:\S+)/.exec(file)?.[1];
  await run(`docker image inspect ${image} || timeout 120 docker pull ${image} ||
    tar -c --dereference --absolute-names $(ldd /usr/bin/redis-server | grep -o '/[^ ]*') /usr/bin/redis-server |
      docker import --change 'LABEL standin=1' --change 'ENV PATH=/usr/bin' - ${image}`);
}

test('the compose file passes every setting of its .env, and nothing but settings', async () => {
  const { services } = Bun.YAML.parse(await compose('config')) as {
    readonly services: Readonly<Record<string, { environment: Record<string, string>; stop_grace_period: string }>>;
  };
  const { environment = {}, stop_grace_period: gracePeriod = '' } = services['protected-api'] ?? {};
  expect(environment).toMatchObject(settings);
  expect(await unknownSettings(Object.keys(environment))).toEqual([]);
  expect(Number.parseInt(gracePeriod, 10)).toBeGreaterThan(Number(settings.SHUTDOWN_TIMEOUT_SECONDS));
});

test('its instructions start a service that responds within the limits of the file, and stops', async () => {
  await run(up);
  const id = (await compose('ps --quiet')).trim();
  const inspect = async (format: string) => JSON.parse(await docker('inspect', '--format', `{{json ${format}}}`, id));
  const get = () => fetch(`http://127.0.0.1:${port}/api/public`).catch(() => undefined);
  await until(async () => (await get())?.status === 200, 'a response');
  await until(async () => (await inspect('.State.Health.Status')) === 'healthy', 'a healthy container');
  expect((await fetch(`http://${metricsAddress}/metrics`)).status).toBe(200);
  expect(await inspect('.Config.Env')).toContain(`JWKS_URI=${settings.JWKS_URI}`);
  expect(await inspect('.HostConfig')).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'], Memory: 256 * 2 ** 20 });

  // The optional store, to which the service already tries to connect.
  await ensureStoreImage();
  await compose('--profile replay-store up --detach replay-store');
  const logs = () => run(logsCommand);
  await until(async () => (await logs()).includes('Connected to the replay store'), 'the store');
  await compose('--profile replay-store stop');
  expect(await inspect('.State.ExitCode')).toBe(0);
});
