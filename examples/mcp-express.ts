import { randomUUID } from 'node:crypto';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { localhostHostValidation } from '@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import cors from 'cors';
import express, { type ErrorRequestHandler } from 'express';
import { LRUCache } from 'lru-cache';
import { type Authentication, createGuard } from 'protected-api/guard';
import { checkIncoming, requireToken, serveMetadata } from 'protected-api/node';

// A Model Context Protocol server with sessions, on Express and the SDK 1.x. Start it with:
// ISSUER=https://tenant.example.com/ node mcp-express.ts
const { ISSUER = '', PORT = '3010' } = process.env;
const publicUrl = `http://localhost:${PORT}`;
const resource = `${publicUrl}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl, resource });
guard.start();

/** What tools get as `authInfo`. Users of a client can share its `clientId`, so `extra` names the user. */
const authInfoOf = ({ claims, token, scopes, clientId = 'unknown' }: Authentication): AuthInfo => ({
  token,
  clientId,
  scopes: [...scopes],
  expiresAt: claims.exp,
  resource: new URL(resource),
  extra: { iss: claims.iss, sub: claims.sub },
});

/** Returns the scopes of a message, or of a batch: calls of other tools than `read-notes` write. */
function scopesOf(body: unknown): string[] {
  const messages = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  const isWriting = messages.some((one) => one?.method === 'tools/call' && one.params?.name !== 'read-notes');
  return isWriting ? ['notes:read', 'notes:write'] : ['notes:read'];
}

const notes: string[] = [];
function createServer(): McpServer {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
  server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
  server.registerTool('add-note', { description: 'Adds a note with your name' }, ({ authInfo }) => {
    notes.push(`A note of ${authInfo?.extra?.sub}`);
    return texts();
  });
  return server;
}

/** Each session belongs to the user and the client that began it. To everyone else, it does not exist. */
const ownerOf = ({ claims, clientId }: Authentication) => JSON.stringify([claims.iss, claims.sub, clientId]);
const sessions = new LRUCache<string, { owner: string; transport: StreamableHTTPServerTransport }>({
  // Clients that leave without a DELETE leave their session behind. One that was not used for longest ends.
  max: 1000,
  dispose: ({ transport }) => void transport.close(),
});

async function begin(owner: string): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, { owner, transport }),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await createServer().connect(transport);
  return transport;
}

const app = express();
// Cross-origin pages must not reach a server on this machine (DNS rebinding).
app.use(localhostHostValidation());
app.use(cors({ exposedHeaders: ['WWW-Authenticate', 'Retry-After', 'Mcp-Session-Id'] }));
app.use(serveMetadata(guard, { scopes: ['notes:read', 'notes:write'] }));
// Before the body is read. A 401 names no scope: clients then register with, and request, all scopes of the metadata.
// Every body is parsed here: the transport would parse one that is left, and no scope would have been required for it.
app.all('/mcp', requireToken(guard), express.json({ type: () => true }), async (req, res) => {
  // If auth is undefined, the guard has already responded.
  const auth = await checkIncoming(guard, req, res, { scope: scopesOf(req.body) });
  if (!auth) return;
  const owner = ownerOf(auth);
  const id = req.get('mcp-session-id');
  const session = sessions.get(id ?? '');
  if (id !== undefined && session?.owner !== owner) {
    res.status(404).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
    return;
  }
  // An event stream would outlive the token that it was opened with. Timers wait for at most 24 days.
  const timer = setTimeout(() => res.end(), Math.min(auth.claims.exp * 1000 - Date.now(), 2 ** 31 - 1));
  res.on('close', () => clearTimeout(timer));
  const transport = session?.transport ?? (await begin(owner));
  await transport.handleRequest(Object.assign(req, { auth: authInfoOf(auth) }), res, req.body);
});

// Express itself would respond with a stack trace, and log the body that cannot be parsed.
const onError: ErrorRequestHandler = (error, _req, res, next) => {
  const { status = 500 } = error;
  if (status === 500) console.error(error);
  if (res.headersSent) return void next(error);
  const [code, message] = status === 500 ? [-32603, 'Internal error'] : [-32700, 'Cannot read the message'];
  res.status(status).json({ jsonrpc: '2.0', error: { code, message }, id: null });
};
app.use(onError);

app.listen(Number(PORT), 'localhost', () => console.log(`MCP server at ${resource}`));
