import { expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { requireMcp } from 'protected-api/mcp';
import { listen } from '../../support/raw-http.ts';
import { guardFor, issuer, message, senderTo } from './doors.ts';

/** What docs/guides/mcp.md says of the body, which requireMcp() has read. */
test.each([
  ['with req.body', true, 200, '"tools":[]'],
  ['without it', false, 400, 'Parse error: Invalid JSON'],
])('the transport of the SDK 1.x after requireMcp(), %s', async (_, hasBody, status, part) => {
  const app = express().use(requireMcp(guardFor(), {}));
  app.post('/mcp', async (request, response) => {
    const server = new McpServer({ name: 'example', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.registerTool('one', {}, () => ({ content: [] })).disable();
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    await server.connect(transport);
    await transport.handleRequest(request, response, hasBody ? request.body : undefined);
  });
  const server = createServer(app);
  await using served = {
    origin: `http://127.0.0.1:${await listen(server)}`,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
  const token = await issuer.token({ sub: 'ada' });
  const headers = { accept: 'application/json, text/event-stream', host: 'localhost:3010' };
  const response = await senderTo(served)({ body: message('tools/list'), token, headers });
  expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(part)]);
});
