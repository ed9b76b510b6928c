import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { decodeProtectedHeader } from 'jose';
import { allowInsecureRequests, ClientSecretBasic, clientCredentialsGrant, discovery } from 'openid-client';
import { type Environment, type RunningProcess, run, until } from '../support/child-process.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE } from '../support/mint.ts';

interface Client {
  readonly id: string;
  readonly secret: string;
  readonly scope?: string;
}

/** What a server's script prints once it listens. */
interface Announcement {
  readonly issuer: string;
  readonly clients?: Readonly<Record<Role, Client>>;
  readonly tokens?: Readonly<Record<Role, string>>;
}

/** The reader is granted `read:messages`, the visitor is not. */
type Role = 'reader' | 'visitor';

interface RealServer {
  readonly name: string;
  readonly script: string;
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
    script: '../support/authorization-server.mjs',
    algorithm,
  })),
  { name: 'Better Auth', script: 'servers/better-auth.mjs', algorithm: 'EdDSA', metadata: 'oauth2' },
  {
    name: 'OpenAuth',
    script: 'servers/open-auth.mjs',
    algorithm: 'ES256',
    settings: { SCOPE_CLAIM: '/properties/permissions' },
  },
  ...['RS256', 'PS256', 'ES384'].map((algorithm) => ({
    name: 'oauth2-mock-server',
    script: 'servers/mock-server.mjs',
    algorithm,
  })),
  ...['RS256', 'ES256'].map((algorithm) => ({ name: 'Glewlwyd', script: 'servers/glewlwyd.mjs', algorithm })),
];

/** Requests a token as a client does: from the metadata on, with client credentials, for this API. */
async function requestToken(
  { issuer, clients, tokens }: Announcement,
  role: Role,
  algorithm: RealServer['metadata'] | 'oidc' = 'oidc',
): Promise<string> {
  const client = clients?.[role];
  if (!client) return tokens?.[role] ?? '';
  const configuration = await discovery(
    new URL(issuer),
    client.id,
    client.secret,
    ClientSecretBasic(client.secret),
    // Loopback has no certificate.
    { execute: [allowInsecureRequests], algorithm },
  );
  const parameters = { resource: AUDIENCE, ...(client.scope && { scope: client.scope }) };
  return (await clientCredentialsGrant(configuration, parameters)).access_token;
}

for (const { name, script, algorithm, settings, metadata } of servers) {
  describe(`${name} with ${algorithm}`, () => {
    let server: RunningProcess;
    let announcement: Announcement;
    let service: Service;

    beforeAll(async () => {
      const command = [process.execPath, join(import.meta.dir, script), AUDIENCE, algorithm];
      server = run(command, { PATH: process.env.PATH ?? '' });
      await until(() => server.stdout().includes('\n'), name);
      announcement = JSON.parse(server.stdout());
      service = await sourceForm.start({
        ISSUER: announcement.issuer,
        AUDIENCE,
        ALGORITHMS: algorithm,
        ...settings,
      });
    }, sourceForm.startTimeoutMs);

    afterAll(async () => {
      await service?.close();
      server?.signal('SIGKILL');
      await server?.finished;
    }, sourceForm.startTimeoutMs);

    test('signs with this algorithm', async () => {
      const { alg } = decodeProtectedHeader(await requestToken(announcement, 'reader', metadata));
      expect(alg).toBe(algorithm);
    });

    test('issues a token with the scope that is accepted everywhere', async () => {
      const headers = bearer(await requestToken(announcement, 'reader', metadata));
      await expectMessage(await service.fetch('/api/private', { headers }));
      await expectMessage(await service.fetch('/api/private-scoped', { headers }));
    });

    test('issues a token without the scope that is refused where the scope is required', async () => {
      const headers = bearer(await requestToken(announcement, 'visitor', metadata));
      await expectMessage(await service.fetch('/api/private', { headers }));
      await expectError(await service.fetch('/api/private-scoped', { headers }), 403, 'Unauthorized');
    });
  });
}
