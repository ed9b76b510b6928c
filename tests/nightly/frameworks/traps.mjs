// Servers with a guard of /admin, and files: in `files`, whose folder admin another path serves too, and in `private`.
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import fastifyExpress from '@fastify/express';
import fastifyStatic from '@fastify/static';
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import connect from 'connect';
import express from 'express';
import express4 from 'express-4';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import mount from 'koa-mount';
import koaStatic from 'koa-static';
import { createGuard, optionsFromEnvironment, RejectionError } from 'protected-api';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { checkIncoming, requireToken } from 'protected-api/node';
import files from 'serve-static';

const guard = createGuard(optionsFromEnvironment(process.env));
const ports = {};
const hostname = '127.0.0.1';

const listening = (name, listener) =>
  new Promise((done) => {
    const server = createServer(listener).listen(0, hostname, () => {
      ports[name] = server.address().port;
      done();
    });
  });
const listenFastify = async (name, app) => {
  await app.listen({ port: 0, host: hostname });
  ports[name] = app.server.address().port;
};
const listenHono = (name, app) =>
  new Promise((done) => {
    serve({ fetch: app.fetch, port: 0, hostname }, ({ port }) => {
      ports[name] = port;
      done();
    });
  });

const check = requireToken(guard);
for (const [name, create, serveFiles] of [
  ['Express 4', express4, express4.static],
  ['Express 5', express, express.static],
  ['Connect', connect, files],
]) {
  await listening(`${name}, trap`, create().use('/admin', check).use(serveFiles('files')));
  const right = create().use('/admin', check).use('/admin', serveFiles('private')).use(serveFiles('public'));
  await listening(`${name}, right`, right);
}

const isAdmin = (path) => path.startsWith('/admin');
const compared = express().use((request, response, next) =>
  isAdmin(request.path) ? check(request, response, next) : next(),
);
await listening(
  'Express, compared',
  compared.get('/admin/x.txt', (_, response) => response.send('secret')),
);
{
  const app = Fastify();
  const hook = forFastify.requireToken(guard);
  app.addHook('onRequest', async (request, reply) => (isAdmin(request.url) ? hook(request, reply) : undefined));
  app.get('/admin/x.txt', async () => 'secret');
  await listenFastify('Fastify, compared', app);
}

const responding = async (ctx, next) => {
  try {
    await next();
  } catch (error) {
    if (!(error instanceof RejectionError)) throw error;
    ctx.status = error.status;
  }
};
const koaCheck = async (ctx, next) => {
  await checkIncoming(guard, ctx.req);
  await next();
};
{
  const mounted = new Koa().use(responding).use(mount('/admin', koaCheck)).use(koaStatic('files'));
  await listening('Koa, trap', mounted.callback());
  const admin = new Koa().use(koaCheck).use(koaStatic('private'));
  const right = new Koa().use(responding).use(mount('/admin', admin)).use(koaStatic('public'));
  await listening('Koa, right', right.callback());
}

{
  const app = Fastify();
  await app.register(fastifyExpress);
  app.use('/admin', check);
  app.use(express.static('files'));
  await listenFastify('@fastify/express, trap', app);
}
{
  const app = Fastify();
  await app.register(async (admin) => {
    admin.addHook('onRequest', forFastify.requireToken(guard));
    await admin.register(fastifyStatic, { root: resolve('private'), prefix: '/admin/' });
  });
  await app.register(fastifyStatic, { root: resolve('public'), decorateReply: false });
  await listenFastify('@fastify/static, right', app);
}
{
  const rewriteRequestPath = (path) => path.replace(/^\/admin/, '');
  const right = new Hono()
    .use('/admin/*', forHono.requireToken(guard), serveStatic({ root: './private', rewriteRequestPath }))
    .use(serveStatic({ root: './public' }));
  await listenHono('Hono, right', right);
  const exact = new Hono().use('/admin', forHono.requireToken(guard)).get('/admin/x.txt', (c) => c.text('secret'));
  await listenHono('Hono, exact', exact);
}

createServer((_, response) => response.end(JSON.stringify(ports))).listen(Number(process.env.PORT), hostname, () =>
  console.log('Listening'),
);
