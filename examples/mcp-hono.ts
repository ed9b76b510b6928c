import {
  type AuthInfo,
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { Hono } from 'hono';
import { cors } from 'hono/cors';
import { type Authentication, createGuard } from 'protected-api/guard';
import { requireToken } from 'protected-api/hono';

// A Model Context Protocol server on Hono. Start it with:
// ISSUER=https://tenant.example.com/ bun run mcp-hono.ts
const { ISSUER = '', PORT = '3010' } = process.env;
const publicUrl = `http://localhost:${PORT}`;
const resource = `${publicUrl}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl, resource, dpop: 'on' });
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

const notes: string[] = [];
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

/** The names of the tools that a message calls, or a batch of messages. */
function toolsIn(body: unknown): readonly unknown[] {
  const messages = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  return messages.filter((message) => message?.method === 'tools/call').map((call) => call?.params?.name);
}

const app = new Hono()
  // Cross-origin pages must not reach a server on this machine (DNS rebinding).
  .use(async ({ req }, next) => originValidationResponse(req.raw, localhostAllowedOrigins()) ?? next())
  .use(cors({ origin: '*', exposeHeaders: ['WWW-Authenticate', 'Retry-After', 'DPoP-Nonce'] }))
  // Also lists the scope that only some tools require.
  .use(async ({ req }, next) => guard.metadata(req.raw, { scopes: ['notes:read', 'notes:write'] }) ?? next())
  // Before the body is read. A 401 names no scope: clients then register with, and request, all scopes of the metadata.
  .all('/mcp', requireToken(guard), async (context) => {
    const { req } = context;
    const parsedBody: unknown = req.method === 'POST' ? await req.json().catch(() => '') : undefined;
    const tools = toolsIn(parsedBody);
    if (!tools.every((name) => typeof name === 'string'))
      return context.text('The name of a tool must be a string', 400);
    const isWriting = tools.some((name) => name !== 'read-notes');
    // Both checks share one verification, and one use of a DPoP proof.
    const auth = await guard.check(req.raw, { scope: isWriting ? ['notes:read', 'notes:write'] : 'notes:read' });
    if (auth instanceof Response) return auth;
    return handler.fetch(req.raw, { authInfo: authInfoOf(auth), parsedBody });
  });

const { url } = Bun.serve({ hostname: 'localhost', port: PORT, fetch: app.fetch });
console.log(`MCP server at ${url}mcp`);
