import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { Elysia } from 'elysia';
import { type Claims, resourceMetadata, resourceServer } from 'protected-api';

// A Model Context Protocol server over HTTP. Clients that send no token find the authorization server, and request one for
// this server. To start it: ISSUER=https://tenant.example.com/ bun run examples/mcp.ts
const { ISSUER = '', PORT = '3010' } = process.env;

/** MCP clients name the address of the server as the resource (RFC 8707), so it is the audience of their tokens. */
const address = `http://localhost:${PORT}/mcp`;
const options = { issuer: ISSUER, audience: address, publicUrl: address };

function createServer(claims: Claims): McpServer {
  const server = new McpServer({ name: 'example', version: '1.0.0' });
  server.registerTool('whoami', { description: 'Returns the subject of the access token' }, () => ({
    content: [{ type: 'text', text: String(claims.sub) }],
  }));
  return server;
}

new Elysia()
  .use(resourceMetadata(options))
  .use(resourceServer(options))
  .post(
    '/mcp',
    async ({ request, claims }) => {
      // Without sessions, each request gets its own server, which knows the claims of the sender.
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await createServer(claims).connect(transport);
      return transport.handleRequest(request);
    },
    { scope: 'mcp:tools', parse: 'none' },
  )
  // Clients try to open a stream for messages that the server initiates. This one sends none.
  .get('/mcp', ({ status }) => status(405, 'Use POST'))
  .listen({ hostname: 'localhost', port: PORT });
