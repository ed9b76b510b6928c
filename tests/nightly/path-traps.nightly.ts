import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { exampleFixture } from '../examples/server-rows.ts';
import { run } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { installLocked } from '../support/installed-package.ts';
import { bearer } from '../support/mint.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { rawRequest } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { spellings } from '../support/spellings.ts';

/* docs/guides/paths.md: the spellings that its table names are served, and what it advises serves none. */

const folder = startedFor(async () => {
  const installed = await installLocked('nightly/frameworks', 'traps.mjs');
  for (const file of ['files/admin/x.txt', 'private/x.txt']) await Bun.write(join(installed, file), 'secret');
  await Bun.write(join(installed, 'public/open.txt'), 'open');
  return installed;
});
const fixture = exampleFixture('frameworks/traps.mjs', async (environment) =>
  run(['bash', '-c', `cd ${folder()} && exec ${nodePath(newestNode)} traps.mjs`], environment),
);
const get = async (name: string, target: string, headers: readonly string[] = []) => {
  const ports = Object(await (await fixture().service.fetch('/')).json());
  const lines = [`GET ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...headers];
  const response = await rawRequest(`http://127.0.0.1:${ports[name]}`, lines);
  return { status: response.status, isServed: (await response.text()).includes('secret') };
};

const page = await readText('docs/guides/paths.md');
const rowOf = (start: string): readonly string[] => {
  const [, cell = ''] = new RegExp(`^\\| ${start}[^|]*\\|([^|]*)\\|`, 'm').exec(page) ?? [];
  return Array.from(cell.matchAll(/`([^`]+)`/g), ([, target = '']) => target);
};
const traps = [
  ['Express 4, trap', rowOf('Express 4 and 5')],
  ['Express 5, trap', rowOf('Express 4 and 5')],
  ['Connect, trap', rowOf('Express 4 and 5')],
  ['Koa, trap', rowOf('Koa: `koa-static`')],
  ['@fastify/express, trap', rowOf('`@fastify/express`')],
  ['Express, compared', rowOf('Express: a comparison')],
  ['Fastify, compared', rowOf('Fastify: a comparison')],
  ['Hono, exact', rowOf('Hono: `app.use')],
] as const;

describe.each(traps)('%s', (name, targets) => {
  test('serves what the page names', async () => {
    expect(targets.length).toBeGreaterThan(0);
    const { status } = await get(name, '/admin/x.txt');
    expect(status).toBe(targets.includes('/admin/x.txt') ? 200 : 401);
    for (const target of targets) expect([target, (await get(name, target)).isServed]).toEqual([target, true]);
  });
});

describe.each(['Express 4', 'Express 5', 'Connect', 'Koa', '@fastify/static', 'Hono'])('%s, right', (framework) => {
  const name = `${framework}, right`;
  test('serves no spelling to a stranger, and a token', async () => {
    for (const target of spellings) expect([target, (await get(name, target)).isServed]).toEqual([target, false]);
    const [authorization = ''] = Object.values(bearer(fixture().mint()));
    expect((await get(name, '/admin/x.txt', [`Authorization: ${authorization}`])).isServed).toBe(true);
  });
});
