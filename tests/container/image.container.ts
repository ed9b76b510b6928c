import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until, untilItAnswers } from '../support/child-process.ts';
import { docker, imageUnderTest, runContainer } from '../support/container.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';

const root = join(import.meta.dir, '../..');
const BUILD_TIMEOUT_MS = 600_000;
const settings = { ISSUER: 'https://issuer.example.test/', AUDIENCE };

let image: string;
beforeAll(async () => {
  image = await imageUnderTest();
}, BUILD_TIMEOUT_MS);

const inspect = async (what: string, format: string) =>
  JSON.parse(await docker('inspect', '--format', `{{json ${format}}}`, what));

const refusesConnections = (origin: string) => () =>
  fetch(`${origin}/livez`).then(
    () => false,
    () => true,
  );

describe('the image', () => {
  test('holds nothing but the executable on top of its base', async () => {
    const dockerfile = await Bun.file(join(root, 'Dockerfile')).text();
    const base = /^ARG RUNTIME_IMAGE=(.*)$/m.exec(dockerfile)?.[1] ?? '';
    const [layers, baseLayers] = await Promise.all([image, base].map((name) => inspect(name, '.RootFS.Layers')));
    expect(layers).toEqual([...baseLayers, expect.any(String)]);
  });

  test('runs the executable itself, as a numeric user that is not root', async () => {
    const { User, Entrypoint, ExposedPorts } = await inspect(image, '.Config');
    expect({ User, Entrypoint, ExposedPorts }).toEqual({
      User: '65532:65532',
      Entrypoint: ['/protected-api'],
      ExposedPorts: { '3010/tcp': {} },
    });
  });

  test(
    'is built for the other architecture too, without emulation',
    async () => {
      const name = `${image}-arm64`;
      await docker('build', '--platform', 'linux/arm64', '--target', 'build', '--tag', name, root);
      const container = await docker('create', name, '/protected-api');
      const file = join(await mkdtemp(join(tmpdir(), 'protected-api-arm64-')), 'protected-api');
      await docker('cp', `${container}:/build/dist/protected-api`, file);
      await docker('rm', container);
      const [elf, machine] = [await Bun.file(file).slice(1, 4).text(), await Bun.file(file).slice(18, 20).bytes()];
      await rm(file);
      // AArch64, by the ELF header's e_machine.
      expect({ elf, machine: [...machine] }).toEqual({ elf: 'ELF', machine: [183, 0] });
    },
    BUILD_TIMEOUT_MS,
  );

  test('refuses to start without settings', async () => {
    const { process } = await runContainer([]);
    const { status, stderr } = await process.finished;
    expect(status).toBe(1);
    expect(stderr).toContain('ISSUER');
  });

  for (const [how, environment, flags] of [
    ['with settings', settings, []],
    ['with --dev and no settings', {}, ['--dev']],
    ['with a proxy in its environment', { ...settings, HTTP_PROXY: 'http://proxy.invalid:3128' }, []],
  ] as const) {
    test(`becomes healthy by its own check ${how}, and stops by itself when idle`, async () => {
      const container = await runContainer(['--health-interval=1s'], environment, flags);
      const health = () => inspect(container.name, '.State.Health.Status').catch(() => 'absent');
      await until(async () => (await health()) === 'healthy', 'a healthy container');
      // Docker kills what does not end, which is not 0.
      expect((await container.stop()).status).toBe(0);
    });
  }

  test('answers requests in flight when it is stopped, and exits with 0', async () => {
    const hanging = await startIssuer();
    hanging.mode = { kind: 'hang' };
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const slow = { ...settings, ISSUER: hanging.url, JWKS_TIMEOUT_SECONDS: '1', PORT: String(port) };
    const container = await runContainer(['--network=host'], slow);
    await untilItAnswers(origin, container.process);

    let isAnswered = false;
    const headers = { authorization: `Bearer ${mintToken(hanging.url)}` };
    const inFlight = fetch(`${origin}/api/private`, { headers }).finally(() => {
      isAnswered = true;
    });
    await until(() => hanging.fetches > 0, 'a fetch of the keys');
    const stopped = container.stop();
    await until(refusesConnections(origin), 'a container that takes no new connection');
    expect(isAnswered).toBe(false);
    expect((await inFlight).status).toBe(503);
    expect((await stopped).status).toBe(0);
    await hanging.close();
  });
});
