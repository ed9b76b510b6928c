import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import * as forFastify from '../../src/auth/fastify.ts';
import * as forHono from '../../src/auth/hono.ts';
import { createGuard, type GuardOptions } from '../../src/auth/index.ts';
import { requireToken } from '../../src/auth/node.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { listen } from '../support/raw-http.ts';

/*
 * Servers of Node.js that terminate mutual TLS. Prints what each responds to the client whose certificate the token is
 * bound to, to another client, and to one without a certificate. Bun and Deno know no certificate of a connection.
 */
const read = (name: string) => readFileSync(name, 'utf8');
const identity = (name: string) => ({ key: read(`${name}.key`), cert: read(`${name}.pem`) });
const tls = { ...identity('server'), requestCert: true, rejectUnauthorized: false };
const issuer = await createTestIssuer();
const authorization = `Bearer ${await issuer.token({}, { boundTo: read('a.pem') })}`;

type Guard = ReturnType<typeof createGuard>;
const doors: Readonly<Record<string, (guard: Guard) => RequestListener | Promise<RequestListener>>> = {
  Express: (guard) => express().use(requireToken(guard), (_, response) => void response.end()),
  async Fastify(guard) {
    const app = fastify();
    app.get('/', { onRequest: forFastify.requireToken(guard) }, async () => '');
    await app.ready();
    return app.routing as RequestListener;
  },
  Hono(guard) {
    const app = new Hono().get('/', forHono.requireToken(guard), (context) => context.text(''));
    const server = createAdaptorServer({ overrideGlobalObjects: false, fetch: app.fetch });
    return (incoming, response) => server.emit('request', incoming, response);
  },
};
const forms: Readonly<Record<string, GuardOptions['clientCertificate']>> = {
  'the certificate': ({ incoming }) => incoming?.socket.getPeerCertificate?.(),
  'its bytes': ({ incoming }) => incoming?.socket.getPeerCertificate?.().raw,
  'an X509Certificate': ({ incoming }) => ((incoming as IncomingMessage).socket as TLSSocket).getPeerX509Certificate(),
};

const seen: Record<string, unknown[]> = {};
for (const [door, create] of Object.entries(doors))
  for (const [form, clientCertificate] of Object.entries(forms)) {
    const outcomes: unknown[] = [];
    const onRejected = (_: unknown, reason: string) => void outcomes.push(reason);
    const guard = createGuard({ ...issuer.options, clientCertificate, onRejected });
    const server = createServer(tls, await create(guard));
    const port = await listen(server);
    // The second request resumes the session of the first.
    const [first, ...others] = [identity('a'), identity('b'), {}].map(
      (client) => new Agent({ ...client, rejectUnauthorized: false }),
    );
    for (const agent of [first, first, ...others]) {
      const options = { agent, port, host: '127.0.0.1' };
      const sent = request({ ...options, headers: { authorization } }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      if (response.statusCode === 200) outcomes.push(200);
    }
    server.close();
    seen[`${door}: ${form}`] = outcomes;
  }
console.log(JSON.stringify(seen));
