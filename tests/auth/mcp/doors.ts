import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import connect from 'connect';
import express from 'express';
import { createGuard, type GuardOptions } from 'protected-api';
import { type McpOptions, protectMcp, requireMcp } from 'protected-api/mcp';
import { authOf, type IncomingRequest } from 'protected-api/node';
import { createTestIssuer } from 'protected-api/testing';
import { serve } from '../../support/fixture.ts';
import { bearer } from '../../support/mint.ts';
import { isNight } from '../../support/node-versions.ts';
import { listen } from '../../support/raw-http.ts';

export const express4: typeof express = createRequire(import.meta.url)('express-4');

export const resource = 'http://localhost:3010/mcp';
export const issuer = await createTestIssuer();
/** A guard for an endpoint at `resource`, or with these options. */
export const guardFor = (options: Partial<GuardOptions<undefined>> = {}) =>
  createGuard({ ...issuer.options, publicUrl: 'http://localhost:3010', resource, ...options });

export const message = (method: string, params?: object, id: number | undefined = 1) => ({
  jsonrpc: '2.0',
  ...(id !== undefined && { id }),
  method,
  ...(params && { params }),
});
export const call = (name: unknown) => message('tools/call', { name, arguments: {} });

/** What a handler of these tests responds with: what it got. */
const described = (auth: { readonly claims?: { readonly sub?: string } | undefined }, rest: object) => ({
  sub: auth.claims?.sub ?? null,
  ...rest,
});

/** The answer to `tools/call` that says that a task was created: in JSON, compressed if accepted, or in an event. */
function taskAnswer(
  created: string | null | undefined,
  message: unknown,
  accepted: string | null | undefined,
): readonly [headers: Record<string, string>, body: string | Uint8Array<ArrayBuffer>] | undefined {
  if (!created) return undefined;
  const text = JSON.stringify({ jsonrpc: '2.0', id: Object(message).id, result: { task: { taskId: created } } });
  if (created.startsWith('event'))
    return [{ 'content-type': 'text/event-stream' }, `: first\n\nevent: message\ndata: ${text}\n\n`];
  const headers = { 'content-type': 'application/json' };
  return created.startsWith('gzip') && accepted?.includes('gzip')
    ? [{ ...headers, 'content-encoding': 'gzip' }, Bun.gzipSync(text)]
    : [headers, text];
}

/** Starts a server with an endpoint behind a door, and returns its port and what ends it. */
export type Door = (options: McpOptions, guard?: ReturnType<typeof guardFor>) => Promise<Served>;

interface Served extends AsyncDisposable {
  readonly origin: string;
}

const fetchDoor: Door = async (options, guard = guardFor()) => {
  const mcp = protectMcp(guard, options, async (request, { auth, authInfo, message }) => {
    const opened = request.headers.get('x-opens');
    const accepted = request.headers.get('accept-encoding');
    const [headers, answer] = taskAnswer(request.headers.get('x-creates'), message, accepted) ?? [];
    if (headers) return new Response(answer, { headers });
    const text = await request.text();
    const rest = { scopes: authInfo?.scopes, resource: authInfo?.resource, message, text };
    return Response.json(described(auth, rest), { headers: opened ? { 'mcp-session-id': opened } : {} });
  });
  // As a framework does. Bun itself would end the test.
  const server = serve((request) => mcp(request).catch(() => new Response(null, { status: 500 })));
  return { origin: server.url.origin, [Symbol.asyncDispose]: () => server.stop(true) };
};

type Routed = IncomingRequest & { readonly auth?: { scopes: string[]; resource?: URL }; readonly body?: unknown };

function respondTo(request: Routed, response: ServerResponse): void {
  const { auth, body } = request;
  const opened = request.headers['x-opens'];
  const created = request.headers['x-creates'] as string | undefined;
  const [headers, answer = ''] = taskAnswer(created, body, request.headers['accept-encoding'] as string) ?? [];
  if (headers) {
    response.writeHead(200, headers).write(answer.slice(0, 40));
    return void response.end(Buffer.from(answer.slice(40)));
  }
  const rest = { scopes: auth?.scopes, resource: auth?.resource, message: body, text: JSON.stringify(body) };
  // Frameworks pass headers here too, where `getHeader` does not find them.
  response.writeHead(200, {
    'content-type': 'application/json',
    ...(opened !== undefined && { 'Mcp-Session-Id': String(opened) }),
  });
  response.end(JSON.stringify(described(authOf<never>(request) as object, rest)));
}

const nodeDoor =
  (create: (protect: ReturnType<typeof requireMcp>) => RequestListener): Door =>
  async (options, guard = guardFor()) => {
    const server = createServer(create(requireMcp(guard, options)));
    const port = await listen(server);
    return {
      origin: `http://127.0.0.1:${port}`,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        server.close();
      },
    };
  };

const everyDoor: readonly (readonly [name: string, door: Door])[] = [
  ['protectMcp() on Bun', fetchDoor],
  [
    'requireMcp() on Express 5',
    nodeDoor((protect) =>
      express()
        .use(protect)
        .all('/mcp', respondTo as never),
    ),
  ],
  [
    'requireMcp() on Express 5 after express.json()',
    nodeDoor((protect) =>
      express()
        .use(express.json({ limit: '10mb' }))
        .use(protect)
        .all('/mcp', respondTo as never),
    ),
  ],
  [
    'requireMcp() on Express 4 after express.json()',
    nodeDoor((protect) =>
      express4()
        .use(express4.json())
        .all(['/mcp', '/.well-known/*'], protect, respondTo as never),
    ),
  ],
  [
    'requireMcp() on Connect',
    nodeDoor((protect) =>
      connect()
        .use(protect)
        .use('/mcp', respondTo as never),
    ),
  ],
];

/** By day, one door of each kind: a fetch handler, one that reads the body itself, and one after a parser. */
export const doors = isNight
  ? everyDoor
  : everyDoor.filter(([name]) => /(?:on Bun|on Express 5|Express 4 after express\.json\(\))$/.test(name));

/** Returns a function that sends a request to the endpoint, or to another path. */
export const senderTo =
  ({ origin }: Served) =>
  (sent: {
    readonly body?: unknown;
    readonly method?: string;
    readonly path?: string;
    readonly token?: string | undefined;
    readonly headers?: Record<string, string>;
  }) => {
    const { body, method = 'POST', path = '/mcp', token, headers } = sent;
    return fetch(origin + path, {
      method,
      keepalive: false,
      redirect: 'manual',
      headers: { 'content-type': 'application/json', ...(token !== undefined && bearer(token)), ...headers },
      ...(body !== undefined && {
        body: typeof body === 'string' || body instanceof ReadableStream ? body : JSON.stringify(body),
      }),
    });
  };
