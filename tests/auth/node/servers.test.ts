// Runs here with the sources, and in tests/runtimes with the tarball under Node.js, which has no bun:test.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import { type Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';
import fastifyCompress from '@fastify/compress';
import fastifyCors from '@fastify/cors';
import fastifyHelmet from '@fastify/helmet';
import { createAdaptorServer } from '@hono/node-server';
import connect from 'connect';
import cors from 'cors';
import express from 'express';
import fastify, { type FastifyRequest } from 'fastify';
import { type Context, Hono } from 'hono';
import { cors as honoCors } from 'hono/cors';
import polka from 'polka';
import { type Claims, createGuard, type GuardRequest } from 'protected-api';
import * as forFastify from 'protected-api/fastify';
import * as forHono from 'protected-api/hono';
import { authOf, checkIncoming, type Middleware, requireToken, serveMetadata } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { dpopNonceSecret, nonceOf } from '../../support/nonce.ts';
import { listen, rawRequest } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const scope = 'read:messages';
const origin = 'https://spa.example.test';
const options = {
  ...issuer.options,
  dpop: 'on' as const,
  publicUrl,
  onAccepted(_: unknown, { sub }: Claims) {
    if (sub === 'fault') throw new Error('A fault of the application');
  },
};
const guard = createGuard(options);
const withNonces = createGuard({ ...options, dpopNonceSecret });
const token = await issuer.token({ sub: 'ada', scope });
const bound = await issuer.token({ sub: 'ada', scope }, { boundTo: 'dpop' });
const path = '/messages';
const proof = (path: string, options = {}) => issuer.proof({ method: 'GET', url: publicUrl + path }, bound, options);

/** Starts a server on loopback before the tests of the enclosing describe(), and returns its URL. */
function listening(create: () => Server | Promise<Server>) {
  let server: Server | undefined;
  let port = 0;
  before(async () => {
    server = await create();
    port = await listen(server);
  });
  after(() => server?.close());
  return () => `http://127.0.0.1:${port}`;
}

/** What lets caches keep a response. nginx and CDNs prefer their own headers to `Cache-Control`. */
const forCaches = Object.entries({
  'cache-control': 'public, max-age=300',
  'cdn-cache-control': 'max-age=300',
  'surrogate-control': 'max-age=300',
  'x-accel-expires': '300',
  expires: 'Fri, 31 Dec 2100 23:59:59 GMT',
  etag: '"a"',
  'last-modified': 'Fri, 31 Dec 1999 23:59:59 GMT',
});

let handled: string[] = [];
type Any = Claims | undefined;

interface Application extends RequestListener {
  use(path: string, middleware: Middleware): Application;
}
/** Serves the same application with Express, Connect or Polka. */
function withMiddleware(app: Application, listener: RequestListener = app): Server {
  const handler: Middleware = (request, response, next) => {
    handled.push(String(request.method));
    const respond = (body: string) => response.end(`${authOf<Any>(request).claims?.sub}${body}`);
    text(request as IncomingMessage)
      .then(respond)
      .catch(next);
  };
  app
    .use('/', serveMetadata(guard, { scopes: [scope] }))
    .use('/', (_, response, next) => {
      for (const header of forCaches) response.setHeader(...header);
      next();
    })
    .use('/', cors({ origin: [origin], exposedHeaders: ['WWW-Authenticate'] }) as Middleware)
    .use('/messages', requireToken(guard))
    .use('/messages', requireToken(guard, { scope }))
    .use('/news', requireToken(guard, { optional: true }))
    .use('/nonces', requireToken(withNonces));
  for (const path of ['/messages', '/news', '/nonces', '/open']) app.use(path, handler);
  app.use('/public', (request, response) => void response.end(String(authOf(request, { optional: true }))));
  return createServer(listener);
}

async function withFastify(): Promise<Server> {
  const handler = async (request: FastifyRequest) => {
    handled.push(request.method);
    return `${forFastify.authOf<Any>(request).claims?.sub}${request.body ?? ''}`;
  };
  const app = fastify()
    .addHook('onRequest', async (_, reply) => {
      for (const header of forCaches) reply.header(...header);
    })
    .register(fastifyCors, { origin: [origin], exposedHeaders: ['WWW-Authenticate'] })
    .register(fastifyHelmet)
    .register(fastifyCompress, { threshold: 0 })
    .register(async (part) => {
      part.addHook('onRequest', forFastify.requireToken(guard));
      part.all('/messages', { onRequest: forFastify.requireToken(guard, { scope }) }, handler);
    })
    .all('/news', { onRequest: forFastify.requireToken(guard, { optional: true }) }, handler)
    .all('/nonces', { onRequest: forFastify.requireToken(withNonces) }, handler)
    .all('/open', handler)
    .all('/public', async (request) => String(forFastify.authOf(request, { optional: true })));
  await app.ready();
  return app.server;
}

function withHono(): Server {
  const handler = async (context: Context) => {
    handled.push(context.req.method);
    return context.body(`${forHono.authOf<Any>(context).claims?.sub}${await context.req.text()}`);
  };
  const app = new Hono()
    .use((context, next) => {
      for (const header of forCaches) context.header(...header);
      return next();
    })
    .use(honoCors({ origin: [origin], exposeHeaders: ['WWW-Authenticate'] }))
    .use('/messages', forHono.requireToken(guard))
    .all('/messages', forHono.requireToken(guard, { scope }), handler)
    .all('/news', forHono.requireToken(guard, { optional: true }), handler)
    .all('/nonces', forHono.requireToken(withNonces), handler)
    .all('/open', handler)
    .all('/public', (context) => context.body(String(forHono.authOf(context, { optional: true }))))
    .onError((_, context) => context.body(null, 500));
  // Replaces the global Request and Response.
  return createAdaptorServer({ overrideGlobalObjects: false, fetch: app.fetch }) as Server;
}

const polkaApp = polka();
const express4: typeof express = createRequire(import.meta.url)('express-4');
const servers: readonly (readonly [name: string, create: () => Server | Promise<Server>])[] = [
  ['Express 5', () => withMiddleware(express() as unknown as Application)],
  ['Express 4', () => withMiddleware(express4() as unknown as Application)],
  ['Connect', () => withMiddleware(connect() as unknown as Application)],
  ['Polka', () => withMiddleware(polkaApp as unknown as Application, polkaApp.handler as RequestListener)],
  ['Fastify', withFastify],
  ['Hono', withHono],
];

type Row = readonly [what: string, line: string, createToken: () => unknown, status: number, said?: string];
const rows: readonly Row[] = [
  ['a token', 'GET /messages', () => token, 200, 'ada'],
  ['a token, on a route that no guard has', 'GET /public', () => token, 200, 'undefined'],
  ['a token and a body', 'POST /messages', () => token, 200, 'adatea'],
  ['no scope', 'GET /messages', () => issuer.token(), 403, 'error="insufficient_scope"'],
  ['no token', 'GET /messages', () => '', 401, 'Bearer'],
  ['no token', 'HEAD /messages', () => '', 401, 'Bearer'],
  ['no token, before its body is read', 'POST /messages', () => '', 401, 'Bearer'],
  ['no token, which is optional', 'GET /news', () => '', 200, 'undefined'],
  ['a token, which is optional', 'GET /news', () => token, 200, 'ada'],
  ['an invalid token, which is optional', 'GET /news', () => 'x', 401, 'error="invalid_token"'],
  ['an error of a callback, which reaches the framework', 'GET /messages', () => issuer.token({ sub: 'fault' }), 500],
  ['no guard that accepted it', 'GET /open', () => token, 500],
];

for (const [name, create] of servers)
  describe(`requireToken(), used twice in ${name}`, () => {
    const url = listening(create);
    const send = (line: string, ...lines: readonly string[]) =>
      rawRequest(url(), [`${line} HTTP/1.1`, 'Host: a', `Origin: ${origin}`, 'Connection: close', ...lines]);

    for (const [what, line, createToken, status, said = ''] of rows)
      test(`responds to ${line} with ${what}: ${status}`, async () => {
        handled = [];
        const body = line.startsWith('POST') ? ['Content-Type: text/plain', 'Content-Length: 3', '', 'tea'] : [];
        const given = await createToken();
        const response = await send(line, ...(given ? [`Authorization: Bearer ${given}`] : []), ...body);
        assert.equal(response.status, status);
        if (status === 200) assert.equal((await response.text()).replace(/\s|^\w+(?=\r)/g, ''), said);
        if (status === 200 || status === 500) return;
        assert.deepEqual(handled, []);
        const { headers } = response;
        assert.ok(headers.get('www-authenticate')?.includes(said));
        const [first, ...others] = forCaches.map(([name]) => headers.get(name));
        assert.deepEqual([first, others.filter((value) => value !== null)], ['no-store', []]);
        assert.equal(headers.get('access-control-allow-origin'), origin);
        assert.equal(headers.get('access-control-expose-headers'), 'WWW-Authenticate');
        assert.ok(headers.get('vary')?.includes('Origin'));
        if (line === 'GET /news') assert.ok(headers.get('vary')?.includes('Authorization'));
        if (name === 'Fastify') assert.equal(headers.get('x-content-type-options'), 'nosniff');
      });

    for (const [what, ageMs, isOffered] of [
      ['a new nonce', 0, false],
      ['a nonce that has lived half its life', 31_000, true],
    ] as const)
      test(`accepts a proof with ${what}, and ${isOffered ? 'responds with the next one' : 'offers no other'}`, async () => {
        const dpop = await proof('/nonces', { nonce: nonceOf(ageMs) });
        const response = await send('GET /nonces', `Authorization: DPoP ${bound}`, `DPoP: ${dpop}`);
        const next = response.headers.get('dpop-nonce');
        assert.deepEqual([response.status, next !== null], [200, isOffered]);
        const caching = isOffered ? 'no-store' : 'public, max-age=300';
        assert.equal(response.headers.get('cache-control'), caching);
        const used = await proof('/nonces', { nonce: next });
        const again = await send('GET /nonces', `Authorization: DPoP ${bound}`, `DPoP: ${used}`);
        assert.equal(again.status, isOffered ? 200 : 401);
      });

    test('uses a proof once per request, and rejects the next request with it', async () => {
      const lines = [`Authorization: DPoP ${bound}`, `DPoP: ${await proof('/messages')}`];
      assert.equal((await send('GET /messages', ...lines)).status, 200);
      assert.equal((await send('GET /messages', ...lines)).status, 401);
    });
  });

const wellKnown = '/.well-known/oauth-protected-resource';
for (const [name, create] of servers.slice(0, 4))
  describe(`serveMetadata() in ${name}`, () => {
    const url = listening(create);

    for (const [method, status, length] of [
      ['GET', 200, /^\d{2,}$/],
      ['HEAD', 200, /^\d{2,}$/],
      ['PUT', 405, /^\d{2,}$/],
      ['OPTIONS', 204, /^0?$/],
    ] as const)
      test(`responds to ${method} with ${status}, which pages of every origin can read`, async () => {
        const lines = [`${method} ${wellKnown} HTTP/1.1`, 'Host: a b', 'Connection: close'];
        const response = await rawRequest(url(), lines);
        const { headers } = response;
        assert.equal(response.status, status);
        if (method === 'GET') assert.ok((await response.text()).includes(`"scopes_supported":["${scope}"]`));
        assert.match(headers.get('content-length') ?? '', length);
        assert.equal(headers.get('access-control-allow-origin'), '*');
      });
  });

for (const [name, guarding] of Object.entries({
  'requireToken() of protected-api/node': requireToken,
  'serveMetadata()': serveMetadata,
  'requireToken() of protected-api/hono': forHono.requireToken,
  'requireToken() of protected-api/fastify': forFastify.requireToken,
} as Record<string, (...given: readonly unknown[]) => unknown>)) {
  for (const [what, ...given] of [
    ['nothing'],
    ['null', null],
    ['options', issuer.options],
    ['itself', guarding],
    ['middleware', requireToken(guard)],
    ['a request, as middleware that is used without a call', {}, {}, () => {}],
  ])
    test(`${name} given ${what} throws a TypeError that says what to write`, () =>
      assert.throws(() => guarding(...given), /^TypeError: Cannot set up a route: .*createGuard\(options\)/));

  for (const requirements of guarding === serveMetadata ? [{ scopes: [''] }] : [{ scope: '' }, { optional: 'false' }])
    test(`${name} throws a TypeError for ${JSON.stringify(requirements)}`, () =>
      assert.throws(() => guarding(guard, requirements), TypeError));
}

for (const [door, guarding, given] of [
  ['hono', forHono.requireToken, new IncomingMessage(new Socket())],
  ['fastify', forFastify.requireToken, new IncomingMessage(new Socket())],
  ['fastify', forFastify.requireToken, { req: { raw: {} } }],
  ['node', requireToken, { req: { raw: {} } }],
  ['hono', (_: unknown) => forHono.authOf, {}],
  ['fastify', (_: unknown) => forFastify.authOf, {}],
] as [string, (guard: unknown) => (...given: readonly unknown[]) => unknown, object][])
  test(`in another framework, the functions of protected-api/${door} throw a TypeError that says so`, () =>
    assert.rejects(
      async () => guarding(guard)(given, {}),
      /^TypeError: Cannot (check a request: it must be|read claims: no)/,
    ));

describe('checkIncoming() in node:http2', () => {
  const url = listening(() =>
    createHttp2Server(async (request, response) => {
      const auth = await checkIncoming(guard, request, response, { scope });
      if (auth) response.end(String(auth.claims.sub));
    }),
  );

  for (const [what, createHeaders, status] of [
    ['a token with the scope', () => ({ authorization: `Bearer ${token}` }), 200],
    ['no token', () => ({}), 401],
    ['a proof', async () => ({ authorization: `DPoP ${bound}`, dpop: await proof('/messages') }), 200],
    ['two proofs', async () => ({ authorization: `DPoP ${bound}`, dpop: [await proof(path), await proof(path)] }), 401],
  ] as const)
    test(`responds to ${what}: ${status}`, async () => {
      const client = connectHttp2(url());
      const [headers] = await once(client.request({ ':path': '/messages', ...(await createHeaders()) }), 'response');
      assert.equal(headers[':status'], status);
      client.destroy();
    });
});

function withoutConnection(method = 'GET', url = '/', rawHeaders: string[] = []) {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url, rawHeaders });
  return { request, response: new ServerResponse(request) };
}
const authorized = ['Authorization', `Bearer ${token}`];

describe('checkIncoming()', () => {
  for (const [what, method, url, rawHeaders, status] of [
    ['no token', 'CONNECT', 'api.example.test:443', [], 401],
    ['no token', 'OPTIONS', '*', [], 401],
    ['no token', 'TRACE', '//', [], 401],
    ['two tokens', 'GET', '/', [...authorized, ...authorized], 400],
    // With insecureHTTPParser, Node.js accepts headers that the Headers class does not.
    ['a token and a header with NUL', 'GET', '/', [...authorized, 'X-Other', 'a\0b', 'x y', ''], undefined],
    ['NUL in the token', 'GET', '/', ['Authorization', `Bearer ${token}\0`], 401],
    ['NUL in the proof', 'GET', '/', ['Authorization', `DPoP ${bound}`, 'DPoP', 'a\0b'], 401],
  ] as const)
    test(`responds to ${method} ${url} with ${what}: ${status ?? 'accepted'}`, async () => {
      const { request, response } = withoutConnection(method, url, [...rawHeaders]);
      assert.equal((await checkIncoming(guard, request, response)) === undefined, status !== undefined);
      if (status) assert.equal(response.statusCode, status);
    });

  for (const [what, authorization, status] of [
    ['a token', `Bearer ${token}`, 200],
    ['two tokens', [`Bearer ${token}`, `Bearer ${token}`] as never, 400],
    ['no token', undefined, 401],
  ] as const)
    test(`responds to ${what} in a request that has no raw headers: ${status}`, async () => {
      const { request, response } = withoutConnection();
      Object.assign(request.headers, { authorization });
      await checkIncoming(guard, request, response);
      assert.equal(response.statusCode, status);
    });

  test('sends nothing if a response was sent meanwhile', async () => {
    const { request, response } = withoutConnection();
    response.writeHead(503).end();
    assert.equal(await checkIncoming(guard, request, response), undefined);
    assert.equal(response.statusCode, 503);
  });

  test("rejects a framework's own request object with a TypeError", async () => {
    const { request, response } = withoutConnection();
    const own = { raw: request } as unknown as typeof request;
    await assert.rejects(checkIncoming(guard, own, response), /^TypeError: .*request\.raw in Fastify/);
  });

  test('shows callbacks a request that prints neither the token nor the connection', async () => {
    const printed: string[] = [];
    const onAccepted = (given: GuardRequest) => {
      assert.equal(given.incoming, request);
      printed.push(JSON.stringify(given), inspect(given));
    };
    const { request, response } = withoutConnection('GET', '/', ['Authorization', `Bearer ${token}`]);
    await checkIncoming(createGuard({ ...issuer.options, onAccepted }), request, response);
    assert.equal(printed[0], '{"method":"GET","url":"http://localhost/","headers":{}}');
    assert.doesNotMatch(printed.join(), /eyJ|socket/i);
  });

  test('compares a proof with the method that the client sent', async () => {
    const dpop = await issuer.proof({ method: 'POST', url: publicUrl }, bound);
    const { request, response } = withoutConnection('DELETE', '/', ['Authorization', `DPoP ${bound}`, 'DPoP', dpop]);
    // As the package method-override does.
    Object.assign(request, { originalMethod: 'POST' });
    assert.equal((await checkIncoming(guard, request, response))?.claims.sub, 'ada');
  });

  test('shares one use of a proof with other checks of the request', async () => {
    const rawHeaders = ['Authorization', `DPoP ${bound}`, 'DPoP', await proof('/')];
    const { request, response } = withoutConnection('GET', '/', rawHeaders);
    const checks = [checkIncoming(guard, request, response), checkIncoming(createGuard(options), request, response)];
    for (const auth of await Promise.all(checks)) assert.equal(auth?.claims.sub, 'ada');
  });
});
