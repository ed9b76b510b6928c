import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  Client,
  ClientCredentialsProvider,
  DpopSession,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { clientCredentialsGrant } from 'openid-client';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, type RunningProcess, run, untilReachable } from '../support/child-process.ts';

const example = join(import.meta.dir, '../../examples/mcp.ts');
const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('examples/mcp.ts', () => {
  let authorizationServer: AuthorizationServer;
  let server: RunningProcess;
  let address: string;
  /** What the last client sent and was answered, in order: scheme, status and challenge. */
  let exchanges: (readonly [scheme: string | undefined, status: number, challenge: string | null])[];

  beforeAll(async () => {
    const origin = `http://localhost:${await freePort()}`;
    address = `${origin}/mcp`;
    // Its audience is the resource that a client requests a token for.
    const scopes = 'notes:read notes:write';
    authorizationServer = await startAuthorizationServer(['https://unnamed.example.test', 'RS256', scopes]);
    const settings = { PATH: process.env.PATH ?? '', ISSUER: authorizationServer.issuer, PORT: new URL(origin).port };
    server = run([process.execPath, 'run', example], settings);
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
    const client = new Client(
      { name: 'test', version: '1.0.0' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    try {
      await client.connect(transport);
      return (await client.callTool({ name })).content;
    } finally {
      await client.close();
    }
  }

  const credentials = (id: string) =>
    new ClientCredentialsProvider({
      clientId: id,
      clientSecret: `${id}-secret`,
      expectedIssuer: authorizationServer.issuer,
    });

  /** Returns a token with this scope only. */
  const grant = async (scope = '') =>
    clientCredentialsGrant(await authorizationServer.discover('reader'), { scope, resource: address });

  const metadata = () => `resource_metadata="${new URL(address).origin}/.well-known/oauth-protected-resource/mcp"`;
  const note = { type: 'text', text: 'A note of reader' };

  test('a client finds the authorization server, gets a token for this resource, and gets another one for the tool by itself', async () => {
    expect(await callTool(credentials('reader'), 'add-note')).toEqual([note]);
    expect(exchanges.map(([scheme, status]) => [scheme, status])).toEqual([
      [undefined, 401],
      ['Bearer', 200],
      ['Bearer', 403],
      ['Bearer', 200],
    ]);
    const [first, , stepUp] = exchanges;
    expect(first?.[2]).toStartWith(`Bearer ${metadata()}, DPoP algs="`);
    expect(stepUp?.[2]).toStartWith('Bearer error="insufficient_scope"');
    expect(stepUp?.[2]).toEndWith(`scope="notes:write", ${metadata()}`);
  });

  test('a client with a key proves it in each request', async () => {
    const provider: OAuthClientProvider = credentials('reader');
    const session = await DpopSession.create();
    provider.dpop = () => session;
    expect(await callTool(provider, 'read-notes')).toEqual([note]);
    expect(exchanges.map(([scheme]) => scheme)).toEqual([undefined, 'DPoP', 'DPoP', 'DPoP']);
  });

  test('a client of a person asks that person for the scope that is missing', async () => {
    const { access_token } = await grant();
    let asked: URL | undefined;
    const person: OAuthClientProvider = {
      redirectUrl: 'http://localhost/callback',
      clientMetadata: { redirect_uris: ['http://localhost/callback'] },
      clientInformation: () => ({ client_id: 'desktop' }),
      tokens: () => ({ access_token, token_type: 'Bearer', issuer: authorizationServer.issuer }),
      saveTokens() {},
      saveCodeVerifier() {},
      codeVerifier: () => '',
      redirectToAuthorization(url) {
        asked = url;
      },
    };
    await expect(callTool(person, 'add-note')).rejects.toThrow(UnauthorizedError);
    expect(asked?.origin).toBe(authorizationServer.issuer);
    expect(asked?.searchParams.get('scope')).toBe('notes:write');
    expect(asked?.searchParams.get('resource')).toBe(address);
  });

  /** A request by hand, with a token for `notes:read`. */
  const rows: readonly { name: string; headers: Record<string, string>; tool: string; status: number }[] = [
    { name: 'the tool in header and body', headers: { 'mcp-name': 'read-notes' }, tool: 'read-notes', status: 200 },
    { name: 'another tool in the body', headers: { 'mcp-name': 'read-notes' }, tool: 'add-note', status: 400 },
    { name: 'no tool in the header', headers: {}, tool: 'add-note', status: 400 },
    { name: 'the encoded name', headers: { 'mcp-name': '=?base64?YWRkLW5vdGU=?=' }, tool: 'add-note', status: 403 },
    {
      name: 'another method',
      headers: { 'mcp-name': 'read-notes', 'mcp-method': 'tools/list' },
      tool: 'add-note',
      status: 400,
    },
    { name: 'an older revision', headers: { 'mcp-protocol-version': '2025-11-25' }, tool: 'add-note', status: 400 },
    {
      name: 'the origin of a page',
      headers: { 'mcp-name': 'read-notes', origin: 'https://evil.example' },
      tool: 'read-notes',
      status: 403,
    },
  ];
  for (const { name, headers, tool, status } of rows) {
    test(`answers ${status} to a call with ${name}`, async () => {
      const { access_token } = await grant('notes:read');
      const response = await fetch(address, {
        method: 'POST',
        keepalive: false,
        headers: {
          authorization: `Bearer ${access_token}`,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/call',
          ...headers,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: tool, arguments: {}, ...(!headers['mcp-protocol-version'] && { _meta: meta }) },
        }),
      });
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status });
    });
  }
});
