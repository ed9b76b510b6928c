import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { withTabs } from '../../docs/.vitepress/pages.ts';
import { runToEnd } from '../support/child-process.ts';
import { packed, pin } from '../support/installed-package.ts';
import { commandPath, isNight, newestNode, nodePath, nodeVersions } from '../support/node-versions.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The package of each command that a tab of docs/start/elysia.md names. npm and bun are there. */
const packages: Readonly<Record<string, string>> = {
  yarn: 'yarn@1.22.22',
  'yarn 4': '@yarnpkg/cli-dist@4.18.1',
  pnpm: 'pnpm@12.21.0',
};
/** What differs from a manager's default: files, flags, and how it starts Node.js. */
const special: Readonly<Record<string, readonly [file: string, text: string]>> = {
  'yarn 4, node-modules': ['.yarnrc.yml', 'nodeLinker: node-modules\n'],
  'yarn 4, pnpm': ['.yarnrc.yml', 'nodeLinker: pnpm\n'],
  'yarn 4, pnp': ['.yarnrc.yml', 'nodeLinker: pnp\n'],
  'pnpm, without peers': ['pnpm-workspace.yaml', 'autoInstallPeers: false\nhoist: false\n'],
};

const server = `
  import { Elysia } from 'elysia';
  import { resourceServer } from 'protected-api/elysia';
  const guard = resourceServer({ issuer: 'http://127.0.0.1:1/', audience: 'a' });
  const app = new Elysia().use(guard).get('/me', ({ claims }) => claims.sub);
  console.log((await app.handle(new Request('http://localhost/me'))).status);`;

const page = withTabs(await readText('docs/start/elysia.md'));
const tabs = new Map(
  Array.from(page.matchAll(/^```sh \[(\w+)\]\n(.* protected-api .*)$/gm), ([, name = '', line = '']) => [name, line]),
);

test('docs/start/elysia.md has a tab for each package manager', () =>
  expect([...tabs.keys()]).toEqual(['npm', 'pnpm', 'yarn', 'bun']));

const setups = isNight ? ['npm', 'bun', 'pnpm', 'yarn', ...Object.keys(special)] : ['pnpm, without peers'];

/** How CommonJS loads the package from an archive of Yarn: before Node.js 22.15, `require` asks no loader. */
const loading = [
  [nodeVersions[0] ?? '', "import('protected-api')"],
  [newestNode, "require('protected-api')"],
] as const;

test.each(setups)('the tab of docs/start/elysia.md installs with %s what its server needs', async (setup) => {
  const folder = temporaryFolder();
  const [file = 'package.json', text = ''] = special[setup] ?? [];
  await Bun.write(join(folder, file), text);
  await Bun.write(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  await Bun.write(join(folder, 'app.js'), server);
  const [manager = ''] = setup.split(',');
  const name = manager.split(' ')[0] ?? '';
  const [command = '', verb = '', , ...others] = tabs.get(name)?.split(' ') ?? [];
  const path = packages[manager] === undefined ? command : commandPath(packages[manager], command);
  const { NODE_EXTRA_CA_CERTS = '' } = process.env;
  const yarn = { YARN_ENABLE_TELEMETRY: '0', YARN_ENABLE_GLOBAL_CACHE: 'false' };
  const environment = { HOME: folder, NODE_EXTRA_CA_CERTS, ...yarn };
  if (manager === 'yarn 4') {
    await Bun.write(join(folder, 'yarn.lock'), '');
    const registry = await runToEnd(['npm', 'config', 'get', 'registry']);
    Object.assign(environment, { YARN_NPM_REGISTRY_SERVER: registry.stdout.trim() });
  }
  const inFolder = (line: readonly string[]) =>
    runToEnd(['bash', '-c', 'cd "$1" && shift && exec "$@"', 'bash', folder, ...line], environment);
  const installed = await inFolder([path, verb, await packed(), ...others.map(pin)]);
  expect(installed, setup).toMatchObject({ status: 0 });
  const start = setup.endsWith('pnp') ? [path, 'node'] : ['node'];
  expect(await inFolder([...start, 'app.js'])).toMatchObject({ stdout: '401\n' });
  if (setup === 'pnpm, without peers') expect(await compile(folder)).toEqual([]);
  for (const [version, load] of setup.endsWith('pnp') ? loading : []) {
    await Bun.write(
      join(folder, 'common.cjs'),
      `Promise.resolve(${load}).then((door) => console.log(typeof door.createGuard));`,
    );
    const loaded = await inFolder([nodePath(version), path, 'node', 'common.cjs']);
    expect(loaded, `${load} on Node.js ${version}`).toMatchObject({ stdout: 'function\n' });
  }
});

test.skipIf(!isNight)(
  'npm stops beside a prerelease of a framework, unless it is called as the page says',
  async () => {
    const [, flag = ''] = /`ERESOLVE`: add `([^`]+)`/.exec(await readText('docs/start/install.md')) ?? [];
    const folder = temporaryFolder();
    const install = `npm install --package-lock-only --no-audit --no-fund fastify@6.0.0-alpha.4 ${await packed()}`;
    const installed = (line: string) => runToEnd(['bash', '-c', `cd ${folder} && ${line}`]);
    expect(await installed(install)).toMatchObject({ status: 1, stderr: expect.stringContaining('ERESOLVE') });
    expect(await installed(`${install} ${flag}`)).toMatchObject({ status: 0 });
  },
);

/** Compiles programs that find only what is installed for them: neither @types/node nor what other packages need. */
async function compile(folder: string) {
  const doors = ['', '/elysia', '/explain', '/mcp', '/node', '/redis', '/testing'].map(
    (door) => `protected-api${door}`,
  );
  const lines = doors.map((door, index) => `import * as door${index} from '${door}';\nvoid door${index};`);
  const mistake = "import { createGuard } from 'protected-api';\n// @ts-expect-error\ncreateGuard({ issuer: 7 });";
  await Bun.write(join(folder, 'doors.ts'), [...lines, mistake].join('\n'));
  const found: string[] = [];
  for (const path of ['typescript/bin/tsc', ...(isNight ? ['typescript-5/bin/tsc'] : [])])
    for (const module of ['--module preserve --moduleResolution bundler', '--module nodenext']) {
      const flags = `--noEmit --strict --exactOptionalPropertyTypes --typeRoots none --target es2022 --lib es2022,dom ${module}`;
      const command = ['node', join(root, 'node_modules', path), ...flags.split(' '), 'doors.ts'];
      const { stdout } = await runToEnd(['bash', '-c', 'cd "$1" && shift && exec "$@"', 'bash', folder, ...command]);
      // The declarations of other packages may need what is missing.
      found.push(...(stdout.match(/^(?:doors\.ts|.*\/protected-api\/).*error TS.*$/gm) ?? []));
    }
  return found;
}
