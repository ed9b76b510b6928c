import {
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { createGuard } from 'protected-api/guard';

// A Model Context Protocol server as a function of a request: for Bun, Deno, Hono, Next.js and Cloudflare Workers. To start it:
// ISSUER=https://tenant.example.com/ bun run examples/mcp-fetch.ts
const { ISSUER = '', PORT = '3010' } = process.env;
const publicUrl = `http://localhost:${PORT}`;
const resource = `${publicUrl}/mcp`;
const guard = createGuard({ issuer: ISSUER, audience: resource, publicUrl, resource, dpop: 'on' });
guard.start();

const notes: string[] = [];
const handler = createMcpHandler(({ authInfo }) => {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  const texts = () => ({ content: notes.map((text) => ({ type: 'text' as const, text })) });
  server.registerTool('read-notes', { description: 'Returns all notes' }, texts);
  server.registerTool('add-note', { description: 'Adds a note with your name' }, () => {
    notes.push(`A note of ${authInfo?.clientId}`);
    return texts();
  });
  return server;
});

/** The scopes of the tools that a message calls, or a batch of messages: to read for one tool, to write for any other. */
function scopesOf(body: unknown): readonly string[] {
  const messages = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  const calls = messages.filter((message) => message?.method === 'tools/call');
  return calls.map((call) => (call?.params?.name === 'read-notes' ? 'notes:read' : 'notes:write'));
}

async function respond(request: Request): Promise<Response> {
  const early = originValidationResponse(request, localhostAllowedOrigins()) ?? guard.metadata(request);
  if (early) return early;
  // Without a token, the body is not read. Both checks share one verification, and one use of a DPoP proof.
  const accepted = await guard.check(request);
  if (accepted instanceof Response) return accepted;
  const parsedBody: unknown = request.method === 'POST' ? await request.json().catch(() => '') : undefined;
  const scope = scopesOf(parsedBody);
  const auth = scope.length > 0 ? await guard.check(request, { scope }) : accepted;
  if (auth instanceof Response) return auth;
  const { claims, token, scopes } = auth;
  const authInfo = { token, clientId: String(claims.client_id), scopes: [...scopes], expiresAt: claims.exp };
  return handler.fetch(request, { authInfo, parsedBody });
}

const { url } = Bun.serve({ hostname: 'localhost', port: PORT, fetch: respond });
console.log(`MCP server at ${url}mcp`);
