import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  allowInsecureRequests,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrant,
  discovery,
} from 'openid-client';
import { type RunningProcess, run, until } from '../support/child-process.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm, type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';

const script = join(import.meta.dir, '../support/authorization-server.mjs');
/** Loopback has no certificate. */
const overHttp = { execute: [allowInsecureRequests] };

async function expectStatuses(service: Service, token: string, hasScope: boolean): Promise<void> {
  const headers = bearer(token);
  await expectMessage(await service.fetch('/api/private', { headers }));
  const scoped = await service.fetch('/api/private-scoped', { headers });
  if (hasScope) await expectMessage(scoped);
  else await expectError(scoped, 403, 'Unauthorized');
}

for (const form of [sourceForm, executableForm]) {
  describe(`${form.name} behind a real authorization server`, () => {
    let server: RunningProcess;
    let issuer: string;
    let service: Service;

    beforeAll(async () => {
      server = run([process.execPath, script, AUDIENCE], { PATH: process.env.PATH ?? '' });
      await until(() => server.stdout().includes('\n'), 'the authorization server');
      ({ issuer } = JSON.parse(server.stdout()) as { issuer: string });
      // It names itself without a trailing slash and keeps its keys elsewhere.
      service = await form.start({ ISSUER: issuer, AUDIENCE, JWKS_URI: `${issuer}/jwks` });
    }, form.startTimeoutMs);

    afterAll(async () => {
      await service.close();
      server.signal('SIGKILL');
      await server.finished;
    }, form.startTimeoutMs);

    const getToken = async (clientId: string, scope?: string) => {
      const client = await discovery(new URL(issuer), clientId, `${clientId}-secret`, ClientSecretBasic(), overHttp);
      return clientCredentialsGrant(client, { resource: AUDIENCE, ...(scope && { scope }) });
    };

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
            { ...overHttp, algorithm: 'oauth2' },
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
