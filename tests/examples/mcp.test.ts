import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  Client,
  ClientCredentialsProvider,
  DpopSession,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { clientCredentialsGrant } from 'openid-client';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, type RunningProcess, run, untilReachable } from '../support/child-process.ts';

const REVISION = '2026-07-28';
const clientInfo = { name: 'test', version: '1.0.0' };
const meta = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('examples/mcp.ts', () => {
  let authorizationServer: AuthorizationServer;
  let server: RunningProcess;
  let address: string;
  /** What the last client sent and was answered, in order: scheme, status and challenge. */
  let exchanges: (readonly [scheme: string | undefined, status: number, challenge: string | null])[];

  beforeAll(async () => {
    const PORT = String(await freePort());
    address = `http://localhost:${PORT}/mcp`;
    // Its audience is the resource that a client requests a token for.
    const scopes = 'notes:read notes:write';
    authorizationServer = await startAuthorizationServer(['https://unnamed.example.test', 'RS256', scopes]);
    const settings = { PATH: process.env.PATH ?? '', ISSUER: authorizationServer.issuer, PORT };
    server = run([process.execPath, 'run', join(import.meta.dir, '../../examples/mcp.ts')], settings);
    await untilReachable(address, server);
  }, 120_000);
  afterAll(async () => {
    server.signal('SIGKILL');
    await Promise.all([authorizationServer.close(), server.finished]);
  });

  /** Connects a client that knows the address of the server and nothing else, and has it call a tool. */
  async function callTool(authProvider: OAuthClientProvider, name: string): Promise<unknown> {
    exchanges = [];
    const transport = new StreamableHTTPClientTransport(new URL(address), {
      authProvider,
      async fetch(url, init) {
        const response = await fetch(url, { ...init, keepalive: false });
        const [scheme] = new Headers(init?.headers).get('authorization')?.split(' ') ?? [];
        if (String(url) === address)
          exchanges.push([scheme, response.status, response.headers.get('www-authenticate')]);
        return response;
      },
    });
    const client = new Client(clientInfo, { versionNegotiation: { mode: { pin: REVISION } } });
    try {
      await client.connect(transport);
      return (await client.callTool({ name })).content;
    } finally {
      await client.close();
    }
  }

  const credentials = () =>
    new ClientCredentialsProvider({
      clientId: 'reader',
      clientSecret: 'reader-secret',
      expectedIssuer: authorizationServer.issuer,
    });

  const note = { type: 'text', text: 'A note of reader' };

  test('a client finds the authorization server, gets a token for this resource, and gets another one for the tool by itself', async () => {
    expect(await callTool(credentials(), 'add-note')).toEqual([note]);
    expect(exchanges.map(([scheme, status]) => [scheme, status])).toEqual([
      [undefined, 401],
      ['Bearer', 200],
      ['Bearer', 403],
      ['Bearer', 200],
    ]);
    const [first, , stepUp] = exchanges;
    const { origin } = new URL(address);
    const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
    expect(first?.[2]).toStartWith(`Bearer ${metadata}, DPoP algs="`);
    expect(stepUp?.[2]).toStartWith('Bearer error="insufficient_scope"');
    expect(stepUp?.[2]).toEndWith(`scope="notes:write", ${metadata}`);
  });

  test('a client with a key proves it in each request', async () => {
    const provider: OAuthClientProvider = credentials();
    const session = await DpopSession.create();
    provider.dpop = () => session;
    expect(await callTool(provider, 'read-notes')).toEqual([note]);
    expect(exchanges.map(([scheme]) => scheme)).toEqual([undefined, 'DPoP', 'DPoP', 'DPoP']);
  });

  /** A request by hand, with a token for `notes:read`. */
  const read = { 'mcp-name': 'read-notes' };
  for (const [name, given, tool, status] of [
    ['the tool in header and body', read, 'read-notes', 200],
    ['another tool in the body', read, 'add-note', 400],
    ['no tool in the header', {}, 'add-note', 400],
    ['the encoded name', { 'mcp-name': '=?base64?YWRkLW5vdGU=?=' }, 'add-note', 403],
    ['another method', { ...read, 'mcp-method': 'tools/list' }, 'add-note', 400],
    ['an older revision', { 'mcp-protocol-version': '2025-11-25' }, 'add-note', 400],
    ['the origin of a page', { ...read, origin: 'https://evil.example' }, 'read-notes', 403],
  ] as const)
    test(`answers ${status} to a call with ${name}`, async () => {
      const reader = await authorizationServer.discover('reader');
      const { access_token } = await clientCredentialsGrant(reader, { scope: 'notes:read', resource: address });
      const headers = {
        authorization: `Bearer ${access_token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': REVISION,
        'mcp-method': 'tools/call',
        ...given,
      };
      const isOld = headers['mcp-protocol-version'] !== REVISION;
      const params = { name: tool, arguments: {}, ...(isOld ? {} : { _meta: meta }) };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      const response = await fetch(address, { method: 'POST', keepalive: false, headers, body });
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status });
    });
});
