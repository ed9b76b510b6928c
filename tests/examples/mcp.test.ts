import { describe, expect, test } from 'bun:test';
import {
  Client,
  ClientCredentialsProvider,
  DpopSession,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as FirstCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { clientCredentialsGrant } from 'openid-client';
import { mcpServer } from './mcp-server.ts';

const REVISION = '2026-07-28';
const clientInfo = { name: 'test', version: '1.0.0' };
const meta = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe.each(['mcp', 'mcp-fetch'])('examples/%s.ts', (example) => {
  const started = mcpServer(example);
  /** The requests of the last client to the server and their responses, in order. */
  let exchanges: (readonly [scheme: string | undefined, status: number, challenge: string | null])[];

  /** Sends a request, and remembers it if it goes to the server. */
  async function record(url: string | URL, init?: RequestInit) {
    const response = await fetch(url, { ...init, keepalive: false });
    const [scheme] = new Headers(init?.headers).get('authorization')?.split(' ') ?? [];
    if (String(url) === started().url)
      exchanges.push([scheme, response.status, response.headers.get('www-authenticate')]);
    return response;
  }

  const reader = { clientId: 'reader', clientSecret: 'reader-secret' };
  const credentials = () => ({ ...reader, expectedIssuer: started().issuer.issuer });

  /** Connects a client of SDK 2 that knows the URL of the server and nothing else. */
  async function connect(
    options: ConstructorParameters<typeof Client>[1],
    authProvider: OAuthClientProvider = new ClientCredentialsProvider(credentials()),
  ) {
    exchanges = [];
    const client = new Client(clientInfo, options);
    await client.connect(new StreamableHTTPClientTransport(new URL(started().url), { authProvider, fetch: record }));
    return client;
  }

  async function connectFirst() {
    exchanges = [];
    const client = new FirstClient(clientInfo);
    const authProvider = new FirstCredentialsProvider(credentials());
    // This SDK hands the scope of a challenge to browsers only, so the provider reads it.
    const prepare = authProvider.prepareTokenRequest.bind(authProvider);
    authProvider.prepareTokenRequest = () => prepare(/scope="([^"]*)"/.exec(exchanges.at(-1)?.[2] ?? '')?.[1]);
    await client.connect(new FirstTransport(new URL(started().url), { authProvider, fetch: record }));
    return client;
  }

  const newest = { versionNegotiation: { mode: { pin: REVISION } } } as const;
  const note = { type: 'text' as const, text: 'A note of reader' };

  test.each([
    ['SDK 2 with the newest revision', () => connect(newest)],
    ['SDK 2 by default', () => connect({})],
    ['SDK 1', connectFirst],
  ])(
    'a client of %s finds the authorization server, lists tools, and gets another token for a tool',
    async (_, open) => {
      const client = await open();
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read-notes', 'add-note']);
      const { content } = await client.callTool({ name: 'add-note' });
      await client.close();
      expect(content).toContainEqual(note);
      const tokens = exchanges.filter(([scheme]) => scheme !== undefined);
      expect(exchanges[0]?.[1]).toBe(401);
      expect(tokens.slice(-2).map(([scheme, status]) => `${scheme} ${status}`)).toEqual(['Bearer 403', 'Bearer 200']);
      const metadata = `resource_metadata="${new URL(started().url).origin}/.well-known/oauth-protected-resource/mcp"`;
      expect(exchanges[0]?.[2]).toStartWith(`Bearer scope="notes:read", ${metadata}, DPoP scope="notes:read", algs="`);
      expect(tokens.at(-2)?.[2]).toStartWith('Bearer error="insufficient_scope"');
      expect(tokens.at(-2)?.[2]).toEndWith(`scope="notes:read notes:write", ${metadata}`);
    },
  );

  test('a client with a key proves it in each request', async () => {
    const provider: OAuthClientProvider = new ClientCredentialsProvider(credentials());
    const session = await DpopSession.create();
    provider.dpop = () => session;
    const client = await connect(newest, provider);
    expect((await client.callTool({ name: 'read-notes' })).content).toContainEqual(note);
    await client.close();
    expect(exchanges.map(([scheme]) => scheme)).toEqual([undefined, 'DPoP', 'DPoP']);
  });

  const old = { 'mcp-protocol-version': '2025-11-25' };
  const call = (name: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } });
  const newCall = (name: string) => ({ ...call(name), params: { ...call(name).params, _meta: meta } });

  /** Requests by hand, with a token for `notes:read`. */
  test.each([
    ['the tool in header and body', { 'mcp-name': 'read-notes' }, newCall('read-notes'), 200],
    ['another tool in the body', { 'mcp-name': 'read-notes' }, newCall('add-note'), 403],
    ['another tool in the header', { 'mcp-name': 'add-note' }, newCall('read-notes'), 400],
    ['another method', { 'mcp-name': 'read-notes', 'mcp-method': 'tools/list' }, newCall('read-notes'), 400],
    ['an older revision', old, call('read-notes'), 200],
    ['an older revision and another tool', old, call('add-note'), 403],
    ['a batch of an older revision', old, [call('read-notes'), call('add-note')], 403],
    ['a list as the name', old, call(['add-note']), 403],
    ['a tool that is not listed', old, call('toString'), 403],
    ['no JSON', old, undefined, 400],
    ['the origin of a page', { ...old, origin: 'https://evil.example' }, call('read-notes'), 403],
  ])('responds to a call with %s', async (_, given, message, status) => {
    const reader = await started().issuer.discover('reader');
    const { access_token } = await clientCredentialsGrant(reader, { scope: 'notes:read', resource: started().url });
    const authorization = `Bearer ${access_token}`;
    expect((await fetch(started().url, { keepalive: false, headers: { authorization } })).status).toBe(405);
    const headers = {
      authorization,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      ...given,
    };
    const body = JSON.stringify(message) ?? '{';
    const response = await fetch(started().url, { method: 'POST', keepalive: false, headers, body });
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status });
  });
});
