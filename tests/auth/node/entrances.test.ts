import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createRequire } from 'node:module';
import rateLimit from '@fastify/rate-limit';
import express, { type Express, type RequestHandler } from 'express';
import expressRateLimit from 'express-rate-limit';
import fastify from 'fastify';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { createMocks, createRequest } from 'node-mocks-http';
import { createGuard } from 'protected-api';
import * as forFastify from 'protected-api/fastify';
import { authOf, checkIncoming, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { WebSocketServer } from 'ws';
import { bearer } from '../../support/mint.ts';
import { listen } from '../../support/raw-http.ts';

/*
 * Second entrances to a server, beside the guard: what the pages of Fastify and Express, and the guides to WebSockets
 * and tests, say about packages of others.
 */

const issuer = await createTestIssuer();
const guard = createGuard(issuer.options);
const token = await issuer.token({ sub: 'ada' });

/** Opens a WebSocket, and resolves to its first message, or to `closed`. */
const talk = (port: number, path: string, headers: Record<string, string> = {}) =>
  new Promise<string>((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    socket.onmessage = ({ data }) => {
      resolve(String(data));
      socket.close();
    };
    socket.onclose = () => resolve('closed');
  });

/** A server behind the proxy that greets everybody. */
async function greeting(): Promise<readonly [server: Server, port: number]> {
  const server = createServer((_, response) => response.end('ok'));
  new WebSocketServer({ server }).on('connection', (socket) => socket.send('hello'));
  return [server, await listen(server)];
}

describe('http-proxy-middleware behind requireToken()', () => {
  test.each([
    ['with ws: true opens sockets for strangers after one accepted request', true, 'hello'],
    ['without ws, and with the listener of the guide, opens none for strangers', false, 'closed'],
  ])('%s', async (_, ws, stranger) => {
    const [target, targetPort] = await greeting();
    const proxy = createProxyMiddleware({ target: `http://127.0.0.1:${targetPort}`, ws });
    const server = createServer(express().use('/api', requireToken(guard), proxy));
    if (!ws)
      server.on('upgrade', (request, socket, head) => {
        socket.on('error', () => socket.destroy());
        checkIncoming(guard, request).then(
          () => proxy.upgrade(request, socket as never, head),
          ({ status = 500 }) => socket.end(`HTTP/1.1 ${status} Rejected\r\n\r\n`, () => socket.destroy()),
        );
      });
    const port = await listen(server);
    expect((await fetch(`http://127.0.0.1:${port}/api`)).status).toBe(401);
    expect((await fetch(`http://127.0.0.1:${port}/api`, { headers: bearer(token) })).status).toBe(200);
    expect(await talk(port, '/elsewhere')).toBe(stranger);
    expect(await talk(port, '/api', bearer(token))).toBe('hello');
    server.closeAllConnections();
    server.close();
    target.closeAllConnections();
    target.close();
  });
});

describe('express-ws', () => {
  type Sockets = (path: string, handler: (socket: WebSocket, request: IncomingMessage) => void) => void;
  const expressWs: (app: Express) => { app: Express & { ws: Sockets } } = createRequire(import.meta.url)('express-ws');

  test('asks a guard that app.use() has on the path', async () => {
    const { app } = expressWs(express());
    app.use('/events', requireToken(guard) as RequestHandler);
    app.ws('/events', (socket, request) => socket.send(String(authOf(request).claims.sub)));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = Object(server.address());
    expect([await talk(port, '/events', bearer(token)), await talk(port, '/events')]).toEqual(['ada', 'closed']);
    server.close();
  });
});

describe('a rate limit counts guesses at tokens', () => {
  const guess = { headers: bearer('guess') };

  test.each([
    ['as a hook of the instance', true, [401, 401, 429, 429]],
    ['not as @fastify/rate-limit adds it to routes, behind the guard', false, [401, 401, 401, 401]],
  ])('in Fastify %s', async (_, isHook, statuses) => {
    const app = fastify();
    const limit = { max: 2, timeWindow: '1 minute' };
    await app.register(rateLimit, isHook ? { global: false } : limit);
    if (isHook) app.addHook('onRequest', app.rateLimit(limit));
    app.get('/', { onRequest: forFastify.requireToken(guard) }, async () => 'ok');
    const sent: number[] = [];
    for (const _ of statuses) sent.push((await app.inject({ url: '/', ...guess })).statusCode);
    expect(sent).toEqual(statuses);
  });

  test('in Express before requireToken()', async () => {
    const app = express().use(
      expressRateLimit({ limit: 2, skipSuccessfulRequests: true }) as RequestHandler,
      requireToken(guard),
      (_, response) => void response.end('ok'),
    );
    const server = createServer(app);
    const url = `http://127.0.0.1:${await listen(server)}`;
    const sent: number[] = [];
    for (const headers of [bearer(token), bearer('a'), bearer(token), bearer('b'), bearer('c'), bearer(token)])
      sent.push((await fetch(url, { headers, keepalive: false })).status);
    expect(sent).toEqual([200, 401, 200, 401, 429, 429]);
    server.close();
  });
});

test('a hook that a Fastify plugin adds leaves routes beside the plugin open', async () => {
  const app = fastify();
  await app.register(async (plugin) => plugin.addHook('onRequest', forFastify.requireToken(guard)));
  app.get('/', async () => 'open');
  expect((await app.inject('/')).statusCode).toBe(200);
});

test('a hook of the instance of Fastify checks requests for routes that do not exist too', async () => {
  const app = fastify().addHook('onRequest', forFastify.requireToken(guard));
  app.get('/a', async () => 'open');
  const found = await Promise.all(
    (['/a', '/A', '//a', '/%61', '/none'] as const).map(async (url) => (await app.inject(url)).statusCode),
  );
  expect(found).toEqual([401, 401, 401, 401, 401]);
});

describe('app.param() of Express', () => {
  const loaded: unknown[] = [];
  const app = express();
  app.param('id', (_request, _response, next, id) => {
    loaded.push(id);
    next();
  });

  test.each([
    ['runs before the guard of a route', '/a/1', ['1']],
    ['runs after a guard that app.use() has', '/b/2', []],
  ])('%s', async (_, path, expected) => {
    loaded.length = 0;
    app.get('/a/:id', requireToken(guard), (_request, response) => void response.end());
    app.use('/b', requireToken(guard));
    app.get('/b/:id', (_request, response) => void response.end());
    const server = createServer(app);
    expect((await fetch(`http://127.0.0.1:${await listen(server)}${path}`)).status).toBe(401);
    expect(loaded).toEqual(expected);
    server.close();
  });
});

describe('a request of node-mocks-http', () => {
  test.each([
    ['a token', { authorization: `Bearer ${token}` }, 200],
    ['no token', {}, 401],
  ])('is checked by its headers: %s', async (_, headers, status) => {
    const { req, res } = createMocks({ headers, url: '/' });
    await new Promise<void>((resolve) => {
      res.end = () => {
        resolve();
        return res;
      };
      requireToken(guard)(req, res, () => resolve());
    });
    expect(res.statusCode).toBe(status);
    if (status === 200) expect(authOf(req).claims.sub).toBe('ada');
  });

  test('is one request for several checks', async () => {
    const request = createRequest({ headers: { authorization: `Bearer ${token}` }, url: '/' });
    expect((await checkIncoming(guard, request)).claims.sub).toBe('ada');
  });
});
