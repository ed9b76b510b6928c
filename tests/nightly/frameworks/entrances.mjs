// Servers of packages that bring routes, WebSockets and GraphQL into a framework, each on a port of its own. The server at PORT
// responds with these ports.
import { createServer } from 'node:http';
import fastifyExpress from '@fastify/express';
import fastifyProxy from '@fastify/http-proxy';
import fastifyWebsocket from '@fastify/websocket';
import { serve } from '@hono/node-server';
import { createNodeWebSocket } from '@hono/node-ws';
import Router from '@koa/router';
import express from 'express';
import expressWs from 'express-ws';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { Hono as Hono47 } from 'hono-4.7';
import { some } from 'hono-4.7/combine';
import Koa from 'koa';
import { createGuard, optionsFromEnvironment, RejectionError } from 'protected-api';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { authOf, checkIncoming, requireToken } from 'protected-api/node';
import { WebSocketServer } from 'ws';

const guard = createGuard(optionsFromEnvironment(process.env));
const scope = 'read:messages';
const ports = {};
const hostname = '127.0.0.1';

const listening = (name, server) =>
  new Promise((resolve) => {
    // An application of express-ws listens itself.
    const listener = server.listen(0, hostname, () => {
      ports[name] = listener.address().port;
      resolve();
    });
  });
const listenFastify = async (name, app) => {
  await app.listen({ port: 0, host: hostname });
  ports[name] = app.server.address().port;
};

const listenHono = (name, app, attach = () => {}) =>
  new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname }, ({ port }) => {
      ports[name] = port;
      resolve();
    });
    attach(server);
  });

const target = createServer((_, response) => response.end('proxied'));
new WebSocketServer({ server: target }).on('connection', (socket) => socket.send('proxied'));
await listening('target', target);

{
  const app = Fastify();
  await app.register(fastifyWebsocket);
  const onRequest = forFastify.requireToken(guard, { scope });
  app.get('/events', { websocket: true, onRequest }, (socket, request) =>
    socket.send(forFastify.authOf(request).claims.sub),
  );
  await listenFastify('@fastify/websocket', app);
}

{
  const app = Fastify();
  await app.register(async (plugin) => {
    plugin.addHook('onRequest', forFastify.requireToken(guard, { scope }));
    await plugin.register(fastifyProxy, { upstream: `http://${hostname}:${ports.target}`, websocket: true });
  });
  await listenFastify('@fastify/http-proxy', app);
}

{
  const app = new Hono();
  const { injectWebSocket, upgradeWebSocket } = createNodeWebSocket({ app });
  app.get(
    '/events',
    forHono.requireToken(guard, { scope }),
    upgradeWebSocket((c) => ({ onOpen: (_, socket) => socket.send(forHono.authOf(c).claims.sub) })),
  );
  await listenHono('@hono/node-ws', app, injectWebSocket);
}

{
  const { app } = expressWs(express());
  app.use('/events', requireToken(guard, { scope }));
  app.ws('/events', (socket, request) => socket.send(authOf(request).claims.sub));
  app.ws('/given-the-guard', requireToken(guard), (socket) => socket.send('open'));
  await listening('express-ws', app);
}

{
  const app = Fastify({ routerOptions: { ignoreDuplicateSlashes: true, caseSensitive: false } });
  await app.register(fastifyExpress);
  app.use('/admin', requireToken(guard, { scope }));
  app.get('/admin/users', async () => 'open');
  await listenFastify('@fastify/express', app);
}

{
  const app = new Koa();
  const check = async (ctx, next) => {
    await checkIncoming(guard, ctx.req, undefined, { scope });
    await next();
  };
  const open = (ctx) => {
    ctx.body = 'open';
  };
  app.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      if (!(error instanceof RejectionError)) throw error;
      ctx.status = error.status;
    }
  });
  app.use(new Router({ prefix: '/used' }).use(check).get('/users', open).routes());
  app.use(new Router({ prefix: '/sensitive', sensitive: true }).use(check).get('/users', open).routes());
  app.use(new Router({ prefix: '/routed' }).get('/users', check, open).routes());
  await listening('@koa/router', createServer(app.callback()));
}

const patterns = [
  ['/one*', '/one/users'],
  ['/*/two/*', '/:tenant/two/users'],
  ['/three/*', '/three/users'],
];
for (const [name, Class] of Object.entries({ hono: Hono, 'hono 4.7': Hono47 }))
  for (const [pattern, path] of patterns) {
    const app = new Class().use(pattern, forHono.requireToken(guard, { scope })).get(path, (c) => c.text('open'));
    await listenHono(`${name}, ${pattern}`, app);
  }

{
  const apiKey = async (c, next) => {
    if (c.req.header('x-api-key') !== 'key') throw new Error('No key');
    await next();
  };
  const app = new Hono47()
    .use(some(forHono.requireToken(guard, { scope }, { rejection: 'throw' }), apiKey))
    .get('/users', (c) => c.text('open'));
  await listenHono('hono 4.7, some()', app);
}

{
  const app = express();
  const router = express.Router().get('/users', (_, response) => void response.send('open'));
  app.use('/beside/users', requireToken(guard, { scope })).use('/beside', router);
  app.use('/before', requireToken(guard, { scope }), router);
  await listening('express', createServer(app));
}

createServer((_, response) => response.end(JSON.stringify(ports))).listen(Number(process.env.PORT), hostname, () =>
  console.log('Listening'),
);
