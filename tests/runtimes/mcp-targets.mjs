// Sends spellings of an MCP endpoint to servers of Fastify and NestJS with the middleware.
import 'reflect-metadata';
import { test } from 'node:test';
import middie from '@fastify/middie';
import { All, Controller, Module, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import fastify from 'fastify';
import fastify4 from 'fastify-4';
import middie8 from 'middie-8';
import { handle, protect, tryTargets } from '../auth/mcp/targets.ts';

const apps = {
  'Fastify 5': () => [fastify(), middie],
  'Fastify 5, which cuts at a semicolon and reads many slashes as one': () => [
    fastify({
      routerOptions: {
        useSemicolonDelimiter: true,
        ignoreDuplicateSlashes: true,
        ignoreTrailingSlash: true,
        caseSensitive: false,
      },
    }),
    middie,
  ],
  'Fastify 4': () => [fastify4(), middie8],
};
for (const [name, create] of Object.entries(apps))
  test(name, { timeout: 60_000 }, async () => {
    const [app, plugin] = create();
    await app.register(plugin);
    app.use(protect);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_, __, done) => done(null));
    const endpoint = (request) => handle('endpoint')(request.raw);
    app.all('/mcp', endpoint);
    if (!name.includes('semicolon')) app.all('/mcp/', endpoint);
    app.all('/*', (request) => handle('other')(request.raw));
    await app.ready();
    await tryTargets(app.server, ['http://localhost/mcp', 'http://localhost/mcp/?x']);
    await app.close();
  });

class Endpoint {
  mcp(request) {
    return handle('endpoint')(request);
  }
  other(request) {
    return handle('other')(request);
  }
}
for (const [name, path] of Object.entries({ mcp: 'mcp', other: ['/', '*'] })) {
  Req()(Endpoint.prototype, name, 0);
  All(path)(Endpoint.prototype, name, Object.getOwnPropertyDescriptor(Endpoint.prototype, name));
}
Controller()(Endpoint);
class Application {}
Module({ controllers: [Endpoint] })(Application);

test('NestJS', { timeout: 60_000 }, async () => {
  const app = await NestFactory.create(Application, { logger: false });
  app.use(protect);
  await app.init();
  await tryTargets(app.getHttpServer());
  await app.close();
});
