import { expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer,
  requireScopes,
  type ServerContext,
} from '@modelcontextprotocol/server';
import express from 'express';
import { protectMcp, requireMcp } from 'protected-api/mcp';
import { z } from 'zod';
import { bearer } from '../../support/mint.ts';
import { listen } from '../../support/raw-http.ts';
import { call, guardFor, issuer, message, resource, senderTo } from './doors.ts';

/** What docs/mcp/tools.md says of the body, which requireMcp() has read. */
test.each([
  ['with req.body', true, 200, '"tools":[]'],
  ['without it', false, 400, 'Parse error: Invalid JSON'],
])('the transport of the SDK 1.x after requireMcp(), %s', async (_, hasBody, status, part) => {
  const app = express().use(requireMcp(guardFor(), {}));
  app.post('/mcp', async (request, response) => {
    const server = new FirstServer({ name: 'example', version: '1.0.0' }, { capabilities: { tools: {} } });
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

/** Serves a server of the SDK 2.x behind protectMcp(), and returns what sends a message to it as a user. */
function sender(create: () => McpServer) {
  const handler = createMcpHandler(create);
  const mcp = protectMcp(guardFor(), { tools: { report: 'report' } }, (request, { authInfo, message }) =>
    handler.fetch(request, { authInfo, parsedBody: message }),
  );
  return async (
    claims: Record<string, unknown>,
    method: string,
    params: Record<string, unknown>,
  ): Promise<Record<string, unknown>> => {
    const prefix = 'io.modelcontextprotocol';
    const _meta = {
      [`${prefix}/protocolVersion`]: '2026-07-28',
      [`${prefix}/clientInfo`]: { name: 'test', version: '1.0.0' },
      [`${prefix}/clientCapabilities`]: { elicitation: { form: {} } },
    };
    const headers = {
      ...bearer(await issuer.token(claims)),
      ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
      'mcp-name': String(params.name ?? params.taskId),
    };
    const body = JSON.stringify(message(method, { ...params, _meta }));
    const text = await (await mcp(new Request(resource, { method: 'POST', headers, body }))).text();
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
  };
}
const [ada, bob] = [
  { sub: 'ada', client_id: 'app', scope: 'report' },
  { sub: 'bob', client_id: 'app', scope: 'report' },
];

test('a task of the SDK 2.x belongs to its user, and needs the scope of its tool', async () => {
  const send = sender(() => {
    const server = new McpServer({ name: 'example', version: '1.0.0' }, { capabilities: { tools: {} } });
    const task = { taskId: 'a', status: 'working', createdAt: '2026-01-01T00:00:00Z', ttl: 60_000 };
    server.registerTool('report', {}, () => ({ content: [], resultType: 'task', ...task }));
    server.server.setRequestHandler('tasks/get', { params: z.object({ taskId: z.string() }) }, () => task);
    return server;
  });
  expect(await send(ada, 'tools/call', { name: 'report', arguments: {} })).toMatchObject({ result: { taskId: 'a' } });
  expect(await send(ada, 'tasks/get', { taskId: 'a' })).toMatchObject({ result: { taskId: 'a' } });
  expect(await send(bob, 'tasks/get', { taskId: 'a' })).toMatchObject({ error: { message: 'Task not found' } });
  const without = await send({ ...ada, scope: '' }, 'tasks/get', { taskId: 'a' });
  expect(without).toMatchObject({ error: 'insufficient_scope' });
});

test('requestState of the SDK 2.x is bound to a user by authInfo.extra.user, where users share a client', async () => {
  const codec = createRequestStateCodec({
    key: 'k'.repeat(32),
    bind: ({ http }) => String(http?.authInfo?.extra?.user),
  });
  const send = sender(() => {
    const requestState = { verify: codec.verify };
    const server = new McpServer({ name: 'example', version: '1.0.0' }, { capabilities: { tools: {} }, requestState });
    server.registerTool('report', {}, async (context: ServerContext) => {
      const state = context.mcpReq.requestState<string>();
      if (state !== undefined) return { content: [{ type: 'text', text: state }] };
      const requestedSchema = { type: 'object' as const, properties: {} };
      return inputRequired({
        inputRequests: { name: inputRequired.elicit({ message: 'Who?', requestedSchema }) },
        requestState: await codec.mint('of ada', context),
      });
    });
    return server;
  });
  const first = await send(ada, 'tools/call', { name: 'report', arguments: {} });
  const { requestState } = Object(first.result);
  const inputResponses = { name: { action: 'accept', content: {} } };
  const again = { name: 'report', arguments: {}, requestState, inputResponses };
  expect(await send(ada, 'tools/call', again)).toMatchObject({ result: { content: [{ text: 'of ada' }] } });
  expect(await send(bob, 'tools/call', again)).toMatchObject({ error: { code: -32_602 } });
});

test('scopeChallenge of the SDK 2.x links to the metadata of the endpoint', async () => {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'example', version: '1.0.0' });
    server.registerTool('one', { scopeChallenge: requireScopes('write') }, () => ({ content: [] }));
    return server;
  });
  const mcp = protectMcp(guardFor(), {}, (request, { authInfo, message }) =>
    handler.fetch(request, { authInfo, parsedBody: message }),
  );
  const headers = { ...bearer(await issuer.token(ada)), 'content-type': 'application/json' };
  const accept = { accept: 'application/json, text/event-stream' };
  const init = { method: 'POST', headers: { ...headers, ...accept }, body: JSON.stringify(call('one')) };
  const { status, headers: got } = await mcp(new Request(resource, init));
  const metadata = 'resource_metadata="http://localhost:3010/.well-known/oauth-protected-resource/mcp"';
  expect([status, got.get('www-authenticate')]).toEqual([403, expect.stringContaining(`scope="write", ${metadata}`)]);
});
