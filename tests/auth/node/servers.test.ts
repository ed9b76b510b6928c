// Runs here with the sources, and in tests/runtimes with the tarball under Node.js, which has no bun:test.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import { type AddressInfo, type Server, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import connect from 'connect';
import express from 'express';
import { type Claims, createGuard } from 'protected-api/guard';
import { authOf, checkIncoming, type Middleware, requireToken } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
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
  before(() => once(server.listen(0, '127.0.0.1'), 'listening'));
  after(() => server.close());
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Application extends RequestListener {
  use(path: string, ...middleware: readonly Middleware[]): Application;
}
const servers: readonly (readonly [name: string, create: () => unknown])[] = [
  ['Express 5', express],
  ['Express 4', createRequire(import.meta.url)('express-4')],
  ['Connect', connect],
];

for (const [name, create] of servers)
  describe(`requireToken(), used twice in a part of ${name} that is mounted`, () => {
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

    for (const [what, line, createToken, status] of [
      ['a token', `GET ${path}`, () => token, 200],
      ['a token', `TRACE ${path}`, () => token, 200],
      ['a token', `POST ${path}`, () => token, 200],
      ['no scope', `GET ${path}`, () => issuer.token(), 403],
      ['no token', `TRACE ${path}`, () => 'none', 401],
      ['an error, which reaches the framework', `GET ${path}`, () => issuer.token({ sub: 'fault' }), 500],
      ['no guard that accepted it', 'GET /open', () => token, 500],
    ] as const)
      test(`responds to ${line} with ${what}: ${status}`, async () => {
        handled.length = 0;
        const [method, at] = line.split(' ');
        const body = method === 'POST' ? ['Content-Length: 3', '', 'ada'] : [];
        const response = await send(line, `Authorization: Bearer ${await createToken()}`, ...body);
        assert.equal(response.status, status);
        assert.deepEqual(handled, status === 200 || at === '/open' ? [method] : []);
        if (status === 200) assert.ok((await response.text()).includes('ada'));
      });

    test('compares a proof with the URL that the client sent, uses it once per request, and rejects the next request with it', async () => {
      const lines = [`Authorization: DPoP ${bound}`, `DPoP: ${await proof()}`];
      assert.equal((await send(`GET ${path}`, ...lines)).status, 200);
      assert.equal((await send(`GET ${path}`, ...lines)).status, 401);
    });
  });

describe('checkIncoming() in node:http2', () => {
  const server = createHttp2Server(async (request, response) => {
    const auth = await checkIncoming(guard, request, response, { scope });
    if (auth) response.end(String(auth.claims.sub));
  });
  const url = listening(server);

  for (const [what, createHeaders, status] of [
    ['a token with the scope', () => ({ authorization: `Bearer ${token}` }), 200],
    ['no token', () => ({}), 401],
    ['a proof', async () => ({ authorization: `DPoP ${bound}`, dpop: await proof() }), 200],
    ['two proofs', async () => ({ authorization: `DPoP ${bound}`, dpop: [await proof(), await proof()] }), 401],
  ] as const)
    test(`responds to ${what}: ${status}`, async () => {
      const client = connectHttp2(url());
      const [headers] = await once(client.request({ ':path': path, ...(await createHeaders()) }), 'response');
      assert.equal(headers[':status'], status);
      client.destroy();
    });
});

function withoutConnection(method = 'GET', url = '/', rawHeaders: string[] = []) {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url, rawHeaders });
  return { request, response: new ServerResponse(request) };
}

describe('checkIncoming()', () => {
  for (const [method, url] of Object.entries({ CONNECT: 'api.example.test:443', OPTIONS: '*', TRACE: '//' }))
    test(`rejects ${method} ${url} without a token`, async () => {
      const { request, response } = withoutConnection(method, url);
      assert.equal(await checkIncoming(guard, request, response), undefined);
      assert.equal(response.statusCode, 401);
    });

  test('keeps the Vary header of the application', async () => {
    const { request, response } = withoutConnection('GET', '/', ['Authorization', 'Bearer x']);
    response.setHeader('vary', 'Origin');
    assert.equal(await checkIncoming(guard, request, response, { optional: true }), undefined);
    assert.equal(response.getHeader('vary'), 'Origin, Authorization');
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
});

test('authOf() returns no claims for a request without a token where a token is optional', async () => {
  const { request, response } = withoutConnection();
  assert.throws(() => authOf(request), TypeError);
  await checkIncoming(guard, request, response, { optional: true });
  assert.equal(authOf<Claims | undefined>(request).claims, undefined);
});

for (const requirements of [{ scope: '' }, { optional: 'false' }])
  test(`requireToken() throws a TypeError for ${JSON.stringify(requirements)}`, () =>
    assert.throws(() => requireToken(guard, requirements as { scope: string }), TypeError));
