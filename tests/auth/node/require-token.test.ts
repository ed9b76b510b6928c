import { describe, expect, test } from 'bun:test';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import { type AddressInfo, type Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import connect from 'connect';
import express from 'express';
import { createGuard } from '../../../src/auth/guard.ts';
import { authOf, checkIncoming, type Middleware, requireToken } from '../../../src/auth/node.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import type { Claims } from '../../../src/auth/token/claims.ts';
import { startedFor } from '../../support/fixture.ts';
import { rawRequest } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const path = '/api/reports';
const scope = 'read:reports';
const guard = createGuard({
  ...issuer.options,
  dpop: 'on',
  publicUrl,
  onAccepted(_, { sub }) {
    if (sub === 'fault') throw new Error('A fault of the application');
  },
});
const token = await issuer.token({ sub: 'ada', scope });
const bound = await issuer.token({ sub: 'ada', scope }, { boundTo: 'dpop' });
const proof = () => issuer.proof({ method: 'GET', url: publicUrl + path }, bound);

/** Starts a server on loopback before the tests of the enclosing describe(), and returns its URL. */
function listening(server: Server) {
  const started = startedFor(
    60_000,
    () => new Promise<Server>((done) => server.listen(0, '127.0.0.1', () => done(server))),
    async () => server.close(),
  );
  return () => `http://127.0.0.1:${(started().address() as AddressInfo).port}`;
}

interface Application extends RequestListener {
  use(path: string, ...middleware: readonly Middleware[]): Application;
}

describe.each([
  ['Express 5', express as () => unknown],
  ['Express 4', createRequire(import.meta.url)('express-4') as () => unknown],
  ['Connect', connect],
])('requireToken(), used twice in a part of %s that is mounted', (_, create) => {
  const app = create() as Application;
  app.use('/api', requireToken(guard)).use('/api', requireToken(guard, { scope }));
  const handled: unknown[] = [];
  app.use('/', (request, response, next) => {
    handled.push(request.method);
    const subject = String(authOf(request).claims.sub);
    text(request).then((body) => response.end(body || subject), next);
  });
  const url = listening(createServer(app));
  const send = (line: string, ...lines: readonly string[]) =>
    rawRequest(url(), [`${line} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines]);

  test.each([
    ['GET', path, () => token, 200],
    ['TRACE', path, () => token, 200],
    ['POST', path, () => token, 200],
    ['GET', path, () => issuer.token(), 403],
    ['TRACE', path, () => 'none', 401],
    // The error reaches the framework.
    ['GET', path, () => issuer.token({ sub: 'fault' }), 500],
    // No guard has accepted it.
    ['GET', '/open', () => token, 500],
  ])('%s %s with %p: %i', async (method, at, createToken, status) => {
    handled.length = 0;
    const body = method === 'POST' ? ['Content-Length: 3', '', 'ada'] : [];
    const { response } = await send(`${method} ${at}`, `Authorization: Bearer ${await createToken()}`, ...body);
    expect(response?.status).toBe(status);
    expect(handled).toEqual(status === 200 || at === '/open' ? [method] : []);
    if (status === 200) expect(await response?.text()).toBe('ada');
  });

  test('uses a proof of the URL that the client sent once for a request, and rejects the next request with it', async () => {
    const lines = [`Authorization: DPoP ${bound}`, `DPoP: ${await proof()}`];
    expect((await send(`GET ${path}`, ...lines)).status).toBe(200);
    expect((await send(`GET ${path}`, ...lines)).status).toBe(401);
  });
});

describe('checkIncoming() in node:http2', () => {
  const server = createHttp2Server(async (request, response) => {
    const auth = await checkIncoming(guard, request, response, { scope });
    if (auth) response.end(String(auth.claims.sub));
  });
  const url = listening(server);

  test.each([
    ['a token with the scope', async () => ({ authorization: `Bearer ${token}` }), 200],
    ['no token', async () => ({}), 401],
    ['a proof', async () => ({ authorization: `DPoP ${bound}`, dpop: await proof() }), 200],
    ['two proofs', async () => ({ authorization: `DPoP ${bound}`, dpop: [await proof(), await proof()] }), 401],
  ])('responds to %s', async (_, headers, status) => {
    const client = connectHttp2(url());
    const stream = client.request({ ':path': path, ...(await headers()) });
    expect(await new Promise((done) => stream.on('response', (got) => done(got[':status'])))).toBe(status);
    client.close();
  });
});

function withoutConnection(method = 'GET', url = '/', rawHeaders: string[] = []) {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url, rawHeaders });
  return { request, response: new ServerResponse(request) };
}

describe('checkIncoming()', () => {
  test.each([
    ['CONNECT', 'api.example.test:443'],
    ['OPTIONS', '*'],
    ['TRACE', '//'],
  ])('rejects %s %s without a token', async (method, url) => {
    const { request, response } = withoutConnection(method, url);
    expect(await checkIncoming(guard, request, response)).toBeUndefined();
    expect(response.statusCode).toBe(401);
  });

  test('keeps Vary of the application', async () => {
    const { request, response } = withoutConnection('GET', '/', ['Authorization', 'Bearer x']);
    response.setHeader('vary', 'Origin');
    expect(await checkIncoming(guard, request, response, { optional: true })).toBeUndefined();
    expect(response.getHeader('vary')).toBe('Origin, Authorization');
  });

  test('sends nothing if a response was sent meanwhile', async () => {
    const { request, response } = withoutConnection();
    response.writeHead(503).end();
    expect(await checkIncoming(guard, request, response)).toBeUndefined();
    expect(response.statusCode).toBe(503);
  });

  test('rejects with a TypeError for the request of a framework', async () => {
    const { request, response } = withoutConnection();
    const own = { raw: request } as unknown as typeof request;
    await expect(checkIncoming(guard, own, response)).rejects.toThrow('request.raw in Fastify');
  });
});

test('authOf() returns no claims of a request without a token where that is optional', async () => {
  const { request, response } = withoutConnection();
  expect(() => authOf(request)).toThrow(TypeError);
  await checkIncoming(guard, request, response, { optional: true });
  expect(authOf<Claims | undefined>(request).claims).toBeUndefined();
});

test.each([{ scope: '' }, { optional: 'false' }])('requireToken() throws a TypeError for %j', (requirements) =>
  expect(() => requireToken(guard, requirements as { scope: string })).toThrow(TypeError),
);
