import { cors } from '@elysiajs/cors';
import {
  type AuthInfo,
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Elysia } from 'elysia';
import { type Authentication, createGuard, resourceServer } from 'protected-api';

// A Model Context Protocol server over HTTP, for clients of revision 2026-07-28 and of older ones. Clients that send no token
// find the authorization server, and request a token for this server. Start it with:
// ISSUER=https://tenant.example.com/ bun run mcp.ts
const { ISSUER = '', PORT = '3010' } = process.env;

/** MCP clients name the URL of the server as the resource (RFC 8707), so it is the audience of their tokens. */
const publicUrl = `http://localhost:${PORT}`;
const resource = `${publicUrl}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl, resource, dpop: 'on' });

/** The scope that every message requires, and those that each tool requires. A tool that is not listed requires every scope. */
const scope = 'notes:read';
const scopesOfTools = new Map([
  ['read-notes', []],
  ['add-note', ['notes:write']],
]);
const allScopes = [...new Set([scope, ...[...scopesOfTools.values()].flat()])];

/** What tools get as `authInfo`. Users of a client can share its `clientId`, so `extra` names the user. */
const authInfoOf = ({ claims, token, scopes, clientId = 'unknown' }: Authentication): AuthInfo => ({
  token,
  clientId,
  scopes: [...scopes],
  expiresAt: claims.exp,
  resource: new URL(resource),
  extra: { iss: claims.iss, sub: claims.sub },
});
const notes: string[] = [];

/**
 * The names of the tools that a message calls, or a batch of messages. Revision 2026-07-28 also has the name in a header, and the
 * handler rejects a request whose header and body differ.
 */
function toolsIn(body: unknown): readonly unknown[] {
  const messages = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  return messages.filter((message) => message?.method === 'tools/call').map((call) => call?.params?.name);
}

/** The scopes of a body, with those of the tools that it calls. The route responds with 400 to a name that is not a string. */
function scopesOf(body: unknown): string[] {
  const names = toolsIn(body).filter((name) => typeof name === 'string');
  return [...new Set([scope, ...names.flatMap((name) => scopesOfTools.get(name) ?? allScopes)])];
}

const handler = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
  server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
  server.registerTool('add-note', { description: 'Adds a note with your name' }, () => {
    notes.push(`A note of ${authInfo?.extra?.sub}`);
    return texts();
  });
  return server;
});

new Elysia()
  // Cross-origin pages must not reach a server on this machine (DNS rebinding).
  .onRequest(({ request }) => originValidationResponse(request, localhostAllowedOrigins()))
  // Also lists the scopes that only some tools require.
  .onRequest(({ request }) => guard.metadata(request, { scopes: allScopes }))
  .use(cors({ credentials: false, exposeHeaders: ['WWW-Authenticate', 'Retry-After', 'DPoP-Nonce'] }))
  .use(resourceServer(guard))
  .post(
    '/mcp',
    async ({ request, body, status }) => {
      if (!toolsIn(body).every((name) => typeof name === 'string'))
        return status(400, 'The name of a tool must be a string');
      // The token was already checked. A second check costs nothing and returns the granted scopes.
      const auth = await guard.check(request);
      if (auth instanceof Response) return auth;
      return handler.fetch(request, { authInfo: authInfoOf(auth), parsedBody: body });
    },
    // A function, so that a 401 names no scope: clients then register with, and request, all scopes of the metadata.
    { scope: ({ body }) => scopesOf(body), parse: 'json' },
  )
  // The 405 tells clients of older revisions that there are no sessions.
  .all('/mcp', ({ request }) => handler.fetch(request))
  .listen({ hostname: 'localhost', port: PORT }, ({ url }) => console.log(`MCP server at ${url}mcp`));
