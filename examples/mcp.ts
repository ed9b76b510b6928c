import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { Elysia } from 'elysia';
import { createGuard } from 'protected-api';
import { protectMcp } from 'protected-api/mcp';

// A Model Context Protocol server on Elysia, for clients of revision 2026-07-28 and of older ones. Clients that send no
// token find the authorization server, and request a token for this server. Start it with:
// ISSUER=https://tenant.example.com/ bun run mcp.ts
const { ISSUER = '', PORT = '3010', PUBLIC_URL = `http://localhost:${PORT}` } = process.env;

/** MCP clients name the URL of the server as the resource (RFC 8707), so it is the audience of their tokens. */
const resource = `${PUBLIC_URL}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl: PUBLIC_URL, resource, dpop: 'on' });

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
    // Otherwise, Bun ends the response of a tool that takes over 30 seconds. Connections of strangers still end.
    app.server?.timeout(request, 0);
    return handler.fetch(request, { authInfo, parsedBody: message });
  },
);

const app = new Elysia()
  .all('/mcp', ({ request }) => mcp(request), { parse: 'none' })
  .all('/.well-known/oauth-protected-resource/mcp', ({ request }) => mcp(request))
  .listen({ hostname: 'localhost', port: PORT }, ({ url }) => console.log(`MCP server at ${url}mcp`));
