import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { createGuard } from 'protected-api';
import { protectMcp } from 'protected-api/mcp';

// A Model Context Protocol server on Hono. Start it with:
// ISSUER=https://tenant.example.com/ bun run mcp-hono.ts
const { ISSUER = '', PORT = '3010', PUBLIC_URL = `http://localhost:${PORT}` } = process.env;
const resource = `${PUBLIC_URL}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl: PUBLIC_URL, resource, dpop: 'on' });
guard.start();

const notes: string[] = [];
const handler = createMcpHandler(({ authInfo }) => {
  const { sub } = Object(authInfo?.extra?.claims);
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
  server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
  server.registerTool('add-note', { description: 'Adds a note with your name' }, () => {
    notes.push(`A note of ${sub}`);
    return texts();
  });
  return server;
});

// Once it is deployed, pages of web clients need their origin in `origins`.
const mcp = protectMcp(
  guard,
  { scope: 'notes:read', tools: { 'add-note': 'notes:write' } },
  (request, { authInfo, message }) => {
    // Otherwise, Bun ends the response of a tool that takes over 10 seconds. Connections of strangers still end.
    server.timeout(request, 0);
    return handler.fetch(request, { authInfo, parsedBody: message });
  },
);

const app = new Hono()
  .all('/mcp', ({ req }) => mcp(req.raw))
  .all('/.well-known/oauth-protected-resource/mcp', ({ req }) => mcp(req.raw));

const server = Bun.serve({ hostname: 'localhost', port: PORT, fetch: app.fetch });
console.log(`MCP server at ${server.url}mcp`);
