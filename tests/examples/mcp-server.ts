import { expect } from 'bun:test';
import { join } from 'node:path';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, run, untilReachable } from '../support/child-process.ts';
import { requestToken } from '../support/development-issuer.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { bearer, nowSeconds } from '../support/mint.ts';
import { root } from '../support/repository.ts';

const scope = 'notes:read notes:write';

/** An authorization server of oidc-provider, whose audience is the resource that a client requests a token for. */
const oidcProvider = () => startAuthorizationServer(['https://unnamed.example.test', 'RS256', scope]);

/** The development issuer, as the README of the package has it. */
export async function developmentIssuer(audience: string) {
  const server = serve((request) => issuer.fetch(request));
  const clients = [{ id: 'reader', secret: 'reader-secret', scope }];
  const issuer = createDevelopmentIssuer({ issuer: `http://localhost:${server.port}/`, audience, clients });
  const reader = { clientId: 'reader', clientSecret: 'reader-secret' };
  return {
    issuer: issuer.options.issuer,
    close: () => server.stop(true),
    token: () => requestToken(issuer.options.issuer, audience, reader),
  };
}

/** The issuer of `examples/mcp-login.ts`, with which clients register themselves. */
export async function loginIssuer(_url?: string, SCOPE = scope) {
  const PORT = String(await freePort());
  const issuer = `http://localhost:${PORT}`;
  const server = run([process.execPath, 'run', join(root, 'examples/mcp-login.ts')], { PORT, SCOPE });
  await untilReachable(issuer, server);
  const close = async () => {
    server.signal('SIGKILL');
    await server.finished;
  };
  return { issuer, close, [Symbol.asyncDispose]: close };
}

interface AuthorizationServer {
  readonly issuer: string;
  close(): Promise<void>;
}

/**
 * Starts an MCP server of the examples, and an authorization server, whose clients know the URL of the MCP server only.
 */
export const mcpServer = <Started extends AuthorizationServer = Awaited<ReturnType<typeof oidcProvider>>>(
  example: string,
  startIssuer: (url: string) => Promise<Started> = oidcProvider as () => Promise<never>,
) =>
  startedFor(
    async () => {
      const PORT = String(await freePort());
      const url = `http://localhost:${PORT}/mcp`;
      const issuer = await startIssuer(url);
      const server = run([process.execPath, 'run', join(root, `examples/${example}.ts`)], {
        ISSUER: issuer.issuer,
        PORT,
      });
      await untilReachable(url, server);
      return { url, issuer, server };
    },
    ({ issuer, server }) => {
      server.signal('SIGKILL');
      return Promise.all([issuer.close(), server.finished]);
    },
  );

/** Sends a message to a server with sessions: the first one, or one in the session with this ID. */
export type SendMessage = (sub: string, id?: string, method?: string, exp?: number) => Promise<Response>;

/** Returns the function for a server, of which `send` gets the requests, and `mint` makes the tokens. */
export const sessionClient =
  (
    send: (init: RequestInit) => Promise<Response>,
    mint: (claims: { readonly sub: string; readonly exp: number; readonly scope: string }) => Promise<string> | string,
  ): SendMessage =>
  async (sub, id, method = 'POST', exp = nowSeconds() + 60) => {
    const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
    const message = id === undefined ? { method: 'initialize', params: initialize } : { method: 'tools/list' };
    const headers = {
      ...bearer(await mint({ sub, exp, scope: 'notes:read' })),
      accept: 'application/json, text/event-stream',
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(id !== undefined && { 'mcp-session-id': id }),
    };
    const body = method === 'POST' ? JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }) : null;
    return send({ method, headers, body, keepalive: false });
  };

/** Begins a session, and returns its ID. */
export const beginSession = async (send: SendMessage, sub: string) =>
  String((await send(sub)).headers.get('mcp-session-id'));

/** Checks that a session is found by the user who began it, and by nobody else, for each method. */
export async function expectOwnSessions(send: SendMessage): Promise<void> {
  const [ofAda, ofBob] = [await beginSession(send, 'ada'), await beginSession(send, 'bob')];
  for (const [sub, id, method, status] of [
    ['bob', ofAda, 'POST', 404],
    ['bob', ofAda, 'GET', 404],
    ['bob', ofAda, 'DELETE', 404],
    ['ada', 'unknown', 'POST', 404],
    ['ada', ofAda, 'POST', 200],
    ['bob', ofBob, 'POST', 200],
    ['ada', ofAda, 'DELETE', 200],
    ['ada', ofAda, 'POST', 404],
  ] as const)
    expect((await send(sub, id, method)).status, `${method} of ${sub}`).toBe(status);
}
