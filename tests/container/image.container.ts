import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { docker, imageUnderTest, runContainer } from '../support/container.ts';
import { readPrinted, requestToken } from '../support/development-issuer.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const inspect = async (what: string, format: string) =>
  JSON.parse(await docker('inspect', '--format', `{{json ${format}}}`, what));

describe('the image', () => {
  test('holds nothing but the executable and the licences of what it contains on top of its base', async () => {
    const base = /^ARG RUNTIME_IMAGE=(.*)$/m.exec(await readText('Dockerfile'))?.[1] ?? '';
    const images = [await imageUnderTest(), base];
    const [layers, baseLayers] = await Promise.all(images.map((name) => inspect(name, '.RootFS.Layers')));
    expect(layers).toEqual([...baseLayers, expect.any(String)]);
    const container = await docker('create', await imageUnderTest());
    const folder = temporaryFolder();
    await docker('cp', `${container}:/THIRD-PARTY-NOTICES`, folder);
    await docker('rm', container);
    expect(await Bun.file(join(folder, 'THIRD-PARTY-NOTICES')).text()).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  });

  test('runs the executable itself, as a numeric user that is not root', async () =>
    expect(await inspect(await imageUnderTest(), '.Config')).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/protected-api'],
      ExposedPorts: { '3010/tcp': {} },
    }));

  test('is built for the other architecture too, without emulation', async () => {
    const name = `${await imageUnderTest()}-arm64`;
    await docker('build', '--platform', 'linux/arm64', '--target', 'build', '--tag', name, root);
    const container = await docker('create', name, '/protected-api');
    const folder = temporaryFolder();
    await docker('cp', `${container}:/build/dist/protected-api`, folder);
    await docker('rm', container);
    const header = await Bun.file(join(folder, 'protected-api')).slice(0, 20).bytes();
    // AArch64, by the ELF header's e_machine.
    expect([...header.slice(1, 4), ...header.slice(18)]).toEqual([...Buffer.from('ELF'), 183, 0]);
  });

  test('with --dev becomes healthy, issues tokens that it accepts at a published port, and stops on a signal', async () => {
    const port = await freePort();
    const origin = `http://127.0.0.1:${port}`;
    const options = ['--publish', `127.0.0.1:${port}:3010`, '--health-interval=1s'];
    const container = await runContainer(options, {}, ['--dev']);
    await untilReachable(origin, container.process);
    const health = () => inspect(container.name, '.State.Health.Status');
    await until(async () => (await health()) === 'healthy', 'a healthy container');
    const { reader, visitor, audience } = await readPrinted(container.process.stderr);
    const callScoped = async (client: typeof reader) => {
      const token = await requestToken(origin, audience, client);
      return fetch(`${origin}/api/private-scoped`, { headers: bearer(token) });
    };
    await expectMessage(await callScoped(reader));
    await expectError(await callScoped(visitor), 403, 'Unauthorized');
    // Docker kills a process that does not stop, and the status is then not 0.
    expect((await container.stop()).status).toBe(0);
  });
});
