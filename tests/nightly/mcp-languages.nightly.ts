import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { createGuard } from 'protected-api';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { freePort, run, runToEnd, untilReachable } from '../support/child-process.ts';
import { requestToken } from '../support/development-issuer.ts';
import { serve } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { buildAll } from './languages/build.ts';

/*
 * SDKs of other languages as clients of a protected server, as servers behind one, and as servers that verify our
 * tokens themselves. What this machine cannot build is left out, with the reason.
 */

const { sdks, leftOut } = await buildAll();
for (const line of leftOut) console.log(`Left out: ${line}`);

const reader = { clientId: 'reader', clientSecret: 'reader-secret' };
const other = 'http://localhost:1/mcp';
/** Starts an issuer of tokens for a server, and returns its identifier and what gets a token. */
function startIssuer(resource: string) {
  const scope = 'notes:read notes:write';
  const clients = [
    { id: reader.clientId, secret: reader.clientSecret, scope },
    { id: 'visitor', secret: 'visitor-secret', scope: '' },
  ];
  const server = serve((request) => issuer.fetch(request));
  const audience = [resource, other];
  const issuer = createDevelopmentIssuer({ issuer: `http://localhost:${server.port}/`, audience, clients });
  const url = issuer.options.issuer;
  return {
    url,
    close: () => server.stop(true),
    token: (audience = resource) => requestToken(url, audience, reader),
    visitor: () => requestToken(url, resource, { clientId: 'visitor', clientSecret: 'visitor-secret' }),
  };
}

/** Starts what is protected at a port of its own, with its issuer. */
async function started(
  serveAt: (
    port: number,
    guard: ReturnType<typeof createGuard>,
  ) => { close(): unknown } | Promise<{ close(): unknown }>,
) {
  const port = await freePort();
  const publicUrl = `http://localhost:${port}`;
  const url = `${publicUrl}/mcp`;
  const issuer = startIssuer(url);
  const guard = createGuard({ issuer: issuer.url, audience: url, publicUrl, resource: url });
  const { close } = await serveAt(port, guard);
  return { url, issuer, close: () => Promise.all([close(), issuer.close()]) };
}

const options = { scope: 'notes:read', tools: { 'add-note': 'notes:write' } };
const noteOf = (authInfo: { readonly extra?: Record<string, unknown> } | undefined) => {
  const { sub } = Object(authInfo?.extra?.claims);
  return { content: [{ type: 'text' as const, text: `You are ${sub}` }] };
};
const doors = {
  protectMcp: () =>
    started((port, guard) => {
      const handler = createMcpHandler(({ authInfo }) => {
        const server = new McpServer({ name: 'notes', version: '1.0.0' });
        server.registerTool('add-note', {}, () => noteOf(authInfo));
        return server;
      });
      const mcp = protectMcp(guard, options, (request, { authInfo, message }) =>
        handler.fetch(request, { authInfo, parsedBody: message }),
      );
      const server = Bun.serve({ hostname: 'localhost', port, fetch: mcp });
      return { close: () => server.stop(true) };
    }),
  requireMcp: () =>
    started(async (port, guard) => {
      const app = express().use(requireMcp(guard, options));
      app.post('/mcp', async (request, response) => {
        const server = new FirstServer({ name: 'notes', version: '1.0.0' });
        server.registerTool('add-note', {}, ({ authInfo }) => noteOf(authInfo));
        const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
        await server.connect(transport as never);
        await transport.handleRequest(request, response, request.body);
      });
      const server = createServer(app).listen(port, 'localhost');
      return {
        close() {
          server.closeAllConnections();
          server.close();
        },
      };
    }),
};

/** Starts a program of a server, and returns its URL once it responds. */
async function startServer(command: readonly string[], ISSUER?: string, port?: number) {
  const PORT = String(port ?? (await freePort()));
  const server = run(command, { PORT, ...(ISSUER !== undefined && { ISSUER }) });
  const url = `http://localhost:${PORT}/mcp`;
  await untilReachable(url, server);
  return {
    url,
    async close() {
      server.signal('SIGKILL');
      await server.finished;
    },
  };
}

/** Calls the tool with the client of the SDK 2.x, which finds the issuer in the metadata of the server. */
async function callNote(url: string, expectedIssuer: string) {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const authProvider = new ClientCredentialsProvider({ ...reader, expectedIssuer });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
  const { content } = await client.callTool({ name: 'add-note' });
  await client.close();
  return JSON.stringify(content);
}

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add-note', arguments: {} } };
/** Sends the call of the tool by hand. */
const statusOf = async (url: string, token?: string) => {
  const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const headers = { ...accept, ...(token !== undefined && bearer(token)) };
  return (await fetch(url, { method: 'POST', headers, body: JSON.stringify(call), keepalive: false })).status;
};

describe.each(sdks)('$name', ({ client, server, verifies }) => {
  test.each(Object.entries(doors))('is a client of a server with %s()', async (_, door) => {
    const { url, issuer, close } = await door();
    const { stdout, stderr } = await runToEnd([...client, url, issuer.url, reader.clientSecret]);
    expect(`${stdout}${stderr}`).toContain('You are reader');
    await close();
  });

  test.if(server !== undefined)('is a server behind protectMcp(), which passes requests on', async () => {
    const upstream = await startServer(server ?? []);
    const { url, issuer, close } = await started((port, guard) => {
      const mcp = protectMcp(guard, options, ({ method, headers }, { message }) => {
        const sent = new Headers(headers);
        // The token is for this server only, and the length is that of another text.
        for (const name of ['authorization', 'host', 'content-length']) sent.delete(name);
        return fetch(upstream.url, { method, headers: sent, body: JSON.stringify(message) });
      });
      const gateway = Bun.serve({ hostname: 'localhost', port, fetch: mcp });
      return { close: () => gateway.stop(true) };
    });
    expect(await callNote(url, issuer.url)).toContain('A note');
    const { stdout, stderr } = await runToEnd([...client, url, issuer.url, reader.clientSecret]);
    expect(`${stdout}${stderr}`).toContain('A note');
    const tokens = [undefined, await issuer.visitor(), await issuer.token(other)];
    const statuses = [];
    for (const token of tokens) statuses.push(await statusOf(url, token));
    expect(statuses).toEqual([401, 403, 401]);
    await Promise.all([close(), upstream.close()]);
  });

  test.if(verifies === true)('is a server that verifies our tokens itself', async () => {
    const port = await freePort();
    const issuer = startIssuer(`http://localhost:${port}/mcp`);
    const { url, close } = await startServer(server ?? [], issuer.url, port);
    expect(await callNote(url, issuer.url)).toContain('You are reader');
    const tokens = [undefined, `${await issuer.token()}x`, await issuer.token(other), await issuer.token()];
    const statuses = [];
    for (const token of tokens) statuses.push(await statusOf(url, token));
    expect(statuses).toEqual([401, 401, 401, 200]);
    await Promise.all([close(), issuer.close()]);
  });
});
