import { expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { freePort, run, runToEnd, until } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { installedPackage } from '../support/installed-package.ts';
import { isNight, newestNode, nodePath, nodeVersions } from '../support/node-versions.ts';
import { readText, root } from '../support/repository.ts';
import { follow, type Start } from '../support/start-page.ts';
import { runWorker } from '../support/worker.ts';

const nest = '@nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs typescript @types/node';
const packages = `elysia @sinclair/typebox @elysia/node hono @hono/node-server express fastify @fastify/cors @modelcontextprotocol/server tsx@4.23.15 ${nest}`;
const folder = installedPackage(packages);
const path = (version = newestNode) =>
  [dirname(nodePath(version)), dirname(process.execPath), process.env.PATH].join(':');

/**
 * Pastes the commands into bash, which the last program replaces. Their packages are installed. `npx` would leave its
 * program running when it gets a signal: on a terminal, Ctrl+C reaches both.
 */
const inShell: Start = (commands, _, environment) => {
  const lines = commands
    .trim()
    .replace(/^npm install .*\n/m, '')
    .split(/\n(?=.*$)/);
  const last = lines
    .pop()
    ?.replace(/(?<=^|&& )(?!.*&& )/, 'exec ')
    .replace('exec npx ', 'exec node_modules/.bin/');
  const script = [...lines, last].join('\n');
  return run(['bash', '-euc', `cd ${folder()}\n${script}`], environment);
};

/** No wrangler is installed: the runtime that it starts gets the variables of its flags. */
const inWorkerd: Start = (command, port) => {
  const [, file = ''] = /wrangler dev (\S+)/.exec(command) ?? [];
  const variables = Array.from(command.matchAll(/--var (\w+):(\S+)/g), ([, name = '', value = '']) => [name, value]);
  return runWorker(`${folder()}/${file}`, { ...Object.fromEntries(variables), PORT: port });
};

const [newer, older] = ['Node.js 22.18 or later', 'Older Node.js'];
const [oldestNode = ''] = nodeVersions;
const servers = ['start/express', 'start/fastify', 'mcp/index', 'start/hono', 'start/fetch', 'start/elysia'];

/** By day, the runtime for which a page is written: the examples run on the others. */
const rows: readonly (readonly [page: string, tab: string | undefined, start: Start])[] = [
  ...servers.map((page) => [page, page === 'start/elysia' && !isNight ? 'Bun' : newer, inShell] as const),
  ...(isNight ? servers.flatMap((page) => [older, 'Bun'].map((tab) => [page, tab, inShell] as const)) : []),
  ...(isNight ? ['start/hono', 'start/fetch', 'start/elysia'].map((page) => [page, 'Deno', inShell] as const) : []),
  ['start/nestjs', undefined, inShell],
  ['start/workers', undefined, inWorkerd],
];

test.each(rows)('docs/%s.md, followed step by step (%s), leads to a 401, a 200 and a 403', async (page, tab, start) => {
  const [own, ...others] = await follow(page, folder(), path(tab === older ? oldestNode : newestNode), start, tab);
  expect(own).toContain('protected-api');
  expect(packages.split(' ')).toEqual(expect.arrayContaining(others));
});

test('docs/start/workers.md bundles a function for AWS Lambda, which responds to its event with a 200', async () => {
  const [, section = ''] = (await readText('docs/start/workers.md')).split('\n## AWS Lambda\n');
  const [bundling = '', calling = ''] = Array.from(section.matchAll(/^```sh\n(.*?)^```$/gms), ([, text = '']) => text);
  await Bun.write(join(folder(), 'lambda.ts'), await readText('examples/lambda.ts'));
  const keys = serve(() => Response.json(issuer.options.keys));
  const issuer = await createTestIssuer({ issuer: keys.url.href, audience: 'https://api.example.com' });
  const script = bundling
    .replace(/^npm install .*\n/m, '')
    .replace('npx esbuild', join(root, 'node_modules/.bin/esbuild'));
  const { stdout } = await runToEnd(
    ['bash', '-euc', `cd ${folder()}\n${script}${calling.replace('http://localhost:4010/', keys.url.href)}`],
    { PATH: path(), TOKEN: await issuer.token({ sub: 'ada', scope: 'read:messages' }) },
  );
  expect(stdout).toContain('statusCode: 200');
  expect(stdout).toContain('{"hello":"ada"}');
});

test('docs/start/express.md has an application in CommonJS, which the oldest Node.js runs', async () => {
  const page = await readText('docs/start/express.md');
  const [, text = ''] = /^```js\n(.*?)^```$/ms.exec(page) ?? [];
  const port = String(await freePort());
  await Bun.write(join(folder(), 'migrated.cjs'), text.replaceAll('3010', port));
  const server = run([nodePath(oldestNode), join(folder(), 'migrated.cjs')]);
  await until(() => server.stdout().includes('Listening on'), server.stderr());
  const response = await fetch(`http://localhost:${port}/messages`);
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer scope="read:messages"']);
  server.signal('SIGKILL');
  await server.finished;
});
