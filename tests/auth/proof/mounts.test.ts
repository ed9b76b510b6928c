import { describe, expect, test } from 'bun:test';
import { createServer, type RequestListener } from 'node:http';
import connect from 'connect';
import { Elysia } from 'elysia';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import mount from 'koa-mount';
import polka from 'polka';
import { resourceServer } from 'protected-api';
import { requireToken as requireTokenInFastify } from 'protected-api/fastify';
import { createGuard, type Guard } from 'protected-api/guard';
import { requireToken as requireTokenInHono } from 'protected-api/hono';
import { checkIncoming, type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { serve } from '../../support/fixture.ts';
import { listen } from '../../support/raw-http.ts';

type Serve = (guard: Guard) => ((request: Request) => Response | Promise<Response>) | RequestListener;
const handler: Middleware = (_, response) => response.end('');
const honoApp = (guard: Guard) => new Hono().use(requireTokenInHono(guard)).get('/x', (c) => c.body(''));
const elysiaApp = (guard: Guard) => new Elysia().use(resourceServer(guard)).get('/x', () => '');

/** Each serves /mnt/x. Where the framework removes the mount from the path that the guard gets, `publicUrl` ends with it. */
const frameworks: readonly (readonly [name: string, end: '' | '/mnt', serve: Serve])[] = [
  ['Express', '', (guard) => express().use('/mnt', express.Router().get('/x', requireToken(guard), handler))],
  [
    'Connect',
    '',
    (guard) =>
      connect().use(
        '/mnt',
        connect()
          .use('/x', requireToken(guard))
          .use('/x', handler as never),
      ),
  ],
  [
    'Polka',
    '',
    (guard) => polka().use('/mnt', polka().get('/x', requireToken(guard), handler)).handler as RequestListener,
  ],
  [
    'Koa with koa-mount',
    '/mnt',
    (guard) => {
      const part = new Koa().use(async (context) => {
        if (await checkIncoming(guard, context.req, context.res)) context.body = '';
      });
      return new Koa().use(mount('/mnt', part)).callback();
    },
  ],
  ['route() of Hono', '', (guard) => new Hono().route('/mnt', honoApp(guard)).fetch],
  ['mount() of Hono', '/mnt', (guard) => new Hono().mount('/mnt', honoApp(guard).fetch).fetch],
  ['use() of Elysia with a prefix', '', (guard) => new Elysia({ prefix: '/mnt' }).use(elysiaApp(guard)).fetch],
  ['mount() of Elysia', '/mnt', (guard) => new Elysia().mount('/mnt', elysiaApp(guard).fetch).fetch],
];

const issuer = await createTestIssuer();
const token = await issuer.token({}, { boundTo: 'dpop' });
const base = 'https://api.example.test';

async function statuses(origin: string) {
  const paths = ['/mnt/x', '/x', '/mnt/mnt/x'];
  const responses = paths.map(async (path) => {
    const headers = {
      authorization: `DPoP ${token}`,
      dpop: await issuer.proof({ method: 'GET', url: base + path }, token),
    };
    return (await fetch(`${origin}/mnt/x`, { headers, keepalive: false })).status;
  });
  return Promise.all(responses);
}

describe('only a proof for the URL that the client calls is accepted below a mount', () => {
  const guardFor = (end: string) => createGuard({ ...issuer.options, dpop: 'required', publicUrl: base + end });

  test.each(frameworks)('of %s, with publicUrl ending with %j', async (_, end, create) => {
    const listener = create(guardFor(end));
    if (listener.length < 2) {
      await using server = serve(listener as (request: Request) => Response);
      expect(await statuses(server.url.origin)).toEqual([200, 401, 401]);
    } else {
      const server = createServer(listener as RequestListener);
      expect(await statuses(`http://127.0.0.1:${await listen(server)}`)).toEqual([200, 401, 401]);
      server.close();
    }
  });

  test('of Fastify with a prefix', async () => {
    const app = fastify().register(
      async (part) => void part.get('/x', { onRequest: requireTokenInFastify(guardFor('')) }, async () => ''),
      { prefix: '/mnt' },
    );
    expect(await statuses(await app.listen({ host: '127.0.0.1', port: 0 }))).toEqual([200, 401, 401]);
    await app.close();
  });
});
