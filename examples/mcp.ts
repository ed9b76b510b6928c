import {
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Elysia } from 'elysia';
import { resourceMetadata, resourceServer } from 'protected-api';

// A Model Context Protocol server (revision 2026-07-28) over HTTP. Clients that send no token find the authorization server,
// and request a token for this server. To start it: ISSUER=https://tenant.example.com/ bun run examples/mcp.ts
const { ISSUER = '', PORT = '3010' } = process.env;

/** MCP clients name the address of the server as the resource (RFC 8707), so it is the audience of their tokens. */
const publicUrl = `http://localhost:${PORT}`;
const resource = `${publicUrl}/mcp`;
const options = { issuer: ISSUER, audience: resource, publicUrl, resource, dpop: 'on' } as const;

const scopesOfTools = new Map([
  ['read-notes', 'notes:read'],
  ['add-note', 'notes:write'],
]);
const notes: string[] = [];

/** The scope of the tool that is called. A request with a name that is not in the list requires every scope. */
function scopeOf(name: string | undefined): readonly string[] {
  if (name === undefined) return [];
  const scope = scopesOfTools.get(name);
  return scope === undefined ? [...scopesOfTools.values()] : [scope];
}

// The handler rejects a request whose headers Mcp-Name and Mcp-Method differ from its body, so the scope of the name suffices.
// Older revisions have no such headers, so they are rejected.
const handler = createMcpHandler(
  ({ authInfo }) => {
    const server = new McpServer({ name: 'example', version: '1.0.0' });
    const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
    server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
    server.registerTool('add-note', { description: 'Adds a note with your name' }, () => {
      notes.push(`A note of ${authInfo?.clientId}`);
      return texts();
    });
    return server;
  },
  { legacy: 'reject' },
);

new Elysia()
  // Pages of other origins must not reach a server on this machine (DNS rebinding).
  .onRequest(({ request }) => originValidationResponse(request, localhostAllowedOrigins()))
  .use(resourceMetadata(options))
  .use(resourceServer(options))
  .all(
    '/mcp',
    ({ request, claims }) =>
      handler.fetch(request, {
        authInfo: { token: '', clientId: String(claims.sub), scopes: [], expiresAt: claims.exp },
      }),
    { scope: ({ headers }) => scopeOf(headers['mcp-name']), parse: 'none' },
  )
  .listen({ hostname: 'localhost', port: PORT }, ({ url }) => console.log(`MCP server at ${url}mcp`));
