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
import { decodeJwt } from 'jose';
import { clientCredentialsGrant } from 'openid-client';
import { developmentIssuer, mcpServer } from './mcp-server.ts';

const REVISION = '2026-07-28';
const OLDER_REVISION = '2025-11-25';
const clientInfo = { name: 'test', version: '1.0.0' };
const meta = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': clientInfo,
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe.each(['mcp', 'mcp-hono'])('examples/%s.ts', (example) => {
  const started = mcpServer(example);
  /** The messages of the last client to the server and their responses, in order. */
  let exchanges: { readonly sent: Headers; readonly status: number; readonly challenge: string | null }[];

  /** Sends a request, and remembers it if it is a message to the server. */
  async function record(url: string | URL, init?: RequestInit) {
    const response = await fetch(url, { ...init, keepalive: false });
    const { status, headers } = response;
    if (String(url) === started().url && init?.method === 'POST')
      exchanges.push({ sent: new Headers(init.headers), status, challenge: headers.get('www-authenticate') });
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

  /** Connects a client of SDK 1, which passes the scope of a challenge only to browsers. */
  async function connectFirst(scope: string) {
    const client = new FirstClient(clientInfo);
    const authProvider = new FirstCredentialsProvider({ ...credentials(), scope });
    await client.connect(new FirstTransport(new URL(started().url), { authProvider, fetch: record }));
    return client;
  }

  const newest = { versionNegotiation: { mode: { pin: REVISION } } } as const;
  const note = { type: 'text' as const, text: 'A note of reader' };

  test.each([
    [REVISION, newest],
    [OLDER_REVISION, {}],
  ])(
    'a client in revision %s finds the issuer, lists tools, and gets another token for a tool',
    async (revision, options) => {
      const provider = new ClientCredentialsProvider(credentials());
      const client = await connect(options, provider);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read-notes', 'add-note']);
      expect(provider.tokens()?.scope).toBe('notes:read notes:write');
      // As if the user had granted less than the client requested.
      provider.saveTokens(await readerToken());
      const { content } = await client.callTool({ name: 'add-note' });
      await client.close();
      expect(content).toContainEqual(note);
      const metadata = `resource_metadata="${new URL(started().url).origin}/.well-known/oauth-protected-resource/mcp"`;
      const [first] = exchanges;
      expect(first?.status).toBe(401);
      // It names no scope, so clients register with, and request, all scopes of the metadata.
      expect(first?.challenge).toStartWith(`Bearer ${metadata}, DPoP algs="`);
      const calls = exchanges
        .slice(-2)
        .map(({ sent, status }) => [
          status,
          sent.get('mcp-protocol-version'),
          decodeJwt(sent.get('authorization')?.replace('Bearer ', '') ?? '').scope,
        ]);
      expect(calls).toEqual([
        [403, revision, 'notes:read'],
        [200, revision, 'notes:read notes:write'],
      ]);
      const challenge = exchanges.at(-2)?.challenge;
      expect(challenge).toStartWith('Bearer error="insufficient_scope"');
      expect(challenge).toEndWith(`scope="notes:read notes:write", ${metadata}`);
    },
  );

  test('a client of SDK 1 with client credentials calls only the tools whose scopes its provider names', async () => {
    const reader = await connectFirst('notes:read');
    await expect(reader.callTool({ name: 'add-note' })).rejects.toMatchObject({ code: 403 });
    const writer = await connectFirst('notes:read notes:write');
    expect((await writer.callTool({ name: 'add-note' })).content).toContainEqual(note);
    await Promise.all([reader.close(), writer.close()]);
  });

  test('a client with a key proves it in each request', async () => {
    const provider: OAuthClientProvider = new ClientCredentialsProvider(credentials());
    const session = await DpopSession.create();
    provider.dpop = () => session;
    const client = await connect(newest, provider);
    expect((await client.callTool({ name: 'read-notes' })).content).toContainEqual(note);
    await client.close();
    expect(exchanges.map(({ sent }) => sent.get('authorization')?.slice(0, 5))).toEqual([undefined, 'DPoP ', 'DPoP ']);
  });

  test('lets pages of this machine read its challenges and its metadata, which list all scopes', async () => {
    const { url } = started();
    const page = 'http://localhost:6274';
    const send = (to: string, init: RequestInit = {}) =>
      fetch(to, { keepalive: false, ...init, headers: { origin: page, ...init.headers } });
    const rejection = await send(url, { method: 'POST', body: '{}' });
    expect(rejection.status).toBe(401);
    expect(rejection.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
    const headers = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' };
    const preflight = await send(url, { method: 'OPTIONS', headers });
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    const metadata = await send(new URL('/.well-known/oauth-protected-resource/mcp', url).href);
    expect(await metadata.json()).toMatchObject({ resource: url, scopes_supported: ['notes:read', 'notes:write'] });
    for (const { headers } of [rejection, preflight, metadata])
      expect(headers.get('access-control-allow-origin')).toBeOneOf(['*', page]);
  });

  async function readerToken() {
    const reader = await started().issuer.discover('reader');
    return clientCredentialsGrant(reader, { scope: 'notes:read', resource: started().url });
  }

  const old = { 'mcp-protocol-version': OLDER_REVISION };
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
    ['a list as the name', old, call(['read-notes']), 400],
    ['an object as the name', old, call({ toString: 1 }), 400],
    ['no name', old, call(undefined), 400],
    ['a tool that does not exist', old, call('toString'), 200],
    ['no JSON', old, undefined, 400],
    ['the origin of a page', { ...old, origin: 'https://evil.example' }, call('read-notes'), 403],
  ])('responds to a call with %s', async (_, given, message, status) => {
    const authorization = `Bearer ${(await readerToken()).access_token}`;
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

describe('examples/mcp.ts with the development issuer', () => {
  const started = mcpServer('mcp', developmentIssuer);

  test.each([
    ['2', Client, StreamableHTTPClientTransport, ClientCredentialsProvider],
    ['1', FirstClient, FirstTransport, FirstCredentialsProvider],
  ])('a client of SDK %s calls a tool', async (_, SomeClient, Transport, Provider) => {
    const expectedIssuer = started().issuer.issuer;
    const authProvider = new Provider({ clientId: 'reader', clientSecret: 'reader-secret', expectedIssuer });
    const client = new SomeClient(clientInfo);
    await client.connect(new Transport(new URL(started().url), { authProvider }) as never);
    const { content } = await client.callTool({ name: 'add-note' });
    expect(content).toContainEqual({ type: 'text', text: 'A note of reader' });
    await client.close();
  });
});
