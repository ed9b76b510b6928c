import { describe, expect, test } from 'bun:test';
import {
  Client,
  discoverAuthorizationServerMetadata,
  type OAuthClientInformation,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { createGuard } from 'protected-api';
import { protectMcp } from 'protected-api/mcp';
import { callback, signIn } from '../support/authorization-server.ts';
import { freePort } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import { startIssuer } from '../support/issuer.ts';
import { bearer, mintToken, nowSeconds } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { beginSession, expectOwnSessions, loginIssuer, mcpServer, sessionClient } from './mcp-server.ts';

interface Kept {
  client?: OAuthClientInformation & { readonly scope?: string };
  tokens?: OAuthTokens;
  verifier?: string;
  page?: URL;
  discovery?: OAuthDiscoveryState;
}

/** A client that registers itself, as desktop clients do. Clients of both SDKs take it. */
const providerOf = (kept: Kept, ...more: readonly string[]): OAuthClientProvider => ({
  redirectUrl: callback,
  clientMetadata: {
    redirect_uris: [callback],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', ...more],
  },
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void Object.assign(kept, { client }),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void Object.assign(kept, { tokens }),
  redirectToAuthorization: (page) => void Object.assign(kept, { page }),
  saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
  codeVerifier: () => kept.verifier ?? '',
  saveDiscoveryState: (discovery) => void Object.assign(kept, { discovery }),
  discoveryState: () => kept.discovery,
});

/** By day, the clients log in at one of them. */
const withLogin = isNight ? ['mcp', 'mcp-hono', 'mcp-express'] : ['mcp-express'];
describe.each(withLogin)('examples/%s.ts with examples/mcp-login.ts', (example) => {
  const started = mcpServer(example, loginIssuer);

  test.each([
    ['1', FirstClient, FirstTransport],
    ['2', Client, StreamableHTTPClientTransport],
  ])(
    'a client of SDK %s registers itself, signs a user in once, calls each tool, and refreshes its token for several at once',
    async (_, SomeClient, Transport) => {
      const kept: Kept = {};
      const start = () => {
        const client = new SomeClient({ name: 'test', version: '1.0.0' });
        const transport = new Transport(new URL(started().url), {
          authProvider: providerOf(kept, 'refresh_token'),
          fetch: (url, init) => fetch(url, { ...init, keepalive: false }),
        });
        return { client, transport, connected: client.connect(transport as never) };
      };
      const first = start();
      await expect(first.connected).rejects.toThrow('Unauthorized');
      const { headers } = await signIn(kept.page ?? '', 'ada');
      const returned = new URL(headers.get('location') ?? '').searchParams;
      await first.transport.finishAuth(String(returned.get('code')), String(returned.get('iss')));
      // Had it registered with less, a request for more would be `invalid_scope` for good.
      expect(kept.client?.scope).toStartWith('notes:read notes:write');
      delete kept.page;
      const { client, connected } = start();
      await connected;
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read-notes', 'add-note']);
      const { content } = await client.callTool({ name: 'add-note' });
      expect(content).toContainEqual({ type: 'text', text: 'A note of ada' });
      expect(kept.page).toBeUndefined();
      // As if it had expired.
      Object.assign(kept.tokens ?? {}, { access_token: String(kept.tokens?.access_token).slice(0, -1) });
      const called = await Promise.all([1, 2, 3].map(() => client.callTool({ name: 'read-notes' })));
      expect(called.every(({ content }) => Array.isArray(content))).toBe(true);
      expect(kept.page).toBeUndefined();
      await client.close();
    },
  );
});

describe('a user who grants one scope after another, with protectMcp()', () => {
  const started = startedFor(
    async () => {
      const port = await freePort();
      const resource = `http://localhost:${port}/mcp`;
      const issuer = await loginIssuer(resource, 'base a b c');
      const guard = createGuard({
        issuer: issuer.issuer,
        audience: resource,
        publicUrl: `http://localhost:${port}`,
        resource,
      });
      const handler = createMcpHandler(() => {
        const tools = new McpServer({ name: 'test', version: '1.0.0' });
        for (const name of ['a', 'b', 'c', 'slow']) tools.registerTool(name, {}, () => ({ content: [] }));
        return tools;
      });
      const options = { scope: 'base', tools: { a: 'a', b: 'b', c: 'c' } };
      const mcp = protectMcp(guard, options, (request, { authInfo, message }) =>
        handler.fetch(request, { authInfo, parsedBody: message }),
      );
      return { resource, issuer, server: Bun.serve({ port, fetch: mcp }) };
    },
    async ({ issuer, server }) => void (await Promise.all([issuer.close(), server.stop(true)])),
  );

  /** Starts a client that knows what was kept. */
  function start(SomeClient: typeof FirstClient | typeof Client, SomeTransport: unknown, kept: Kept) {
    const Transport = SomeTransport as typeof FirstTransport;
    const client = new SomeClient({ name: 'test', version: '1.0.0' });
    const transport = new Transport(new URL(started().resource), {
      authProvider: providerOf(kept) as never,
      fetch: (url, init) => fetch(url, { ...init, keepalive: false }),
    });
    return { client, transport, connected: client.connect(transport as never) };
  }

  test.each([
    ['1', FirstClient, FirstTransport],
    ['2', Client, StreamableHTTPClientTransport],
  ])('signs in once for each scope with a client of SDK %s, and never again', async (_, SomeClient, Transport) => {
    const kept: Kept = {};
    let logins = 0;
    /** Does it, and signs in when the client asks for it. The first time, the user grants `base` only. */
    async function withLogins(act: (client: FirstClient) => Promise<unknown>): Promise<unknown> {
      const { client, transport, connected } = start(SomeClient, Transport, kept);
      try {
        await connected;
        return await act(client as FirstClient);
      } catch (error) {
        if (!kept.page || logins > 7) throw error;
        if (logins === 0) kept.page.searchParams.set('scope', 'base');
        logins += 1;
        const { headers } = await signIn(kept.page, 'ada');
        delete kept.page;
        const returned = new URL(headers.get('location') ?? '').searchParams;
        await Reflect.apply(transport.finishAuth, transport, [returned.get('code'), returned.get('iss')]);
        return withLogins(act);
      } finally {
        await client.close();
      }
    }
    for (const name of ['a', 'b', 'c', 'a', 'b', 'c'])
      expect(await withLogins((client) => client.callTool({ name }))).toEqual({ content: [] });
    expect(logins).toBe(4);
    await withLogins((client) => client.callTool({ name: 'unknown' }).catch(() => undefined));
    expect(logins).toBe(4);
  });
});

test.each([
  ['a listed tenant', { tid: ['8eaef023-2b34-4da1-9baa-8bc8c9d6a490'] }, 'accepts'],
  ['any tenant', {}, 'IssuerMismatchError'],
])('docs/issuers/entra.md: a client of the SDK 2.x and the issuer of %s', async (_, requiredClaims, outcome) => {
  const login = 'https://login.microsoftonline.com';
  const publicUrl = 'https://api.example.com';
  const guard = createGuard({ issuer: `${login}/{tenantid}/v2.0`, audience: 'a', publicUrl, requiredClaims });
  const served = await guard.metadata(new Request(`${publicUrl}/.well-known/oauth-protected-resource`))?.json();
  const [server = ''] = Object(served).authorization_servers;
  // For organizations, Entra names no tenant.
  const fetchFn = async (url: string | URL) => {
    const [, tenant = ''] = /^\/([^/]+)\/v2.0\/.well-known\/openid-configuration$/.exec(new URL(url).pathname) ?? [];
    const issuer = `${login}/${tenant.replace('organizations', '{tenantid}')}/v2.0`;
    const named = { authorization_endpoint: login, token_endpoint: login, jwks_uri: login };
    const lists = { response_types_supported: [], subject_types_supported: [] };
    const body = { issuer, ...named, ...lists, id_token_signing_alg_values_supported: [] };
    return tenant === '' ? new Response(null, { status: 404 }) : Response.json(body);
  };
  const found = discoverAuthorizationServerMetadata(server, { fetchFn });
  expect(await found.then(() => 'accepts').catch(({ name }) => name)).toBe(outcome);
});

test('examples/mcp-login.ts lets pages register clients, and responds to no other host', async () => {
  await using issuer = await loginIssuer();
  const foreign = { redirect: 'manual', headers: { host: 'evil.example' } } as const;
  for (const path of ['/auth', '/reg', '/token', '/.well-known/openid-configuration', '/interaction/x'])
    expect([path, (await fetch(issuer.issuer + path, foreign)).status]).toEqual([path, 421]);
  const headers = { origin: 'http://localhost:6274', 'access-control-request-method': 'POST' };
  const preflight = await fetch(`${issuer.issuer}/reg`, { method: 'OPTIONS', headers });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
});

describe('a session of examples/mcp-express.ts', () => {
  const started = mcpServer('mcp-express', async () => {
    const { url: issuer, close } = await startIssuer();
    return { issuer, close: async () => void (await close()) };
  });

  const send = sessionClient(
    (init) => fetch(started().url, init),
    (claims) => mintToken(started().issuer.issuer, { claims: { aud: started().url, ...claims } }),
  );

  test('is found by its user only, for each method', () => expectOwnSessions(send));

  test.each([
    [
      'another type',
      'text/plain',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'add-note' } }),
      403,
    ],
    ['no JSON', 'application/json', '{', 400],
    ['too long', 'application/json', ' '.repeat(2 ** 23), 413],
  ])('reads each body before the transport does, and shows no stack trace: %s', async (_, type, body, status) => {
    const { url, issuer, server } = started();
    const token = mintToken(issuer.issuer, { claims: { aud: url, scope: 'notes:read' } });
    const headers = { ...bearer(token), 'content-type': type, accept: 'application/json, text/event-stream' };
    const response = await fetch(url, { method: 'POST', headers, body, keepalive: false });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toStartWith('application/json');
    expect(server.stderr() + (await response.text())).not.toContain('node_modules');
  });

  test('ends an event stream when its token expires', async () => {
    const id = await beginSession(send, 'ada');
    // On a slow machine, the token may expire before it is sent.
    for (let seconds = 1; ; seconds *= 2) {
      const exp = nowSeconds() + seconds;
      const stream = await send('ada', id, 'GET', exp);
      await stream.text().catch(() => {});
      if (stream.status === 401) continue;
      expect([stream.status, Date.now() >= exp * 1000]).toEqual([200, true]);
      break;
    }
    expect((await send('ada', id)).status).toBe(200);
  });
});
