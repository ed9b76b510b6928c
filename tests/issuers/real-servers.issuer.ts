import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { ClientSecretBasic, clientCredentialsGrant } from 'openid-client';
import { type AuthorizationServer, type Role, startAuthorizationServer } from '../support/authorization-server.ts';
import type { Environment } from '../support/child-process.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE } from '../support/mint.ts';

/** For two processes, one of which loads a framework. */
setDefaultTimeout(180_000);

interface RealServer {
  readonly name: string;
  /** In `servers/`; oidc-provider without one. */
  readonly script?: string;
  /** What the server signs with. */
  readonly algorithm: string;
  /** What is set beside ISSUER, AUDIENCE and ALGORITHMS: where the keys are is found. */
  readonly settings?: Environment;
  /** Where the client finds its metadata: appended to the issuer (the default), or where RFC 8414 has them. */
  readonly metadata?: 'oauth2';
}

const servers: readonly RealServer[] = [
  { name: 'oidc-provider', algorithm: 'RS256' },
  { name: 'oidc-provider', algorithm: 'ES256' },
  { name: 'oidc-provider', algorithm: 'EdDSA' },
  { name: 'Better Auth', script: 'better-auth.mjs', algorithm: 'EdDSA', metadata: 'oauth2' },
  {
    name: 'OpenAuth',
    script: 'open-auth.mjs',
    algorithm: 'ES256',
    settings: { SCOPE_CLAIM: '/properties/permissions' },
  },
  { name: 'oauth2-mock-server', script: 'mock-server.mjs', algorithm: 'RS256' },
  { name: 'oauth2-mock-server', script: 'mock-server.mjs', algorithm: 'PS256' },
  { name: 'oauth2-mock-server', script: 'mock-server.mjs', algorithm: 'ES384' },
  { name: 'Glewlwyd', script: 'glewlwyd.mjs', algorithm: 'RS256' },
  { name: 'Glewlwyd', script: 'glewlwyd.mjs', algorithm: 'ES256' },
];

for (const { name, script, algorithm, settings, metadata } of servers) {
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
