import {
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { createGuard } from 'protected-api/guard';

// A Model Context Protocol server as a function of a request: for Bun, Deno, Hono, Next.js and Cloudflare Workers. To start it:
// ISSUER=https://tenant.example.com/ bun run mcp-fetch.ts
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

/** Whether a message, or one in a batch, calls a tool other than the one that only reads. */
function isWriting(body: unknown): boolean {
  const messages = [body].flat() as ({ method?: unknown; params?: { name?: unknown } } | null)[];
  return messages.some((message) => message?.method === 'tools/call' && message.params?.name !== 'read-notes');
}

async function respond(request: Request): Promise<Response> {
  const early = originValidationResponse(request, localhostAllowedOrigins()) ?? guard.metadata(request);
  if (early) return early;
  // A 401 names this scope, so that clients request it at once, and the body is not read.
  const reader = await guard.check(request, { scope: 'notes:read' });
  if (reader instanceof Response) return reader;
  const parsedBody: unknown = request.method === 'POST' ? await request.json().catch(() => '') : undefined;
  // Both checks share one verification, and one use of a DPoP proof.
  const auth = isWriting(parsedBody) ? await guard.check(request, { scope: ['notes:read', 'notes:write'] }) : reader;
  if (auth instanceof Response) return auth;
  const { claims, token, scopes } = auth;
  const authInfo = { token, clientId: String(claims.client_id), scopes: [...scopes], expiresAt: claims.exp };
  return handler.fetch(request, { authInfo, parsedBody });
}

const { url } = Bun.serve({ hostname: 'localhost', port: PORT, fetch: respond });
console.log(`MCP server at ${url}mcp`);
