import { describe } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serverRows } from '../examples/server-rows.ts';
import { type Environment, freePort, run } from '../support/child-process.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';

const examples = join(import.meta.dir, '../../examples');
type Packages = Parameters<typeof installedPackage>[0];

/** What an HTTP API of AWS does with a request. */
const lambda = `;
import { createServer } from 'node:http';
createServer(async ({ method, url, headersDistinct }, response) => {
  const headers = Object.fromEntries(Object.entries(headersDistinct).map(([name, values]) => [name, values.join(',')]));
  const event = { headers, rawPath: url, requestContext: { domainName: 'localhost', http: { method } } };
  const { statusCode, body, ...others } = await handler(event);
  response.writeHead(statusCode, others.headers).end(body);
}).listen(0, '127.0.0.1', function () { console.log('http://127.0.0.1:' + this.address().port); });`;

/** The example, what is installed beside the tarball, and what is changed in the compiled text. */
const servers: readonly (readonly [string, string, Packages, ((text: string) => string)?])[] = [
  ['Express 5', 'express', ['express', 'cors']],
  ['Express 4', 'express', ['express-4', 'cors'], (text) => text.replace('"express"', '"express-4"')],
  ['NestJS', 'nest', ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs']],
  ['Fastify', 'fastify', ['fastify', '@fastify/cors']],
  ['Koa', 'koa', ['koa']],
  ['Hono', 'hono-node', ['hono', '@hono/node-server']],
  ['Elysia', 'elysia-node', ['elysia', '@elysiajs/node']],
  ['AWS Lambda', 'lambda', [], (text) => text + lambda],
];

for (const [title, name, packages, change] of servers)
  describe(`${title} under Node.js, with the tarball`, () => {
    const folder = installedPackage(packages, 'runtimes', []);
    const start = async (environment: Environment) => {
      const file = await compiled(join(examples, `${name}.ts`), folder(), change);
      // Elysia's adapter does not say which port the system chose.
      return run(['node', file], { ...environment, PORT: String(await freePort()) });
    };
    serverRows(`examples/${name}.ts`, start, { usesNode: ['express', 'nest', 'fastify', 'koa'].includes(name) });
  });

describe('Deno, with the tarball', () => {
  const folder = installedPackage([], 'runtimes', []);
  serverRows('examples/deno-serve.ts', async (environment) => {
    const file = join(folder(), 'example.ts');
    await copyFile(join(examples, 'deno-serve.ts'), file);
    return run(['deno', 'run', '--allow-env', '--allow-net', '--no-prompt', file], { ...environment, NO_COLOR: '1' });
  });
});
