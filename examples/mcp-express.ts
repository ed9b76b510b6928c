import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import express from 'express';
import { LRUCache } from 'lru-cache';
import { createGuard } from 'protected-api';
import { requireMcp } from 'protected-api/mcp';
import { authOf } from 'protected-api/node';

// A Model Context Protocol server with sessions, on Express and the SDK 1.x. Start it with:
// ISSUER=https://tenant.example.com/ node mcp-express.ts
const { ISSUER = '', PORT = '3010', PUBLIC_URL = `http://localhost:${PORT}` } = process.env;
const resource = `${PUBLIC_URL}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl: PUBLIC_URL, resource });
guard.start();

const notes: string[] = [];
function createServer(): McpServer {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
  server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
  server.registerTool('add-note', { description: 'Adds a note with your name' }, ({ authInfo }) => {
    notes.push(`A note of ${Object(authInfo?.extra?.claims).sub}`);
    return texts();
  });
  return server;
}

type Sessions = LRUCache<string, StreamableHTTPServerTransport>;
/**
 * The sessions of each user. Clients that leave without a DELETE leave theirs behind, and those not used for longest
 * end.
 */
const sessionsOf = new LRUCache<string, Sessions>({ max: 1000, dispose: (own) => own.clear() });

async function begin(own: Sessions): Promise<StreamableHTTPServerTransport> {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void own.set(id, transport),
    onsessionclosed: (id) => void own.delete(id),
  });
  await createServer().connect(transport);
  return transport;
}

const app = express();
// Once it is deployed, pages of web clients need their origin in `origins`.
app.use(requireMcp(guard, { scope: 'notes:read', tools: { 'add-note': 'notes:write' }, sessions: true }));
app.all('/mcp', async (req, res) => {
  const { sub = '' } = authOf(req).claims;
  const own: Sessions =
    sessionsOf.get(sub) ?? new LRUCache({ max: 10, dispose: (transport) => void transport.close() });
  sessionsOf.set(sub, own);
  const id = req.get('mcp-session-id');
  const transport = id === undefined ? await begin(own) : own.get(id);
  if (transport) await transport.handleRequest(req, res, req.body);
  else res.status(404).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' } });
});

app.listen(Number(PORT), 'localhost', () => console.log(`MCP server at ${resource}`));
