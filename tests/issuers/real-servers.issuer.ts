import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
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
const START_TIMEOUT_MS = 180_000;

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
  ...['RS256', 'ES256', 'EdDSA'].map((algorithm) => ({
    name: 'oidc-provider',
    algorithm,
  })),
  { name: 'Better Auth', script: 'better-auth.mjs', algorithm: 'EdDSA', metadata: 'oauth2' },
  {
    name: 'OpenAuth',
    script: 'open-auth.mjs',
    algorithm: 'ES256',
    settings: { SCOPE_CLAIM: '/properties/permissions' },
  },
  ...['RS256', 'PS256', 'ES384'].map((algorithm) => ({
    name: 'oauth2-mock-server',
    script: 'mock-server.mjs',
    algorithm,
  })),
  ...['RS256', 'ES256'].map((algorithm) => ({ name: 'Glewlwyd', script: 'glewlwyd.mjs', algorithm })),
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
      server = await startAuthorizationServer(
        [AUDIENCE, algorithm],
        script && join(import.meta.dir, 'servers', script),
      );
      service = await sourceForm.start({ ISSUER: server.issuer, AUDIENCE, ALGORITHMS: algorithm, ...settings });
    }, START_TIMEOUT_MS);

    afterAll(async () => {
      await service?.close();
      await server?.close();
    }, START_TIMEOUT_MS);

    test('signs with this algorithm', async () => {
      const { alg } = decodeProtectedHeader(await requestToken('reader'));
      expect(alg).toBe(algorithm);
    });

    test('issues a token with the scope that is accepted everywhere', async () => {
      const headers = bearer(await requestToken('reader'));
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
