import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { ClientSecretBasic, clientCredentialsGrant } from 'openid-client';
import { type AuthorizationServer, type Role, startAuthorizationServer } from '../support/authorization-server.ts';
import type { Environment } from '../support/child-process.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE, bearer } from '../support/mint.ts';

/** The script is in `servers/`; `settings` are set beside ISSUER, AUDIENCE and ALGORITHMS: where the keys are is found. */
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
  ['oauth2-mock-server', 'ES384', 'mock-server.mjs'],
  ['Glewlwyd', 'RS256', 'glewlwyd.mjs'],
  ['Glewlwyd', 'ES256', 'glewlwyd.mjs'],
];

for (const [name, algorithm, script, { settings, metadata } = {}] of rows) {
  describe(`${name} with ${algorithm}`, () => {
    let server: AuthorizationServer;
    let service: Service;

    /** Requests a token as a client does: from the metadata on, with client credentials, for this API. */
    async function requestToken(role: Role): Promise<string> {
      if (server.tokens) return server.tokens[role];
      const { scope } = server.clients[role];
      const client = await server.discover(role, ClientSecretBasic, metadata);
      return (await clientCredentialsGrant(client, { resource: AUDIENCE, ...(scope && { scope }) })).access_token;
    }

    beforeAll(async () => {
      const file = script && join(import.meta.dir, 'servers', script);
      server = await startAuthorizationServer([AUDIENCE, algorithm], file);
      service = await sourceForm.start({ ISSUER: server.issuer, AUDIENCE, ALGORITHMS: algorithm, ...settings });
    });

    afterAll(async () => {
      await service?.close();
      await server?.close();
    });

    test('issues a token with this algorithm and the scope that is accepted everywhere', async () => {
      const token = await requestToken('reader');
      expect(decodeProtectedHeader(token).alg).toBe(algorithm);
      const headers = bearer(token);
      await expectMessage(await service.fetch('/api/private', { headers }));
      await expectMessage(await service.fetch('/api/private-scoped', { headers }));
    });

    test('issues a token without the scope that is refused where the scope is required', async () => {
      const headers = bearer(await requestToken('visitor'));
      await expectMessage(await service.fetch('/api/private', { headers }));
      await expectError(await service.fetch('/api/private-scoped', { headers }), 403, 'Unauthorized');
    });
  });
}
