import { describe, expect, test } from 'bun:test';
import {
  Client,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { protectMcp } from 'protected-api/mcp';
import { createGuardCore } from '../../../src/auth/guard/core.ts';
import { guardOf } from '../../../src/auth/guard/guard.ts';
import { browse, callback, startAuthorizationServer } from '../../support/authorization-server.ts';
import { freePort } from '../../support/child-process.ts';
import { startedFor } from '../../support/fixture.ts';

/**
 * Longer than the tokens of oidc-provider that come from a login live. Those that come from a refresh are as new as the
 * clock.
 */
const hour = 3_600_000;

describe('a client whose token expires, with protectMcp() and a real authorization server', () => {
  const clock = { aheadMs: 0 };
  const started = startedFor(
    async () => {
      const port = await freePort();
      const publicUrl = `http://localhost:${port}`;
      const resource = `${publicUrl}/mcp`;
      const issuer = await startAuthorizationServer([resource, 'RS256', 'notes:read']);
      const options = { issuer: issuer.issuer, audience: resource, publicUrl, resource };
      const guard = guardOf(createGuardCore(options, { now: () => Date.now() + clock.aheadMs }));
      const handler = createMcpHandler(() => {
        const tools = new McpServer({ name: 'test', version: '1.0.0' });
        tools.registerTool('whoami', {}, ({ http }) => {
          const { sub } = Object(http?.authInfo?.extra?.claims);
          return { content: [{ type: 'text', text: String(sub) }] };
        });
        return tools;
      });
      const mcp = protectMcp(guard, { scope: 'notes:read' }, (request, { authInfo, message }) =>
        handler.fetch(request, { authInfo, parsedBody: message }),
      );
      return { resource, issuer, server: Bun.serve({ port, fetch: mcp }) };
    },
    async ({ issuer, server }) => void (await Promise.all([issuer.close(), server.stop(true)])),
  );

  test.each([
    ['1', FirstClient, FirstTransport],
    ['2', Client, StreamableHTTPClientTransport],
  ])(
    'refreshes it with SDK %s, also for several calls at once, and asks for no login',
    async (_, SomeClient, Transport) => {
      clock.aheadMs = 0;
      const { id: client_id, secret: client_secret } = started().issuer.clients.reader;
      const kept: { tokens: OAuthTokens[]; pages: URL[]; verifier?: string; discovery?: OAuthDiscoveryState } = {
        tokens: [],
        pages: [],
      };
      const authProvider: OAuthClientProvider = {
        redirectUrl: callback,
        clientMetadata: { redirect_uris: [callback] },
        clientInformation: () => ({ client_id, client_secret }),
        tokens: () => kept.tokens.at(-1),
        saveTokens: (tokens) => void kept.tokens.push(tokens),
        redirectToAuthorization: (page) => void kept.pages.push(page),
        saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
        codeVerifier: () => kept.verifier ?? '',
        saveDiscoveryState: (discovery) => void Object.assign(kept, { discovery }),
        discoveryState: () => kept.discovery,
      };
      // The issuer is asked only once every call has got its 401: a client of SDK 1 throws at a later one.
      let awaited = { missing: 0, all: Promise.withResolvers<void>() };
      const send = async (url: string | URL, init?: RequestInit) => {
        if (String(url) !== started().resource && awaited.missing > 0) await awaited.all.promise;
        const response = await fetch(url, { ...init, keepalive: false });
        if (response.status === 401 && --awaited.missing === 0) awaited.all.resolve();
        return response;
      };
      const start = () => {
        const client = new SomeClient({ name: 'test', version: '1.0.0' });
        const transport = new Transport(new URL(started().resource), {
          authProvider: authProvider as never,
          fetch: send,
        });
        return { client, transport, connected: client.connect(transport as never) };
      };
      const first = start();
      await expect(first.connected).rejects.toThrow('Unauthorized');
      const returned = new URL((await browse(kept.pages[0] ?? '')).headers.get('location') ?? '').searchParams;
      await first.transport.finishAuth(String(returned.get('code')), String(returned.get('iss')));
      const { client, connected } = start();
      await connected;
      const whoami = async () => (await client.callTool({ name: 'whoami' })).content;
      expect(await whoami()).toEqual([{ type: 'text', text: 'ada' }]);
      expect(kept.tokens).toHaveLength(1);
      clock.aheadMs = hour + 60_000;
      awaited = { missing: 3, all: Promise.withResolvers() };
      const results = await Promise.all([1, 2, 3].map(whoami));
      expect(results).toEqual(results.map(() => [{ type: 'text', text: 'ada' }]));
      expect(kept.tokens.length).toBeGreaterThan(1);
      expect(kept.pages).toHaveLength(1);
      await client.close();
    },
  );
});
