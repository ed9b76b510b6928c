import { afterAll, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { Elysia } from 'elysia';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { createGuard } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { freePort, type RunningProcess, untilReachable } from '../support/child-process.ts';
import { bearer } from '../support/mint.ts';
import { listen } from '../support/raw-http.ts';
import { startNginx } from './proxies.ts';

const issuer = await createTestIssuer();
const guard = createGuard(issuer.options);
/** The second wins in nginx. */
const caching = Object.entries({ 'cache-control': 'public, max-age=300', 'x-accel-expires': '300' });

const express5 = express().use((_, response, next) => {
  for (const header of caching) response.setHeader(...header);
  next();
});
express5.use(requireToken(guard), (_, response) => void response.end('served'));

const fastify5 = fastify().addHook('onRequest', async (_, reply) => {
  for (const header of caching) reply.header(...header);
});
fastify5.get('/', { onRequest: forFastify.requireToken(guard) }, async () => 'served');
await fastify5.ready();

const hono = new Hono().use((context, next) => {
  for (const header of caching) context.header(...header);
  return next();
});
hono.get('/', forHono.requireToken(guard), (context) => context.text('served'));

const elysia = new Elysia()
  .headers(Object.fromEntries(caching))
  .use(resourceServer(guard))
  .get('/', () => 'served');

const ports = {
  Express: await listen(createServer(express5)),
  Fastify: await listen(fastify5.server),
  Hono: await listen(createAdaptorServer({ overrideGlobalObjects: false, fetch: hono.fetch }) as never),
  Elysia: Bun.serve({ port: 0, fetch: elysia.fetch }).port ?? 0,
};

const proxies: RunningProcess[] = [];
afterAll(() => {
  for (const proxy of proxies) proxy.signal('SIGTERM');
});

test.each(Object.entries(ports))(
  'a cache of nginx in front of %s keeps no rejection from one client for another',
  async (_, port) => {
    const frontend = `127.0.0.1:${await freePort()}`;
    const proxy = startNginx(`proxy_cache_path cache keys_zone=cache:1m;
      server { listen ${frontend}; location / { proxy_pass http://127.0.0.1:${port}; proxy_cache cache; } }`);
    proxies.push(proxy);
    await untilReachable(`http://${frontend}`, proxy);
    const send = async (headers: Record<string, string>) => {
      const response = await fetch(`http://${frontend}/`, { headers });
      return `${response.status} ${response.ok ? await response.text() : ''}`;
    };
    const [stranger, owner] = [await send({}), await send(bearer(await issuer.token()))];
    expect([stranger, owner]).toEqual(['401 ', '200 served']);
  },
);
