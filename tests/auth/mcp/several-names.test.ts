import { expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as FirstProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { createGuard } from 'protected-api';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { listen } from '../../support/raw-http.ts';

/*
 * Clients of both SDKs at two names of one process, and at two URLs of one endpoint. They know the URL of the server
 * only, and refuse metadata of another one.
 */

const publicUrl = ['https://api.example.com', 'https://mcp.example.org'];
const audience = publicUrl.map((url) => `${url}/mcp`);
const clients = [{ id: 'reader', secret: 'reader-secret', scope: 'read' }];
const issuer = createDevelopmentIssuer({ issuer: 'http://localhost:4010/', audience, clients });
const guard = createGuard({ ...issuer.options, audience, publicUrl, resource: '/mcp' });
const where = (resource: URL | undefined) => ({ content: [{ type: 'text' as const, text: `${resource}` }] });

const handler = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  server.registerTool('where', {}, () => where(authInfo?.resource));
  return server;
});
const protectedServer = protectMcp(guard, { tools: { where: 'read' } }, (request, { authInfo, message }) =>
  handler.fetch(request, { authInfo, parsedBody: message }),
);

const app = express().use(requireMcp(guard, { tools: { where: 'read' } }));
app.post('/mcp', async (request, response) => {
  const server = new FirstServer({ name: 'test', version: '1.0.0' });
  server.registerTool('where', {}, ({ authInfo }) => where(authInfo?.resource));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport as never);
  await transport.handleRequest(request, response, request.body);
});

type Send = (url: URL, init: RequestInit) => Promise<Response>;
/** Sends to the issuer, or to the server by the name in `Host`, as a proxy or a tunnel passes it on. */
const fetchThrough =
  (send: Send) =>
  async (to: string | URL, init: RequestInit = {}) => {
    const url = new URL(to);
    if (url.port === '4010') return issuer.fetch(new Request(url.href, init));
    const headers = new Headers(init.headers);
    headers.set('host', url.host);
    return send(url, { ...init, headers, keepalive: false });
  };

test.each(audience.flatMap((url) => ['protectMcp()', 'requireMcp()'].map((door) => [url, door])))(
  'clients of both SDKs log in at %s of a server with %s, and call a tool',
  async (url, door) => {
    const server = createServer(app);
    const port = await listen(server);
    const fetcher = fetchThrough(
      door === 'protectMcp()'
        ? (to, init) => protectedServer(new Request(to.href, init))
        : ({ pathname }, init) => fetch(`http://127.0.0.1:${port}${pathname}`, init),
    );
    const expectedIssuer = 'http://localhost:4010/';
    const credentials = { clientId: 'reader', clientSecret: 'reader-secret', scope: 'read', expectedIssuer };
    const first = new FirstClient({ name: 'test', version: '1.0.0' });
    const authProvider = new FirstProvider(credentials);
    await first.connect(new FirstTransport(new URL(url), { authProvider, fetch: fetcher }) as never);
    const second = new Client({ name: 'test', version: '1.0.0' });
    const provider = new ClientCredentialsProvider(credentials);
    await second.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider: provider, fetch: fetcher }));
    for (const client of [first, second]) {
      expect(await client.callTool({ name: 'where' })).toMatchObject(where(new URL(url)));
      await client.close();
    }
    server.close();
  },
);

test.each([
  ['', false],
  ['?login', true],
])('clients of both SDKs log in at "/mcp%s" of a server with public tools: %p', async (query, isLoggedIn) => {
  const open = protectMcp(guard, { publicTools: ['where'] }, (request, { authInfo, message }) =>
    handler.fetch(request, { ...(authInfo && { authInfo }), parsedBody: message }),
  );
  const fetcher = fetchThrough((to, init) => (to.search === '' ? open : protectedServer)(new Request(to.href, init)));
  const expectedIssuer = 'http://localhost:4010/';
  const credentials = { clientId: 'reader', clientSecret: 'reader-secret', scope: 'read', expectedIssuer };
  const url = new URL(`${audience[0]}${query}`);
  const [one, other] = [new FirstProvider(credentials), new ClientCredentialsProvider(credentials)];
  const first = new FirstClient({ name: 'test', version: '1.0.0' });
  await first.connect(new FirstTransport(url, { authProvider: one, fetch: fetcher }) as never);
  const second = new Client({ name: 'test', version: '1.0.0' });
  await second.connect(new StreamableHTTPClientTransport(url, { authProvider: other, fetch: fetcher }));
  for (const client of [first, second]) {
    expect(await client.callTool({ name: 'where' })).toMatchObject(
      where(isLoggedIn ? new URL(`${audience[0]}`) : undefined),
    );
    await client.close();
  }
  expect([one.tokens(), other.tokens()].map((tokens) => tokens !== undefined)).toEqual([isLoggedIn, isLoggedIn]);
});
