import { expect, test } from 'bun:test';
import connect from 'connect';
import { Elysia } from 'elysia';
import express from 'express';
import fastify, { type FastifyInstance } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import mount from 'koa-mount';
import polka from 'polka';
import { createGuard, type Guard } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';
import { requireToken as requireTokenInFastify } from 'protected-api/fastify';
import { requireToken as requireTokenInHono } from 'protected-api/hono';
import { checkIncoming, type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { type Application, respond } from '../../support/respond.ts';

const handler: Middleware = (_, response) => response.end('');
const nodePart = (guard: Guard) =>
  connect()
    .use('/x', requireToken(guard))
    .use('/x', handler as never);
const koaPart = (guard: Guard) =>
  new Koa().use(async (context) => {
    if (await checkIncoming(guard, context.req, context.res)) context.body = '';
  });
const fastifyPart = (guard: Guard) => async (part: FastifyInstance) =>
  void part.get('/x', { onRequest: requireTokenInFastify(guard) }, async () => '');
const honoPart = (guard: Guard) => new Hono().use(requireTokenInHono(guard)).get('/x', (c) => c.body(''));
const elysiaPart = (guard: Guard) => new Elysia().use(resourceServer(guard)).get('/x', () => '');

/**
 * Each serves /mnt/x. Where the framework removes the mount from the path that the guard gets, `publicUrl` ends with
 * it.
 */
const frameworks: readonly (readonly [name: string, end: '' | '/mnt', create: (guard: Guard) => Application])[] = [
  ['Express', '', (guard) => express().use('/mnt', express.Router().get('/x', requireToken(guard), handler))],
  ['Connect', '', (guard) => connect().use('/mnt', nodePart(guard))],
  ['Polka', '', (guard) => polka().use('/mnt', polka().get('/x', requireToken(guard), handler)).handler as never],
  ['Fastify with a prefix', '', (guard) => fastify().register(fastifyPart(guard), { prefix: '/mnt' })],
  ['Koa with koa-mount', '/mnt', (guard) => new Koa().use(mount('/mnt', koaPart(guard)))],
  ['route() of Hono', '', (guard) => new Hono().route('/mnt', honoPart(guard))],
  ['mount() of Hono', '/mnt', (guard) => new Hono().mount('/mnt', honoPart(guard).fetch)],
  ['use() of Elysia with a prefix', '', (guard) => new Elysia({ prefix: '/mnt' }).use(elysiaPart(guard))],
  ['mount() of Elysia', '/mnt', (guard) => new Elysia().mount('/mnt', elysiaPart(guard).fetch)],
];

const issuer = await createTestIssuer();
const token = await issuer.token({}, { boundTo: 'dpop' });
const base = 'https://api.example.test';

test.each(frameworks)(
  'below a mount of %s, with publicUrl ending with %j, only a proof for the URL that the client calls is accepted',
  async (_, end, create) => {
    const app = create(createGuard({ ...issuer.options, dpop: 'required', publicUrl: base + end }));
    for (const [path, status] of Object.entries({ '/mnt/x': 200, '/x': 401, '/mnt/mnt/x': 401 })) {
      const dpop = await issuer.proof({ method: 'GET', url: base + path }, token);
      const headers = { authorization: `DPoP ${token}`, dpop };
      expect((await respond(app, new Request('http://localhost/mnt/x', { headers }))).status, path).toBe(status);
    }
  },
);

test.each<[string, (outer: Guard, inner: Guard) => Application]>([
  ['Hono', (outer, inner) => new Hono().use(requireTokenInHono(outer)).mount('/mnt', honoPart(inner).fetch)],
  ['Elysia', (outer, inner) => new Elysia().use(resourceServer(outer)).mount('/mnt', elysiaPart(inner).fetch)],
])('a guard outside of mount() of %s uses the proof that a guard inside needs, as the page says', async (_, create) => {
  const [outer, inner] = ['', '/mnt'].map((end) =>
    createGuard({ ...issuer.options, dpop: 'required', publicUrl: base + end }),
  ) as [Guard, Guard];
  const dpop = await issuer.proof({ method: 'GET', url: `${base}/mnt/x` }, token);
  const headers = { authorization: `DPoP ${token}`, dpop };
  const response = await respond(create(outer, inner), new Request('http://localhost/mnt/x', { headers }));
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining('already been used')]);
});
