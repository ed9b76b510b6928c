import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, type RunningProcess, run, untilReachable } from '../support/child-process.ts';

const SCOPE = 'mcp:tools';
const environment = { PATH: process.env.PATH ?? '' };
const fromHere = (path: string) => join(import.meta.dir, path);

describe('examples/mcp.ts', () => {
  let authorizationServer: AuthorizationServer;
  let example: RunningProcess;
  let issuer: string;
  let address: string;
  /** What the example sent with each 401 and 403 to the last client, in order. */
  let challenges: (string | null)[];

  beforeAll(async () => {
    const origin = `http://localhost:${await freePort()}`;
    address = `${origin}/mcp`;
    // Its audience is whatever resource a client asks a token for.
    authorizationServer = await startAuthorizationServer(['https://unnamed.example.test', 'RS256', SCOPE]);
    ({ issuer } = authorizationServer);
    const settings = { ...environment, ISSUER: issuer, PORT: new URL(origin).port };
    example = run([process.execPath, 'run', fromHere('../../examples/mcp.ts')], settings);
    await untilReachable(address, example);
  }, 120_000);
  afterAll(async () => {
    example.signal('SIGKILL');
    await Promise.all([authorizationServer.close(), example.finished]);
  });

  /** Connects a client that knows the address of the server and nothing else, and has it call the tool. */
  async function callTool(authProvider: OAuthClientProvider): Promise<unknown> {
    challenges = [];
    const transport = new StreamableHTTPClientTransport(new URL(address), {
      authProvider,
      async fetch(url, init) {
        const response = await fetch(url, init);
        if ([401, 403].includes(response.status)) challenges.push(response.headers.get('www-authenticate'));
        return response;
      },
    });
    const client = new Client({ name: 'test', version: '1.0.0' });
    try {
      await client.connect(transport as Parameters<typeof client.connect>[0]);
      return (await client.callTool({ name: 'whoami' })).content;
    } finally {
      await client.close();
    }
  }

  const credentials = (id: string, scope?: string) =>
    new ClientCredentialsProvider({
      clientId: id,
      clientSecret: `${id}-secret`,
      expectedIssuer: issuer,
      ...(scope !== undefined && { scope }),
    });

  test('a client finds the authorization server from a bare 401, gets a token for this resource and calls a tool', async () => {
    expect(await callTool(credentials('reader', SCOPE))).toEqual([{ type: 'text', text: 'reader' }]);
    const metadata = `${new URL(address).origin}/.well-known/oauth-protected-resource/mcp`;
    expect(challenges).toEqual([`Bearer resource_metadata="${metadata}"`]);
  });

  test('a client without the scope is told which one it needs', async () => {
    await expect(callTool(credentials('visitor'))).rejects.toThrow('403');
    expect(challenges[1]).toContain(`error="insufficient_scope"`);
    expect(challenges[1]).toContain(`scope="${SCOPE}"`);
  });

  test('a client of a person asks that person for the scope that is missing', async () => {
    const visitor = credentials('visitor');
    await expect(callTool(visitor)).rejects.toThrow('403');
    let asked: URL | undefined;
    const person: OAuthClientProvider = {
      redirectUrl: 'http://localhost/callback',
      clientMetadata: { redirect_uris: ['http://localhost/callback'] },
      clientInformation: () => ({ client_id: 'desktop' }),
      tokens: () => visitor.tokens(),
      saveTokens() {},
      saveCodeVerifier() {},
      codeVerifier: () => '',
      redirectToAuthorization(url) {
        asked = url;
      },
    };
    await expect(callTool(person)).rejects.toThrow(UnauthorizedError);
    expect(asked?.origin).toBe(issuer);
    expect(asked?.searchParams.get('scope')).toBe(SCOPE);
    expect(asked?.searchParams.get('resource')).toBe(address);
  });
});
