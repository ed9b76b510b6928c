import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ClientSecretBasic, ClientSecretPost, clientCredentialsGrant, discovery } from 'openid-client';
import {
  type AuthorizationServer,
  overLoopback,
  type Role,
  startAuthorizationServer,
} from '../support/authorization-server.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';

async function expectStatuses(service: Service, token: string, hasScope: boolean): Promise<void> {
  const headers = bearer(token);
  await expectMessage(await service.fetch('/api/private', { headers }));
  const scoped = await service.fetch('/api/private-scoped', { headers });
  if (hasScope) await expectMessage(scoped);
  else await expectError(scoped, 403, 'Unauthorized');
}

for (const form of [sourceForm, executableForm]) {
  describe(`${form.name} behind a real authorization server`, () => {
    let server: AuthorizationServer;
    let service: Service;

    beforeAll(async () => {
      server = await startAuthorizationServer();
      // It names itself without a trailing slash and keeps its keys elsewhere.
      service = await form.start({ ISSUER: server.issuer, AUDIENCE, JWKS_URI: `${server.issuer}/jwks` });
    }, form.startTimeoutMs);

    afterAll(async () => {
      await service.close();
      await server.close();
    }, form.startTimeoutMs);

    const getToken = async (role: Role, scope?: string) =>
      clientCredentialsGrant(await server.discover(role), { resource: AUDIENCE, ...(scope && { scope }) });

    test('accepts the token that a client got with the scope, everywhere', async () => {
      const { access_token: token } = await getToken('reader', SCOPE);
      await expectStatuses(service, token, true);
    });

    test('rejects a token without the scope where the scope is required', async () => {
      const { access_token: token } = await getToken('visitor');
      await expectStatuses(service, token, false);
    });

    test('rejects a token without the scope of a client that could have requested it', async () => {
      const { access_token: token } = await getToken('reader');
      await expectStatuses(service, token, false);
    });
  });

  describe(`${form.name} with its embedded issuer`, () => {
    const fixture = embeddedFixtureFor(form);

    for (const [method, authenticate] of [
      ['client_secret_post', ClientSecretPost],
      ['client_secret_basic', ClientSecretBasic],
    ] as const) {
      for (const role of ['reader', 'visitor'] as const) {
        test(`satisfies a real client from discovery on, as ${role} by ${method}`, async () => {
          const { issuer, audience, service, [role]: credentials } = fixture();
          const client = await discovery(
            new URL(issuer),
            credentials.clientId,
            undefined,
            authenticate(credentials.clientSecret),
            { ...overLoopback, algorithm: 'oauth2' },
          );
          expect(client.serverMetadata().issuer).toBe(issuer);
          const { access_token: token, expires_in: lifetime } = await clientCredentialsGrant(client, { audience });
          expect(lifetime).toBeGreaterThan(0);
          await expectStatuses(service, token, role === 'reader');
        });
      }
    }
  });
}
