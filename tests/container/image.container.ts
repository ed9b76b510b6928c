import { describe, expect, test } from 'bun:test';
import { basename, join } from 'node:path';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { docker, dockerIn, imageUnderTest, runContainer } from '../support/container.ts';
import { readPrinted, requestToken } from '../support/development-issuer.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const inspect = async (what: string, format: string) =>
  JSON.parse(await docker('inspect', '--format', `{{json ${format}}}`, what));

/** Returns a file of an image. */
async function copyFrom(image: string, path: string): Promise<Bun.BunFile> {
  const container = await docker('create', image, path);
  const folder = temporaryFolder();
  await docker('cp', `${container}:${path}`, folder);
  await docker('rm', container);
  return Bun.file(join(folder, basename(path)));
}

describe('the image', () => {
  test('holds nothing but the executable and the licences of what it contains on top of its base', async () => {
    const base = /^ARG RUNTIME_IMAGE=(.*)$/m.exec(await readText('Dockerfile'))?.[1] ?? '';
    const images = [await imageUnderTest(), base];
    const [layers, baseLayers] = await Promise.all(images.map((name) => inspect(name, '.RootFS.Layers')));
    expect(layers).toEqual([...baseLayers, expect.any(String)]);
    const notices = await copyFrom(await imageUnderTest(), '/THIRD-PARTY-NOTICES');
    expect(await notices.text()).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
  });

  test('runs the executable itself, as a numeric user that is not root', async () =>
    expect(await inspect(await imageUnderTest(), '.Config')).toMatchObject({
      User: '65532:65532',
      // Of the base, it is a folder that only this user may enter.
      WorkingDir: '/',
      Entrypoint: ['/protected-api'],
      ExposedPorts: { '3010/tcp': {} },
    }));

  describe.each([
    ["Docker's classic builder", '0', ['--build-arg', 'TARGETARCH=arm64']],
    ['BuildKit', '1', []],
  ])('is built by %s', (_name, DOCKER_BUILDKIT, forOther) => {
    /** Builds an image with these options, and returns the executable in it. */
    async function build(path: string, ...options: readonly string[]): Promise<Bun.BunFile> {
      const name = `${await imageUnderTest()}-builder-${DOCKER_BUILDKIT}`;
      await dockerIn({ DOCKER_BUILDKIT }, 'build', ...options, '--tag', name, root);
      return copyFrom(name, path);
    }

    test('for this machine: the same executable', async () => {
      const [built, tested] = [await build('/protected-api'), await copyFrom(await imageUnderTest(), '/protected-api')];
      expect(Bun.SHA256.hash(await built.bytes(), 'hex')).toBe(Bun.SHA256.hash(await tested.bytes(), 'hex'));
    });

    test('for the other architecture, without emulation', async () => {
      const options = ['--platform', 'linux/arm64', '--target', 'build', ...forOther];
      const header = await (await build('/build/dist/protected-api', ...options)).slice(0, 20).bytes();
      // AArch64, by the ELF header's e_machine.
      expect([...header.slice(1, 4), ...header.slice(18)]).toEqual([...Buffer.from('ELF'), 183, 0]);
    });
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
