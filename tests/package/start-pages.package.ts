import { expect, test } from 'bun:test';
import { dirname } from 'node:path';
import { run } from '../support/child-process.ts';
import { installedPackage } from '../support/installed-package.ts';
import { newestNode, nodePath } from '../support/node-versions.ts';
import { follow, type Start } from '../support/start-page.ts';
import { runWorker } from '../support/worker.ts';

const nest = '@nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs typescript @types/node';
const packages = `elysia @sinclair/typebox hono express fastify @fastify/cors koa @hono/node-server @modelcontextprotocol/server ${nest}`;
const folder = installedPackage(packages);
const path = () => [dirname(nodePath(newestNode)), dirname(process.execPath), process.env.PATH].join(':');

/** Pastes the command into bash, which its last program replaces. */
const inShell: Start = (command, _, environment) =>
  run(['bash', '-c', `cd ${folder()} && ${command}`.replace(/&& (?!.*&&)/s, '&& exec ')], environment);

/** The page of MCP has a command for each of the two. */
const inBun: Start = (command, port, environment) => inShell(command.replace('node ', 'bun run '), port, environment);

/** No wrangler is installed: the runtime that it starts gets the variables of its flags. */
const inWorkerd: Start = (command, port) => {
  const [, file = ''] = /wrangler dev (\S+)/.exec(command) ?? [];
  const variables = Array.from(command.matchAll(/--var (\w+):(\S+)/g), ([, name = '', value = '']) => [name, value]);
  return runWorker(`${folder()}/${file}`, { ...Object.fromEntries(variables), PORT: port });
};

test.each<[page: string, start: Start]>([
  ...['elysia', 'hono', 'express', 'fastify', 'nestjs', 'koa', 'fetch', 'mcp'].map((page): [string, Start] => [
    page,
    inShell,
  ]),
  ['mcp', inBun],
  ['workers', inWorkerd],
])('docs/start/%s.md, followed step by step, leads to a 401, a 200 and a 403', async (page, start) => {
  const [own, ...others] = await follow(page, folder(), path(), start);
  expect(own).toContain('protected-api');
  expect(packages.split(' ')).toEqual(expect.arrayContaining(others));
});
