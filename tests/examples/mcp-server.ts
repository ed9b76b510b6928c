import { join } from 'node:path';
import { createDevelopmentIssuer } from 'protected-api/testing';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, run, untilReachable } from '../support/child-process.ts';
import { requestToken } from '../support/development-issuer.ts';
import { serve, startedFor } from '../support/fixture.ts';
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
export async function loginIssuer() {
  const PORT = String(await freePort());
  const issuer = `http://localhost:${PORT}`;
  const server = run([process.execPath, 'run', join(root, 'examples/mcp-login.ts')], { PORT });
  await untilReachable(issuer, server);
  return {
    issuer,
    async close() {
      server.signal('SIGKILL');
      await server.finished;
    },
  };
}

interface AuthorizationServer {
  readonly issuer: string;
  close(): Promise<void>;
}

/** Starts an MCP server of the examples, and an authorization server, whose clients know the URL of the MCP server only. */
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
