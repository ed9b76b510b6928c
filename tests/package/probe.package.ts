import { describe, expect, test } from 'bun:test';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import manifest from '../../src/probe/package.json';
import { runToEnd } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { packed } from '../support/installed-package.ts';
import { isNight, nodePath, nodeVersions } from '../support/node-versions.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** Installs both tarballs: the probe needs the guard for its test issuer. */
async function install(): Promise<string> {
  const folder = temporaryFolder();
  await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const tarballs = [await packed(), await packed('probe')];
  const oldest = isNight ? ['typescript-5.4@npm:typescript@5.4.5'] : [];
  await $`npm install --no-audit --no-fund --ignore-scripts ${tarballs} typescript@7.0.2 ${oldest} @types/node@26.6.6`
    .cwd(folder)
    .quiet();
  return folder;
}

describe('the probe, installed from the tarballs', () => {
  const folder = startedFor(install);
  const installed = (...path: string[]) => join(folder(), 'node_modules', ...path);

  test('holds JavaScript, declarations, LICENSE and README.md only', async () => {
    const contents = await readdir(installed(manifest.name));
    expect(contents.toSorted()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    const files = await readdir(installed(manifest.name, 'dist'), { recursive: true, withFileTypes: true });
    const others = files.filter((entry) => entry.isFile() && !/\.(js|d\.ts)$/.test(entry.name));
    expect(others.map(({ name }) => name)).toEqual([]);
  });

  test('needs jose, undici and the guard of the same version', async () => {
    const { version, dependencies } = await Bun.file(installed(manifest.name, 'package.json')).json();
    expect(Object.keys(dependencies)).toEqual(['jose', 'protected-api', 'undici']);
    expect(dependencies['protected-api']).toBe(`^${version}`);
  });

  test('has a guard beside it that says which package the probe is', async () => {
    const { status, stdout, stderr } = await runToEnd([
      'node',
      installed('.bin/protected-api'),
      'probe',
      'http://x.test',
    ]);
    const said = 'Cannot run: the probe is a package of its own, npx protected-api-probe\n';
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: said });
  });

  test.each(['publint run --strict=true', 'attw --profile esm-only'])('passes %s', async (command) => {
    const [tool = '', ...options] = command.split(' ');
    const path = join(root, 'node_modules/.bin', tool);
    const { exitCode, stdout } = await $`${path} ${options} ${await packed('probe')}`.nothrow().quiet();
    expect({ exitCode, output: exitCode === 0 ? '' : stdout.toString() }).toEqual({ exitCode: 0, output: '' });
  });

  // The declarations of the oldest compiler's libraries are not ours.
  test.each([
    ['typescript', '--singleThreaded --types node --lib es2023'],
    ...(isNight
      ? ([
          ['typescript', '--singleThreaded --typeRoots none --lib es2023,dom'],
          ['typescript-5.4', '--types node --lib es2022'],
          ['typescript-5.4', '--typeRoots none --lib es2022,dom'],
        ] as const)
      : []),
  ])('compiles without skipLibCheck by %s, with %s', async (compiler, types) => {
    const code = `import { probe } from '${manifest.name}';
      import { createTestIssuer } from 'protected-api/testing';
      export const report = await probe({ issuer: await createTestIssuer(), targets: ['https://api.invalid/'] });`;
    await Bun.write(join(folder(), 'use.ts'), code);
    const options = `--noEmit --strict --target es2022 ${types} --module nodenext use.ts`.split(' ');
    const { exitCode, stdout } = await $`node ${installed(compiler, 'bin/tsc')} ${options}`
      .cwd(folder())
      .nothrow()
      .quiet();
    expect([0, 1, 2], 'the compiler ended by itself').toContain(exitCode);
    expect(stdout.toString().match(/^(?!node_modules\/(?!protected-api)).*error TS.*$/gm) ?? []).toEqual([]);
  });

  const withoutInput = (at = '.') => ['/bin/sh', '-c', 'cd "$0" && exec "$@" < /dev/null', at];
  const passed = { status: 0, stdout: expect.stringMatching(/\n\d+ passed, 0 failed/) };
  const runtimes: Readonly<Record<string, () => readonly string[]>> = {
    ...Object.fromEntries(nodeVersions.map((version) => [`Node.js ${version}`, () => [nodePath(version)]])),
    Bun: () => [process.execPath, '--bun'],
    Deno: () => ['deno', 'run', '--quiet', '--allow-all'],
  };
  test.each(Object.keys(runtimes))('tries an API by its command under %s, and through a proxy', async (runtime) => {
    const headers = { 'www-authenticate': 'Bearer' };
    const hosts = new Set<string>();
    const server = serve(({ url }) => {
      hosts.add(new URL(url).host);
      return new Response(null, { status: 401, headers });
    });
    const start = [...(runtimes[runtime]?.() ?? []), installed('.bin', manifest.name)];
    const tried = (url: string, ...flags: readonly string[]) =>
      runToEnd([...withoutInput(), ...start, url, ...flags], { HTTP_PROXY: server.url.href });
    expect(await tried(server.url.href)).toMatchObject(passed);
    expect([...hosts]).toEqual([server.url.host]);
    expect(await tried('http://api.example.test/x', '--only', 'challenge-present')).toMatchObject(passed);
    expect([...hosts]).toEqual([server.url.host, 'api.example.test']);
    await server.stop(true);
  });

  /** How people start it by its name: by day one of them. */
  const launchers: Readonly<Record<string, readonly string[]>> = {
    npx: ['npx', '--no-install', manifest.name],
    'npm exec': ['npm', 'exec', '--no', manifest.name, '--'],
    bunx: [process.execPath, 'x', '--no-install', manifest.name],
    'bunx --bun': [process.execPath, 'x', '--bun', '--no-install', manifest.name],
    'deno run npm:': ['deno', 'run', '--allow-all', '--cached-only', `npm:${manifest.name}`],
    'deno task': ['deno', 'task', '--eval', manifest.name],
    'npx with the two tarballs, in a folder that has neither': [],
  };
  test.each(Object.keys(launchers).slice(0, isNight ? undefined : 1))('is started by %s', async (launcher) => {
    const server = serve(() => new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } }));
    const [first, ...more] = launchers[launcher] ?? [];
    const tarballs = [await packed(), await packed('probe')].map((tarball) => `--package=${tarball}`);
    const start = first === undefined ? ['npx', '--yes', ...tarballs, '--', manifest.name] : [first, ...more];
    const at = first === undefined ? temporaryFolder() : folder();
    const found = await runToEnd([...withoutInput(at), ...start, server.url.href, '--only', 'challenge']);
    expect(found).toMatchObject(passed);
    await server.stop(true);
  });
});
