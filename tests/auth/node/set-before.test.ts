import { expect, test } from 'bun:test';
import connect from 'connect';
import { Elysia } from 'elysia';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { createGuard } from 'protected-api';
import { resourceServer } from 'protected-api/elysia';
import { requireToken as requireTokenInFastify } from 'protected-api/fastify';
import { requireToken as requireTokenInHono } from 'protected-api/hono';
import { type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { type Application, respond } from '../../support/respond.ts';

const guard = createGuard((await createTestIssuer()).options);
/** What recipes set ahead of the handler, for a compressed file or a stream. */
const ofBody = Object.entries({
  'content-encoding': 'gzip',
  'content-language': 'de',
  'content-length': '3',
  'content-range': 'bytes 0-2/3',
});
const before: Middleware = (_, response, next) => {
  for (const header of ofBody) response.setHeader(...header);
  response.setHeader('transfer-encoding', 'chunked');
  next();
};
const inElysia = (aot: boolean) =>
  new Elysia({ aot })
    .onRequest(({ set }) => void Object.assign(set.headers, Object.fromEntries(ofBody)))
    .use(resourceServer(guard))
    .get('/', () => '');

const applications: readonly (readonly [name: string, app: Application])[] = [
  ['Express', express().use(before).use(requireToken(guard))],
  ['Connect', connect().use(before).use(requireToken(guard))],
  [
    'Fastify',
    fastify()
      .addHook('onRequest', async (_, reply) => void reply.headers(Object.fromEntries(ofBody)))
      .get('/', { onRequest: requireTokenInFastify(guard) }, async () => ''),
  ],
  [
    'Hono',
    new Hono()
      .use(async (c, next) => {
        for (const header of ofBody) c.header(...header);
        await next();
      })
      .get('/', requireTokenInHono(guard), (c) => c.text('')),
  ],
  ['Elysia', inElysia(true)],
  ['Elysia with aot: false', inElysia(false)],
];

test.each(applications)('a rejection of %s has no header of the body that it replaces', async (_, app) => {
  const response = await respond(app, new Request('http://localhost/'));
  expect(await response.json()).toMatchObject({ error: 'missing_token' });
  const names = ofBody.map(([name]) => name).filter((name) => name !== 'content-length');
  expect([response.status, names.filter((name) => response.headers.has(name))]).toEqual([401, []]);
});
