import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { ClientSecretBasic, clientCredentialsGrant } from 'openid-client';
import { type Role, startAuthorizationServer } from '../support/authorization-server.ts';
import type { Environment } from '../support/child-process.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { startedFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { AUDIENCE, bearer } from '../support/mint.ts';

/**
 * The script is in `servers/`; `settings` are set in addition to ISSUER, AUDIENCE and ALGORITHMS. The keys are
 * discovered.
 */
type Row = readonly [
  name: string,
  algorithm: string,
  script?: string,
  // Its metadata are appended to the issuer (the default), or where RFC 8414 has them.
  more?: { readonly settings?: Environment; readonly metadata?: 'oauth2' },
];

const rows: readonly Row[] = [
  ['oidc-provider', 'RS256'],
  ['oidc-provider', 'ES256'],
  ['oidc-provider', 'EdDSA'],
  ['Better Auth', 'EdDSA', 'better-auth.mjs', { metadata: 'oauth2' }],
  ['OpenAuth', 'ES256', 'open-auth.mjs', { settings: { SCOPE_CLAIM: '/properties/permissions' } }],
  ['oauth2-mock-server', 'RS256', 'mock-server.mjs'],
  ['oauth2-mock-server', 'PS256', 'mock-server.mjs'],
  ['oauth2-mock-server', 'ES256', 'mock-server.mjs'],
  ['oauth2-mock-server', 'ES384', 'mock-server.mjs'],
  ['oauth2-mock-server', 'EdDSA', 'mock-server.mjs'],
  ['Glewlwyd', 'RS256', 'glewlwyd.mjs'],
  ['Glewlwyd', 'ES256', 'glewlwyd.mjs'],
];

for (const [name, algorithm, script, more = {}] of rows) {
  describe(`${name} with ${algorithm}`, () => {
    const started = startedFor(
      async () => {
        const file = script && join(import.meta.dir, 'servers', script);
        const server = await startAuthorizationServer([AUDIENCE, algorithm], file);
        const settings = { ISSUER: server.issuer, AUDIENCE, ALGORITHMS: algorithm, ...more.settings };
        return { server, service: await sourceForm.start(settings) };
      },
      ({ server, service }) => Promise.all([service.close(), server.close()]),
    );

    /** Requests a token as a client does: from the metadata on, with client credentials, for this API. */
    async function requestToken(role: Role): Promise<string> {
      const { server } = started();
      if (server.tokens) return server.tokens[role];
      const { scope } = server.clients[role];
      const client = await server.discover(role, ClientSecretBasic, more.metadata);
      return (await clientCredentialsGrant(client, { resource: AUDIENCE, ...(scope && { scope }) })).access_token;
    }

    test.each(['reader', 'visitor'] as const)('issues a token for the %s with what is granted', async (role) => {
      const token = await requestToken(role);
      expect(decodeProtectedHeader(token).alg).toBe(algorithm);
      const get = (path: string) => started().service.fetch(path, { headers: bearer(token) });
      await expectMessage(await get('/api/private'));
      if (name === 'Better Auth') {
        const { status } = await fetch(`${started().server.issuer}/../../me`, { headers: bearer(token) });
        expect(status).toBe(role === 'reader' ? 200 : 403);
      }
      if (role === 'reader') await expectMessage(await get('/api/private-scoped'));
      else await expectError(await get('/api/private-scoped'), 403, 'Unauthorized');
    });
  });
}
