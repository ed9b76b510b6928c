import { describe } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serverRows } from '../examples/server-rows.ts';
import { type Environment, run } from '../support/child-process.ts';
import { compiled, installedPackage } from '../support/installed-package.ts';
import { readText } from '../support/repository.ts';
import { runWorker } from '../support/worker.ts';

const examples = join(import.meta.dir, '../../examples');

/** Calls a handler as an HTTP API of AWS does. */
const lambda = `;
import { createServer } from 'node:http';
createServer(async ({ method, url, headersDistinct }, response) => {
  const headers = Object.fromEntries(Object.entries(headersDistinct).map(([name, values]) => [name, values.join(',')]));
  const event = { headers, rawPath: url, requestContext: { domainName: 'localhost', http: { method } } };
  const { statusCode, body, ...others } = await handler(event);
  response.writeHead(statusCode, others.headers).end(body);
}).listen(process.env.PORT, '127.0.0.1');`;

const table = (await readText('examples/README.md')).matchAll(/^\| \[([\w-]+)\.ts\].*?\| (?:`(.*)`)? *\|$/gm);
const packages = new Map([...table].map(([, name, list]) => [name, list ?? '']));

/** The example, the changes to its compiled text, and packages to install in addition to those in the README. */
const servers: readonly (readonly [string, string, ((text: string) => string)?, string?])[] = [
  ['Express 5', 'express'],
  ['Express 4', 'express', (text) => text.replace('"express"', '"express-4"'), 'express-4'],
  ['NestJS', 'nest'],
  ['Fastify 5', 'fastify'],
  [
    'Fastify 4',
    'fastify',
    (text) => text.replace('"fastify"', '"fastify-4"').replace('"@fastify/cors"', '"cors-4"'),
    'fastify-4@npm:fastify@4.29.1 cors-4@npm:@fastify/cors@9.0.1',
  ],
  ['Koa', 'koa'],
  ['Hono', 'hono-node'],
  ['Elysia', 'elysia-node'],
  ['AWS Lambda', 'lambda', (text) => text + lambda],
];

const deno = ['deno', 'run', '--allow-env', '--allow-net', '--no-prompt'];
/** Bun and Deno serve what a file exports by default, as Workers do, which is bundled below. */
const honoRuntimes: readonly (readonly [name: string, command: (port: string) => readonly string[]])[] = [
  ['Bun', () => [process.execPath, 'run']],
  ['Deno', (port) => [...deno.with(1, 'serve'), '--host', '127.0.0.1', '--port', port]],
];
for (const [title, command] of honoRuntimes)
  describe(`Hono under ${title}, with the tarball`, () => {
    const folder = installedPackage(packages.get('hono-workers'));
    serverRows('examples/hono-workers.ts', async (environment) => {
      const ofProcess = (text: string) =>
        text.replace(/import.*"cloudflare:workers";/, 'const { env } = process, waitUntil = () => {};');
      const file = await compiled(join(examples, 'hono-workers.ts'), folder(), ofProcess);
      // Deno finds packages by its working directory.
      const inFolder = ['sh', '-c', 'cd "$0" && exec "$@"', folder(), ...command(environment.PORT ?? ''), file];
      return run(inFolder, { ...environment, NO_COLOR: '1' });
    });
  });

for (const [title, name, change, others = ''] of servers)
  describe(`${title} under Node.js, with the tarball`, () => {
    const folder = installedPackage(`${packages.get(name)} ${others}`);
    const start = async (environment: Environment) => {
      const file = await compiled(join(examples, `${name}.ts`), folder(), change);
      return run(['node', file], environment);
    };
    serverRows(`examples/${name}.ts`, start);
  });

type Start = (file: string, environment: Environment) => ReturnType<typeof runWorker> | ReturnType<typeof run>;
/** The runtimes that run TypeScript. workerd has none of the modules of Node.js. */
const runtimes: readonly (readonly [name: string, start: Start])[] = [
  ['deno-serve', (file, environment) => run([...deno, file], { ...environment, NO_COLOR: '1' })],
  ['bun-serve', (file, environment) => run([process.execPath, 'run', file], environment)],
  ['workers', runWorker],
  ['hono-workers', runWorker],
];

for (const [name, start] of runtimes)
  describe('With the tarball', () => {
    const folder = installedPackage(packages.get(name));
    serverRows(`examples/${name}.ts`, async (environment) => {
      const file = join(folder(), 'example.ts');
      await copyFile(join(examples, `${name}.ts`), file);
      return start(file, environment);
    });
  });
