import { expect, test } from 'bun:test';
import { createServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import connect from 'connect';
import { build } from 'esbuild';
import express, { type Express } from 'express';
import { createGuard } from 'protected-api';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { authOf } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { serve } from '../../support/fixture.ts';
import { bearer } from '../../support/mint.ts';
import { listen } from '../../support/raw-http.ts';
import { call, express4, guardFor, issuer, message, resource } from './doors.ts';
import * as targets from './targets.ts';

const serveMcp = (_: object, response: ServerResponse) => response.end('reached');
const protect = requireMcp(guardFor(), {});
const body = JSON.stringify(call('tool'));
const headers = { 'content-type': 'application/json', host: 'localhost' };

async function requestTo(app: RequestListener, path: string, init: RequestInit = {}) {
  const server = createServer(app);
  const url = `http://127.0.0.1:${await listen(server)}${path}`;
  const response = await fetch(url, {
    method: 'POST',
    body,
    keepalive: false,
    ...init,
    headers: { ...headers, ...init.headers },
  });
  const sent = { status: response.status, text: await response.text() };
  server.closeAllConnections();
  server.close();
  return sent;
}

/** What an application can look like, and the paths by which its router leads to the MCP server. */
const applications: readonly (readonly [name: string, app: () => RequestListener, paths: readonly string[]])[] = [
  [
    'a middleware before a route',
    () => express().use(protect).all('/mcp', serveMcp),
    ['/mcp', '/mcp/', '/MCP', '/mcp?x'],
  ],
  [
    'a middleware of an application and of a route',
    () => express().use(protect).all('/mcp', protect, serveMcp),
    ['/mcp', '/MCP/'],
  ],
  ['a middleware of a route', () => express().all('/mcp', protect, serveMcp), ['/mcp', '/mcp/', '/MCP', '/Mcp/?x']],
  [
    'a middleware of a route for every path',
    () => express().all('/{*path}', protect, serveMcp),
    ['/mcp', '/other', '/'],
  ],
  [
    'a middleware of a mount',
    () => express().use('/mcp', protect, serveMcp),
    ['/mcp', '/mcp/', '/MCP/x', '/mcp/x/y?z'],
  ],
  [
    'a middleware of a mount of Connect',
    () => connect().use('/mcp', protect).use('/mcp', serveMcp),
    ['/mcp', '/mcp/x', '/mcp.x'],
  ],
  [
    'a middleware of an application of Connect and of its mount',
    () => connect().use(protect).use('/mcp', protect).use('/mcp', serveMcp),
    ['/mcp', '/mcp/', '/MCP/x', '/mcp.x'],
  ],
  [
    'a path that the application rewrites',
    () => {
      const app: Express = express();
      app.use((request, _, next) => {
        request.url = '/mcp';
        next();
      });
      return app.use(protect).all('/mcp', serveMcp);
    },
    ['/v2/mcp', '/mcp'],
  ],
];

test.each(applications)('requireMcp() as %s leads to no handler without a token', async (_, app, paths) => {
  for (const path of paths) {
    const { status, text } = await requestTo(app(), path);
    expect([path, [401, 404].includes(status), text.includes('reached')]).toEqual([path, true, false]);
  }
  const headers = bearer(await issuer.token());
  for (const path of paths.filter((path) => /^(?:\/v2)?\/mcp\/?(?:$|\?)/.test(path)))
    expect([path, await requestTo(app(), path, { headers })]).toEqual([path, { status: 200, text: 'reached' }]);
});

test('requireMcp() passes on a request for a path that is not the endpoint\u2019s or below it', async () => {
  const paths = ['/', '/mcpx', '/mcp-docs', '/api/x', '/x/mcp'];
  const app = express().use(protect).use('/api', express.Router().use(protect)).post(paths, serveMcp);
  for (const path of paths)
    expect([path, await requestTo(app, path)]).toEqual([path, { status: 200, text: 'reached' }]);
});

test('requireMcp() requires a token for a public message below the endpoint', async () => {
  const app = express().use(requireMcp(guardFor(), { publicTools: ['tool'] }), serveMcp);
  expect(await requestTo(app, '/mcp')).toMatchObject({ status: 200 });
  for (const path of ['/mcp/x', '/MCP/x', '/mcp.x']) expect(await requestTo(app, path)).toMatchObject({ status: 401 });
});

test('protectMcp() on Bun leads no stranger to the handler, and every user of an honest spelling', async () => {
  const mcp = protectMcp(targets.guard, {}, (_, { auth }) => new Response(`endpoint ${auth.claims.sub}`));
  await using server = serve(mcp);
  const token = await targets.issuer.token({ sub: 'ada' });
  const sentTo = (target: string, token?: string) => targets.send(server.url.origin, target, token);
  for (const target of [...targets.disguises, ...targets.others])
    expect([target, await sentTo(target)]).toEqual([target, expect.any(Number)]);
  for (const target of targets.honest)
    expect([target, await sentTo(target), await sentTo(target, token)]).toEqual([target, 401, 'endpoint ada']);
});

test.each(['/other?a=\\', 'http://localhost/other', '*'])('requireMcp() passes on a request for %s', async (target) => {
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'OPTIONS', url: target });
  const passed = new Promise((next, reject) =>
    protect(request, new ServerResponse(request).on('finish', reject), next),
  );
  expect(await passed).toBeUndefined();
});

test('requireMcp() reads what Express 4 has not parsed, and text that it has', async () => {
  const guard = guardFor();
  const tool = requireMcp(guard, { tools: { tool: 'write' } });
  const token = bearer(await issuer.token({ scope: 'read' }));
  for (const type of ['text/plain', 'application/octet-stream', 'application/json']) {
    const unread = express().use((request, _, next) => {
      request.body = {};
      next();
    });
    for (const app of [unread, express().use(express.text()), express().use(express.raw())]) {
      const sent = { headers: { ...token, 'content-type': type } };
      expect([type, (await requestTo(app.use(tool).all('/mcp', serveMcp), '/mcp', sent)).status]).toEqual([type, 403]);
    }
  }
});

test('requireMcp() before express.json() takes a body that is longer than the limit of that', async () => {
  const long = JSON.stringify(message('ping', { text: 'a'.repeat(200_000) }));
  const headers = { ...bearer(await issuer.token()), 'content-type': 'application/json' };
  for (const release of [express, express4]) {
    const app = release().use(protect).use(release.json()).all('/mcp', serveMcp);
    expect((await requestTo(app, '/mcp', { body: long, headers })).text).toBe('reached');
  }
});

test('requireMcp() passes what a callback of the application throws to next, and authOf() knows the claims', async () => {
  const token = bearer(await issuer.token({ sub: 'ada' }));
  const failing = guardFor({
    onAccepted() {
      throw new Error('A fault of the application');
    },
  });
  const app = express().use(requireMcp(failing, {}));
  app.use(((_error, _request, response, _next) => response.end('caught')) as express.ErrorRequestHandler);
  expect((await requestTo(app, '/mcp', { headers: token })).text).toBe('caught');
  const own = express()
    .use(protect)
    .all('/mcp', (request, response) => void response.end(authOf(request).claims.sub));
  expect((await requestTo(own, '/mcp', { headers: token })).text).toBe('ada');
});

test('the handler of protectMcp() gets the request that was checked, so that it can check it again', async () => {
  const bound = await createTestIssuer();
  const url = 'https://api.example.com/mcp';
  const guard = createGuard({
    ...bound.options,
    publicUrl: 'https://api.example.com',
    resource: url,
    dpop: 'required',
  });
  const token = await bound.token({ scope: 'read write' }, { boundTo: 'dpop' });
  const accepted: unknown[] = [];
  const send = protectMcp(guard, { scope: 'read' }, async (request) => {
    accepted.push(await guard.check(request, { scope: 'write' }));
    return new Response(await request.text());
  });
  const proof = await bound.proof({ method: 'POST', url }, token);
  const given = { authorization: `DPoP ${token}`, dpop: proof };
  const init = { method: 'POST', body: JSON.stringify(message('ping')), headers: given };
  expect(await (await send(new Request(url, init))).json()).toEqual(message('ping'));
  expect(accepted).toMatchObject([{ scopes: ['read', 'write'] }]);
  expect((await send(new Request(url, init))).status).toBe(401);
});

test('protectMcp() responds to a body that is too long before the body ends', async () => {
  const send = protectMcp(guardFor(), { maxBodyBytes: 100 }, () => new Response('reached'));
  const endless = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(101)) });
  const headers = bearer(await issuer.token());
  const request = new Request(resource, { method: 'POST', headers, body: endless });
  expect((await send(request)).status).toBe(413);
});

test('an endpoint at the root has no other path', async () => {
  const guard = guardFor({ resource: 'http://localhost:3010' });
  const send = protectMcp(guard, {}, () => new Response('reached'));
  const token = bearer(await issuer.token());
  const statusOf = async (path: string) =>
    (await send(new Request(new URL(path, resource).href, { method: 'POST', headers: token, body }))).status;
  expect([await statusOf('/'), await statusOf('/mcp')]).toEqual([200, 404]);
  const app = express().use(requireMcp(guard, {})).post(['/', '/health'], serveMcp);
  expect((await requestTo(app, '/')).status).toBe(401);
  expect((await requestTo(app, '/health')).text).toBe('reached');
});

test('protected-api/mcp imports no module of Node.js, so that it runs on Cloudflare Workers', async () => {
  const { metafile } = await build({
    entryPoints: ['src/auth/mcp.ts'],
    bundle: true,
    write: false,
    metafile: true,
    external: ['node:*'],
    format: 'esm',
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path));
  expect(imports.filter((path) => path.startsWith('node:'))).toEqual([]);
});
