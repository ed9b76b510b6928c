// Runs with the sources in Bun, and in tests/runtimes with the tarball under Node.js, which has no bun:test.
import assert from 'node:assert/strict';
import type { Server } from 'node:net';
import { createGuard } from 'protected-api';
import { requireMcp } from 'protected-api/mcp';
import { authOf, type IncomingRequest } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { listen, rawRequest } from '../../support/raw-http.ts';

export const issuer = await createTestIssuer();
const publicUrl = 'http://localhost:3010';
export const guard = createGuard({ ...issuer.options, publicUrl, resource: `${publicUrl}/mcp` });
export const protect = requireMcp(guard, {});

/** What reads as the endpoint for some router, or as a path below it. */
export const disguises: readonly string[] = [
  ...[
    '/x/../mcp',
    '/./mcp',
    '/../mcp',
    '/x/./../mcp',
    '/mcp/.',
    '/mcp/..',
    '/x/y/../../mcp',
    '/x//../mcp',
    '/mcp/../mcp',
  ],
  ...['/%2e/mcp', '/%2E%2E/mcp', '/x/%2e%2e/mcp', '/x/.%2e/mcp', '/x%2f..%2fmcp', '/x/..%2Fmcp', '/x%2Fy/../mcp'],
  ...['/%252e/mcp', '/x/%252e%252e/mcp', '/x%252f..%252fmcp', '/%25252e/mcp', '/%25%32%65/mcp'],
  ...['//mcp', '//x/mcp', '///x/mcp', '////mcp', '/mcp//', '//x:80/mcp', '//u:p@x/mcp', '//x/./mcp', '//x/y/../mcp'],
  ...['/%2fmcp', '/%2Fx%2Fmcp', '/mcp%2f', '/%2f%2fx/mcp', '/mcp/%2e'],
  ...[
    '/mcp;x',
    '/mcp;',
    '/mcp;x=1',
    '/mcp;/x',
    '/;/mcp',
    '/;x/mcp',
    '/x/..;/mcp',
    '/x;/../mcp',
    '/mcp%3bx',
    '/mcp%3Fx',
  ],
  ...[
    '/\\mcp',
    '\\mcp',
    '/\\x/mcp',
    '/\\x\\mcp',
    '/mcp\\',
    '/mcp\\x',
    '/x\\..\\mcp',
    '/%5cmcp',
    '/%5c%5cx/mcp',
    '/x/..%5cmcp',
  ],
  ...['/%6dcp', '/%6Dcp', '/m%63p', '/%256dcp', '/MCP', '/Mcp/', '/%4dCP', '/mcp%20', '/mcp%09', '/mcp%00', '/mcp%0a'],
  ...['/mcp#x', '/mcp%23x', '/mcp.x', '/mcp/x', '/mcp/x?y', '/mcp/../x', '/mcp\xa0', '/mcp\t', '/m\tcp'],
  ...['/mcp\\#', '/mcp\\..\\x#', '/x#/../mcp', '/x/..%00/mcp', '/docs/x/../../mcp/y'],
  ...['http://localhost/x/../mcp', 'http://localhost/./mcp', 'http://localhost/%6dcp', 'http://localhost//mcp'],
  ...[
    'http://localhost//x/mcp',
    'http://x\\mcp',
    'http:///mcp',
    'http:/mcp',
    'http:mcp',
    'ftp://x/mcp',
    'HTTP://X/MCP',
    'http://localhost\\mcp',
  ],
  ...['http://localhost/mcp;x', 'http://localhost/mcp//', 'http://localhost/x/%2e%2e/mcp', 'x:/mcp'],
];
/** What every client of the endpoint may send. */
export const honest = ['/mcp', '/mcp/', '/mcp?x', '/mcp/?x=/../y', 'http://localhost/mcp', 'http://localhost/mcp/?x'];
/** What no router reads as the endpoint. */
export const others = [
  ...['/', '/mcpx', '/mcp-docs', '/docs/mcp', '/docs/mcp/x', '/a%20b', '/a%2Fmcp', '/a;b/mcp', '/a/b;c', '/mc.p'],
  ...[
    '/x//y',
    '/x//mcp',
    '/x/../y',
    '/?x=/../mcp',
    '/x?/mcp',
    '/m%2Fcp',
    '/mcp~',
    '/mcp%2Dx',
    'http://localhost/x/mcp',
  ],
];

/** The end of an application: what gets a request says which handler it is, and who was accepted. */
export const handle = (name: 'endpoint' | 'other') => (incoming: IncomingRequest) =>
  `${name} ${authOf(incoming, { optional: true })?.claims?.sub ?? 'nobody'}`;

const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });

/** Sends a target as it is: `fetch` would resolve it. */
export async function send(origin: string, target: string, token?: string) {
  const authorization = token === undefined ? [] : [`Authorization: Bearer ${token}`];
  const lines = [`POST ${target} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...authorization];
  const { status, text } = await rawRequest(origin, [
    ...lines,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ]).then(async (response) => ({ status: response.status, text: await response.text() }));
  return /(?:endpoint|other) \w+/.exec(text)?.[0] ?? status;
}

/**
 * Sends every spelling to a server, with and without a token: what reaches the handler of the endpoint was accepted,
 * and no honest spelling is lost but these.
 */
export async function tryTargets(server: Server, lost: readonly string[] = []): Promise<void> {
  const origin = `http://127.0.0.1:${await listen(server)}`;
  const token = await issuer.token({ sub: 'ada' });
  const wrong: unknown[] = [];
  const both = async (target: string) => [await send(origin, target), await send(origin, target, token)] as const;
  for (const target of disguises) {
    const [stranger, user] = await both(target);
    // Some servers reject such a target by themselves.
    if (![400, 401, 404].includes(Number(stranger)) || ![400, 404].includes(Number(user)))
      wrong.push([target, stranger, user]);
  }
  for (const target of honest.filter((each) => !lost.includes(each))) {
    const [stranger, user] = await both(target);
    if (stranger !== 401 || user !== 'endpoint ada') wrong.push([target, stranger, user]);
  }
  for (const target of others) {
    const stranger = await send(origin, target);
    if (stranger !== 'other nobody') wrong.push([target, stranger]);
  }
  server.close();
  assert.deepEqual(wrong, []);
}
