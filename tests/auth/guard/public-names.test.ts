import { describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import express from 'express';
import { createGuard, type GuardOptions } from 'protected-api';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { requireToken, serveMetadata } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { listen, rawRequest } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const publicUrl = ['https://api.example.com', 'https://old.example.com:8443/v1', 'http://localhost:3010'];
const guardFor = (options: Partial<GuardOptions<undefined>> = {}) =>
  createGuard({ ...issuer.options, publicUrl, ...options });
const metadataOf = (origin: string, path = '') =>
  `resource_metadata="${origin}/.well-known/oauth-protected-resource${path}"`;
const token = await issuer.token({ sub: 'ada' });

/** What a client sends as Host, and the name that counts. */
const hosts: readonly (readonly [host: string | undefined, name: number])[] = [
  ['api.example.com', 0],
  ['API.example.com', 0],
  ['api.example.com:443', 0],
  ['api.example.com:80', 0],
  ['old.example.com:8443', 1],
  ['old.example.com', 0],
  ['localhost:3010', 2],
  ['localhost', 0],
  ['other.example.com', 0],
  ['old.example.com:8443, api.example.com', 0],
  ['old.example.com:8443@evil.example', 0],
  ['evil.example/old.example.com:8443', 0],
  ['old.example.com:8443#', 0],
  [undefined, 0],
];
const origins = ['https://api.example.com', 'https://old.example.com:8443', 'http://localhost:3010'];
const paths = ['', '/v1', ''];

describe('a guard with several names', () => {
  test.each(hosts)('takes the Host %p for the name %p', async (host, name) => {
    const guard = guardFor();
    const request = {
      method: 'GET',
      url: `http://internal/.well-known/oauth-protected-resource${paths[name]}`,
      headers: new Headers(host === undefined ? {} : { host }),
    };
    const rejection = (await guard.check(request)) as Response;
    expect(rejection.headers.get('www-authenticate')).toBe(`Bearer ${metadataOf(`${origins[name]}`, paths[name])}`);
    const metadata = guard.metadata(request);
    expect([await metadata?.json(), metadata?.headers.get('cache-control')]).toMatchObject([
      { resource: publicUrl[name] },
      'no-store',
    ]);
  });

  test('takes the host of the URL where there is no Host', async () => {
    const request = new Request('https://old.example.com:8443/.well-known/oauth-protected-resource/v1');
    expect(await guardFor().metadata(request)?.json()).toMatchObject({ resource: publicUrl[1] });
  });

  test('accepts a proof for the name that the client used, and for no other', async () => {
    const guard = guardFor({ dpop: 'required' });
    const bound = await issuer.token({ sub: 'ada' }, { boundTo: 'dpop' });
    for (const [at, url] of publicUrl.entries())
      for (const [other, host] of ['api.example.com', 'old.example.com:8443', 'localhost:3010'].entries()) {
        const dpop = await issuer.proof({ method: 'GET', url: `${url}/messages` }, bound);
        const headers = new Headers({ host, dpop, authorization: `DPoP ${bound}` });
        const result = await guard.check({ method: 'GET', url: 'http://internal/messages', headers });
        expect([url, host, 'claims' in result]).toEqual([url, host, at === other]);
      }
  });

  test('shares one guard between checks of one object only while its Host is the same', async () => {
    const guard = guardFor({ dpop: 'required' });
    const bound = await issuer.token({ sub: 'ada' }, { boundTo: 'dpop' });
    const dpop = await issuer.proof({ method: 'GET', url: `${publicUrl[0]}/messages` }, bound);
    const headers = new Headers({ host: 'api.example.com', dpop, authorization: `DPoP ${bound}` });
    const request = { method: 'GET', url: 'http://internal/messages', headers };
    expect('claims' in (await guard.check(request))).toBe(true);
    headers.set('host', 'old.example.com:8443');
    expect('claims' in (await guard.check(request))).toBe(false);
  });

  test('names itself in Node.js, over HTTP/1.1 and HTTP/2', async () => {
    const guard = guardFor();
    const server = createServer(express().use(serveMetadata(guard)).use(requireToken(guard)));
    const origin = `http://127.0.0.1:${await listen(server)}`;
    for (const [host, name] of [
      ['old.example.com:8443', 1],
      ['localhost:3010', 2],
      ['x', 0],
    ] as const) {
      const response = await rawRequest(origin, ['GET / HTTP/1.1', `Host: ${host}`, 'Connection: close']);
      expect(response.headers.get('www-authenticate')).toContain(metadataOf(`${origins[name]}`, paths[name]));
    }
    server.close();
    const middleware = requireToken(guard);
    const second = createHttp2Server((request, response) => middleware(request, response, () => response.end()));
    const client = connectHttp2(`http://127.0.0.1:${await listen(second)}`);
    const stream = client.request({ ':path': '/', ':authority': 'old.example.com:8443' });
    const [headers] = await once(stream, 'response');
    expect(headers['www-authenticate']).toContain(metadataOf(`${origins[1]}`, '/v1'));
    client.destroy();
    second.close();
  });
});

const names = ['https://api.example.com', 'https://old.example.com/v1/', 'http://localhost:3010'];
const endpoints = ['https://api.example.com/mcp', 'https://old.example.com/v1/mcp', 'http://localhost:3010/mcp'];
const mcpGuard = guardFor({ publicUrl: names, resource: '/mcp' });
const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
type Send = (url: string, headers: Record<string, string>) => Promise<Response>;

const doors: readonly (readonly [name: string, send: Send])[] = [
  [
    'protectMcp()',
    (url, headers) => {
      const mcp = protectMcp(mcpGuard, {}, (_, { authInfo }) => new Response(authInfo.resource?.href));
      const { host, pathname } = new URL(url);
      return mcp(new Request(`http://internal${pathname}`, { method: 'POST', body, headers: { host, ...headers } }));
    },
  ],
  [
    'requireMcp()',
    async (url, headers) => {
      const server = createServer(
        express()
          .use(requireMcp(mcpGuard, {}))
          .use((request, response) => void response.end(Object(request).auth?.resource.href ?? 'open')),
      );
      const { host, pathname } = new URL(url);
      const lines = Object.entries({ host, connection: 'close', ...headers, 'content-length': String(body.length) });
      const response = await rawRequest(`http://127.0.0.1:${await listen(server)}`, [
        `POST ${pathname} HTTP/1.1`,
        ...lines.map((line) => line.join(': ')),
        '',
        body,
      ]);
      server.close();
      return response;
    },
  ],
];

describe.each(doors)('%s with several names', (_, send) => {
  test.each(endpoints)('is the endpoint %s', async (url) => {
    const { origin, pathname } = new URL(url);
    const rejection = await send(url, {});
    expect([rejection.status, rejection.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer ${metadataOf(origin, pathname)}`,
    ]);
    expect(await (await send(url, bearer(token))).text()).toBe(url);
  });

  test('rejects other hosts, and pages of this machine at names that are not on it', async () => {
    const statusOf = async (host: string, origin?: string) =>
      (await send('https://api.example.com/mcp', { host, ...bearer(token), ...(origin && { origin }) })).status;
    expect(await statusOf('evil.example')).toBe(403);
    // The first name is not on loopback, so only the name that is listed is allowed there.
    expect(await statusOf('127.0.0.1:3010')).toBe(403);
    const page = 'http://localhost:6274';
    expect([await statusOf('api.example.com', page), await statusOf('localhost:3010', page)]).toEqual([403, 200]);
  });
});
