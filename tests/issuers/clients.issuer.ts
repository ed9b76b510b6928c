import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createGuard } from 'protected-api';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { runToEnd } from '../support/child-process.ts';
import { serve, startedFor } from '../support/fixture.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { goClient, python } from './cache.ts';
import { realServers } from './servers/real.ts';
import { startServer } from './servers/start.ts';

/*
 * Clients that nobody here wrote, in other languages: each gets a token of a real server, calls an API behind a guard,
 * and reports the status and the challenge that it read.
 */

const isBrief = process.env.CI === 'true' && !isNight;
const folder = join(import.meta.dir, 'clients');

const clients = [
  {
    name: 'Authlib (Python)',
    needs: 'python3',
    command: async () => [await python(), join(folder, 'python/client.py')],
  },
  { name: 'golang.org/x/oauth2 (Go)', needs: 'go', command: async () => [await goClient()] },
];

/** Servers that give the reader a token for the API unasked, and where their token endpoints are. */
const servers = [
  { name: 'oidc-provider', needs: [], endpoint: '/token', run: () => startAuthorizationServer([AUDIENCE]) },
  ...realServers
    .filter(({ name }) => /^(?:Authlib|Spring)/.test(name))
    .map((server) => ({
      ...server,
      endpoint: server.name.startsWith('Spring') ? '/oauth2/token' : '/token',
      run: () => startServer(server),
    })),
];

const pairs = servers.flatMap((server) => clients.map((client) => ({ server, ...client })));
for (const { server, name, needs, command } of pairs) {
  const missing = [needs, ...server.needs].filter((program) => !Bun.which(program));
  if (isBrief || missing.length > 0) {
    process.stdout.write(`NOT CHECKED: ${name} with ${server.name}: it runs at night, and needs ${needs}\n`);
    continue;
  }
  describe(`${name} with ${server.name}`, () => {
    const started = startedFor(
      async () => {
        const { issuer, close: stop } = await server.run();
        const guard = createGuard({ issuer, audience: AUDIENCE, publicUrl: 'https://api.example.com' });
        const api = serve(async (request) => {
          const result = await guard.check(request, { scope: SCOPE });
          return result instanceof Response ? result : Response.json({});
        });
        const close = async () => {
          guard.stop();
          await Promise.all([stop(), api.stop(true)]);
        };
        return { endpoint: issuer + server.endpoint, api: api.url.href, close };
      },
      ({ close }) => close(),
    );
    test.each([
      ['the scope', SCOPE, 200, null],
      ['no scope', '', 403, expect.stringContaining(`error="insufficient_scope"`)],
    ])('calls the API with a token with %s', async (_, scope, status, challenge) => {
      const { endpoint, api } = started();
      const { stdout, stderr } = await runToEnd([...(await command()), endpoint, api, scope]);
      expect(stderr).toBe('');
      const told: { readonly challenge: string | null } = JSON.parse(stdout);
      expect<object>({ ...told, challenge: told.challenge || null }).toEqual({ status, challenge });
    });
  });
}
