import { join } from 'node:path';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, run, untilReachable } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';

/** Starts an MCP server of the examples, and an authorization server whose clients know its URL and nothing else. */
export const mcpServer = (example: string) =>
  startedFor(
    async () => {
      const PORT = String(await freePort());
      const url = `http://localhost:${PORT}/mcp`;
      // Its audience is the resource that a client requests a token for.
      const issuer = await startAuthorizationServer([
        'https://unnamed.example.test',
        'RS256',
        'notes:read notes:write',
      ]);
      const script = join(import.meta.dir, `../../examples/${example}.ts`);
      const settings = { PATH: process.env.PATH ?? '', ISSUER: issuer.issuer, PORT };
      const server = run([process.execPath, 'run', script], settings);
      await untilReachable(url, server);
      return { url, issuer, server };
    },
    ({ issuer, server }) => {
      server.signal('SIGKILL');
      return Promise.all([issuer.close(), server.finished]);
    },
  );
