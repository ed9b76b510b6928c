// Runs here with the sources, and in tests/runtimes with the tarball under Node.js, which has no bun:test.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, type OutgoingHttpHeaders, type ServerResponse, request as send } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2';
import type { Server } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { createGuard } from 'protected-api';
import { type McpOptions, requireMcp } from 'protected-api/mcp';
import type { Middleware } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { listen } from '../../support/raw-http.ts';

const issuer = await createTestIssuer();
const publicUrl = 'http://localhost:3010';
const guard = createGuard({ ...issuer.options, publicUrl, resource: `${publicUrl}/mcp` });
const [ada, bob] = await Promise.all(['ada', 'bob'].map((sub) => issuer.token({ sub })));
const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

/** Starts a server without a framework, and returns a function that sends a POST over one connection. */
async function started(options: McpOptions, respond: (response: ServerResponse) => void) {
  const protect: Middleware = requireMcp(guard, options);
  const server: Server = createServer((request, response) => protect(request, response, () => respond(response)));
  const port = await listen(server);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const post = async (token = '', body = message, more: OutgoingHttpHeaders = {}) => {
    const headers = { host: 'localhost', authorization: `Bearer ${token}`, ...more };
    const request = send({ agent, port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers });
    const whole = once(request.end(body), 'finish');
    const [response] = await once(request, 'response');
    await Promise.all([text(response), whole]);
    return { status: response.statusCode, isReused: request.reusedSocket };
  };
  const dispose = async () => {
    agent.destroy();
    server.close();
  };
  return { post, [Symbol.asyncDispose]: dispose };
}

/** Headers that only `writeHead` gets. Without others, Node.js does not show them to `getHeader`. */
const heads: Readonly<Record<string, (response: ServerResponse, status: number) => unknown>> = {
  'an object': (response, status) => response.writeHead(status, { 'Mcp-Session-Id': 'one' }),
  'an object after a reason': (response, status) => response.writeHead(status, 'Fine', { 'mcp-session-id': 'one' }),
  'a list': (response, status) => response.writeHead(status, ['X', 'Mcp-Session-Id', 'MCP-Session-Id', 'one']),
  'a list of pairs': (response, status) => response.writeHead(status, [['Mcp-Session-Id', 'one']] as never),
  setHeader: (response, status) => response.setHeader('Mcp-Session-Id', 'one').writeHead(status),
};

describe('requireMcp() without a framework', () => {
  for (const [form, write] of Object.entries(heads))
    test(`binds a session whose ID is in ${form} to its user, unless the response is a rejection`, async () => {
      const statuses = [404, 200, 200];
      await using server = await started({ sessions: true }, (response) => {
        write(response, statuses.shift() ?? 200);
        response.end();
      });
      const session = { 'mcp-session-id': 'one' };
      const sent = [
        await server.post(bob),
        await server.post(ada),
        await server.post(bob, message, session),
        await server.post(ada, message, session),
      ];
      assert.deepEqual(
        sent.map(({ status }) => status),
        [404, 200, 404, 200],
      );
    });

  test('reads what is left of a body that is too long, so that the connection is good for another request', {
    timeout: 180_000,
  }, async () => {
    await using server = await started({ maxBodyBytes: 1000 }, (response) => response.end());
    // More than a socket and a stream keep.
    const sent = [await server.post(ada), await server.post(ada, ' '.repeat(2 ** 23)), await server.post(ada)];
    assert.deepEqual(
      sent.map(({ status }) => status),
      [200, 413, 200],
    );
    // The client of Bun uses a connection again at its own discretion.
    if (!process.versions.bun) assert.deepEqual(sent.at(-1), { status: 200, isReused: true });
  });

  for (const [authority, status] of [
    ['localhost:3010', 200],
    ['attacker.example', 403],
  ] as const)
    test(`responds to HTTP/2 with the authority ${authority}: ${status}`, async () => {
      const protect: Middleware = requireMcp(guard, {});
      const server = createHttp2Server((request, response) => protect(request, response, () => response.end()));
      const client = connectHttp2(`http://127.0.0.1:${await listen(server)}`);
      const headers = { ':authority': authority, ':path': '/mcp', ':method': 'POST', authorization: `Bearer ${ada}` };
      const stream = client.request(headers);
      stream.end(message);
      const [{ ':status': sent }] = await once(stream, 'response');
      assert.equal(sent, status);
      client.destroy();
      server.close();
    });
});
