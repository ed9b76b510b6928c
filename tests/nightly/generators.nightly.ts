import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { type Environment, run, runToEnd } from '../support/child-process.ts';
import { packed } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { readText } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Files, firstBlock, ownFile, scope, sectionOf } from './frameworks/applications.ts';

/*
 * Applications that generators make with their default answers, with the blocks of our pages: they pass the check of
 * their types, are built, and are started as their users do. Those of Next.js and NestJS have files of their own.
 */

interface Generator {
  /** The package, and its versions that are tried, current and older, with a flag where that selects the template. */
  readonly name: string;
  readonly framework: string;
  readonly versions: readonly string[];
  readonly answers: string;
  /** Whether it gets its templates from GitHub, which not every machine can reach. */
  readonly downloads: boolean;
  readonly files: Files;
  readonly path: string;
  /** Commands in the new application. The last one starts it, with PORT. */
  readonly check: string;
  readonly build: string;
  readonly start: string;
}

const fullStack = await readText('docs/start/full-stack.md');
const guard = firstBlock(fullStack);
const workers = await readText('docs/start/workers.md');
const [, worker = ''] = /^```js\n(.*?)^```$/ms.exec(workers) ?? [];
const [, lastLine = ''] = /with `(.*)` as its last line/.exec(workers) ?? [];
const honoPage = await readText('docs/start/hono.md');
const [, honoServer = ''] = /^echo "(import .*?)" > server\.ts$/ms.exec(honoPage) ?? [];
const [, honoImport = ''] = /with the import\n`(.*)`/.exec(honoPage) ?? [];
const hono = firstBlock(honoPage)
  .replace("'http://localhost:4010/'", 'process.env.ISSUER ?? ""')
  .replace("'https://api.example.com'", 'process.env.AUDIENCE ?? ""')
  .replace('3010', 'Number(process.env.PORT)');

const [, withoutNodeTypes = ''] =
  /as in a new (.*) application, run `npm install --save-dev @types\/node`/.exec(fullStack) ?? [];
const [, routes = ''] =
  /`app\/routes\.ts`.*?^```ts nightly\n(.*?)^```$/ms.exec(sectionOf(fullStack, 'React Router')) ?? [];
const [, ...nitroImports] = /add two imports: `(.*)` and\n`(.*)`/.exec(fullStack) ?? [];
const nitroRoute = Object.entries(ownFile('Nuxt and Nitro')).map(([file, text]) => [
  file,
  [...nitroImports, text].join('\n'),
]);

const generators: readonly Generator[] = [
  {
    name: 'sv',
    framework: 'SvelteKit',
    versions: ['latest', '0.9'],
    answers: 'create app --template minimal --types ts --no-add-ons --no-install',
    downloads: false,
    files: { 'src/guard.server.ts': guard, ...ownFile('SvelteKit') },
    path: '/messages',
    check: 'npm run check',
    build: 'npm run build',
    start: 'node node_modules/vite/bin/vite.js preview --host 127.0.0.1 --port $PORT',
  },
  {
    name: 'create-cloudflare',
    framework: 'Workers',
    versions: ['latest', '2.50'],
    answers: 'app --type hello-world --lang ts --accept-defaults --no-deploy --no-git --no-auto-update',
    downloads: false,
    files: { 'src/index.ts': worker.replace(/^};$/m, lastLine) },
    path: '/',
    check: 'npx wrangler types && npx tsc --noEmit',
    build: 'npx wrangler deploy --dry-run',
    start:
      'node node_modules/wrangler/bin/wrangler.js dev --ip 127.0.0.1 --port $PORT --var ISSUER:$ISSUER --var AUDIENCE:$AUDIENCE',
  },
  {
    name: 'create-hono',
    framework: 'Hono',
    versions: ['latest', '0.18'],
    answers: 'app --template nodejs --pm npm --install',
    downloads: true,
    files: { 'src/app.ts': hono, 'src/index.ts': honoServer.replace('./app.ts', honoImport) },
    path: '/messages',
    check: 'npx tsc --noEmit',
    build: 'npm run build',
    start: 'node dist/index.js',
  },
  {
    name: 'create-astro',
    framework: 'Astro',
    versions: ['latest'],
    answers: 'app --template minimal --yes --no-install --no-git',
    downloads: true,
    files: { 'src/guard.ts': guard, ...ownFile('Astro') },
    path: '/api/messages',
    check: 'npx astro add node --yes && npx --yes @astrojs/check',
    build: 'npm run build',
    start: 'env HOST=127.0.0.1 node dist/server/entry.mjs',
  },
  {
    name: 'create-nuxt',
    framework: 'Nuxt',
    versions: ['latest --template minimal', 'latest --template v3'],
    answers: 'app --no-install --no-gitInit --packageManager npm --force',
    downloads: true,
    files: { 'server/utils/guard.ts': guard, ...ownFile('Nuxt and Nitro') },
    path: '/api/messages',
    check: 'npm install --no-audit --no-fund --save-dev typescript vue-tsc && npx nuxt typecheck',
    build: 'npm run build',
    start: 'env HOST=127.0.0.1 node .output/server/index.mjs',
  },
  {
    name: 'giget',
    framework: 'Nitro',
    versions: ['latest'],
    answers: 'nitro app',
    downloads: true,
    files: { 'server/utils/guard.ts': guard, ...Object.fromEntries(nitroRoute) },
    path: '/api/messages',
    check: 'npm install --no-audit --no-fund --save-dev typescript@5 && npx tsc --noEmit',
    build: 'npm run build',
    start: 'env HOST=127.0.0.1 node .output/server/index.mjs',
  },
  {
    name: 'create-react-router',
    framework: 'React Router',
    versions: ['latest'],
    answers: 'app --yes --no-git-init --no-install',
    downloads: true,
    files: { 'app/guard.server.ts': guard, 'app/routes.ts': routes, ...ownFile('React Router') },
    path: '/messages',
    check: 'npm run typecheck',
    build: 'npm run build',
    start: 'env HOST=127.0.0.1 node_modules/.bin/react-router-serve build/server/index.js',
  },
];

const PATH = `${dirname(nodePath(newestNode))}:${process.env.PATH}`;
const environment = { ...process.env, PATH, CI: 'true', WRANGLER_SEND_METRICS: 'false' } as Record<string, string>;

/** Whether templates can be had. Where they cannot, the tests of those generators say so, and are left out. */
const canDownload = await fetch('https://codeload.github.com/').then(
  () => true,
  () => false,
);

for (const { name, framework, versions, answers, downloads, files, path, check, build, start } of generators) {
  const isTried = canDownload || !downloads;
  if (!isTried) process.stdout.write(`NOT CHECKED: ${name}, whose templates cannot be downloaded\n`);
  describe.skipIf(!isTried).each(versions)(`an application of ${name}@%s`, (version) => {
    const parent = temporaryFolder();
    const folder = join(parent, 'app');
    const succeeds = async (command: string, cwd = folder) => {
      const { status, stdout, stderr } = await runToEnd(['bash', '-c', `cd ${cwd} && ${command}`], environment);
      expect(status, stdout + stderr).toBe(0);
    };
    const fixture = exampleFixture(name, async (settings: Environment) => {
      await succeeds(`npx --yes ${name}@${version} ${answers}`, parent);
      for (const [file, text] of Object.entries(files)) await Bun.write(join(folder, file), text);
      if (withoutNodeTypes.includes(framework))
        await succeeds('npm install --no-audit --no-fund --save-dev @types/node');
      await succeeds(`npm install --no-audit --no-fund ${await packed()}`);
      await succeeds(check);
      await succeeds(build);
      return run(['bash', '-c', `cd ${folder} && exec ${start}`], { ...environment, ...settings });
    });

    test.each([
      ['no token', undefined, 401],
      ['no scope', '', 403],
      ['the scope', scope, 200],
    ])('responds to a request with %s', async (_, granted, status) => {
      const headers = granted === undefined ? {} : bearer(fixture().mint({ claims: { scope: granted } }));
      const response = await fixture().service.fetch(path, { headers });
      expect(response.status).toBe(status);
      if (status !== 200) expect(await response.json()).toMatchObject({ error: expect.any(String) });
    });
  });
}
