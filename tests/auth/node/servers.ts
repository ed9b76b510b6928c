import 'reflect-metadata';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import type { AddressInfo, Server } from 'node:net';
import fastifyCors from '@fastify/cors';
import { All, Controller, type MiddlewareConsumer, Module, Req } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import connect from 'connect';
import cors from 'cors';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import { clientCertificateFromHeader, createGuard, type Guard, type GuardOptions } from '../../../src/auth/guard.ts';
import { authOf, checkIncoming, type IncomingRequest, requireToken } from '../../../src/auth/node.ts';

/** It brings no declarations. Those of version 5 fit. */
const express4: typeof express = createRequire(import.meta.url)('express-4');
export const requirements = { scope: 'read:reports' };
export const origin = 'https://app.example.test';
const subjectOf = (request: IncomingRequest) => String(authOf(request).claims.sub);

/**
 * Servers that check each request to `/api/reports` twice, in a mounted router where they have one, and set the headers of CORS
 * before. `/open` has no guard.
 */
const servers: Readonly<Record<string, (guard: Guard) => RequestListener | Server | Promise<Server>>> = {
  'Express 5': (guard) => expressApp(express, guard),
  'Express 4': (guard) => expressApp(express4, guard),
  Connect(guard) {
    const app = connect().use(cors({ origin })).use('/api/reports', requireToken(guard));
    app.use('/api', requireToken(guard, requirements));
    return app.use((request, response) => void response.end(subjectOf(request)));
  },
  async NestJS(guard) {
    @Controller()
    class Reports {
      @All(['api/reports', 'open'])
      read(@Req() request: IncomingRequest) {
        return subjectOf(request);
      }
    }
    @Module({ controllers: [Reports] })
    class Application {
      configure(consumer: MiddlewareConsumer) {
        consumer.apply(requireToken(guard), requireToken(guard, requirements)).forRoutes('api/reports');
      }
    }
    const app = await NestFactory.create(Application, { logger: false, cors: { origin } });
    return (await app.init()).getHttpServer();
  },
  async Fastify(guard) {
    // It keeps headers elsewhere until it responds, so the guard has those of CORS in its option `errorHeaders`.
    const app = Fastify().addHttpMethod('TRACE', { overrideExisting: true }).register(fastifyCors, { origin });
    app.register(
      async (api) => {
        api.addHook('onRequest', async ({ raw }, reply) => void (await checkIncoming(guard, raw, reply.raw)));
        api.all('/reports', async ({ raw }, reply) => {
          const auth = await checkIncoming(guard, raw, reply.raw, requirements);
          return auth && String(auth.claims.sub);
        });
      },
      { prefix: '/api' },
    );
    app.get('/open', async ({ raw }) => subjectOf(raw));
    await app.ready();
    return app.server;
  },
  Koa(guard) {
    const app = new Koa().use((context, next) => {
      context.set({ 'access-control-allow-origin': origin, vary: 'Origin' });
      return next();
    });
    app.silent = true;
    app.use(async ({ req, res, path }, next) => {
      if (path === '/open' || (await checkIncoming(guard, req, res))) await next();
    });
    app.use(async (context) => {
      const { req, res, path } = context;
      if (path === '/open' || (await checkIncoming(guard, req, res, requirements))) context.body = subjectOf(req);
    });
    return app.callback();
  },
  'node:http2': (guard) =>
    createHttp2Server(async (request, response) => {
      const auth = await checkIncoming(guard, request, response, requirements);
      if (auth) response.end(String(auth.claims.sub));
    }),
};

function expressApp(create: typeof express, guard: Guard) {
  const router = create.Router().use(requireToken(guard));
  const read = create.text({ type: '*/*' });
  router.all('/reports', requireToken(guard, requirements), read, (request, response) => {
    response.send(subjectOf(request));
  });
  const app = create().use(cors({ origin })).use('/api', router);
  return app.get('/open', (request, response) => void response.send(subjectOf(request)));
}

/** A guard for one server: a proof that one of them accepted is new to the others. It fails for the subject `fault`. */
function guardFor(options: GuardOptions) {
  const used = new Set<string>();
  return createGuard({
    ...options,
    dpop: 'on',
    clientCertificate: clientCertificateFromHeader('client-cert'),
    errorHeaders: { 'access-control-allow-origin': origin },
    replayStore: { markUsed: (key) => used.size < used.add(key).size },
    onAccepted(_, { sub }) {
      if (sub === 'fault') throw new Error('A fault of the application');
    },
  });
}

/** Starts all servers on loopback. */
export const startServers = (options: GuardOptions) =>
  Promise.all(
    Object.entries(servers).map(async ([name, create]) => {
      const created = await create(guardFor(options));
      const server = typeof created === 'function' ? createServer(created) : created;
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      return { name, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
    }),
  );

const { GUARD_OPTIONS } = process.env;
if (GUARD_OPTIONS) console.log(JSON.stringify(await startServers(JSON.parse(GUARD_OPTIONS))));
