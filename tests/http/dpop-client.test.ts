import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  ClientSecretPost,
  type Configuration,
  clientCredentialsGrant,
  customFetch,
  discovery,
  fetchProtectedResource,
  getDPoPHandle,
  randomDPoPKeyPair,
} from 'openid-client';
import { type AuthorizationServer, overLoopback, startAuthorizationServer } from '../support/authorization-server.ts';
import { runToEnd } from '../support/child-process.ts';
import { type EmbeddedFixture, embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { AUDIENCE, SCOPE } from '../support/mint.ts';

const root = join(import.meta.dir, '../..');

interface Parts {
  readonly configuration: Configuration;
  readonly service: Service;
  readonly publicUrl: string;
  readonly audience: string;
}

/** A client of `openid-client` gets a token that is bound to a key of its own, uses it, and is then copied by a thief. */
function holds(parts: () => Promise<Parts>): void {
  for (const algorithm of ['ES256', 'Ed25519']) {
    test(`accepts what a real client sends with ${algorithm}, and nothing that is made of it`, async () => {
      const { configuration, service, publicUrl, audience } = await parts();
      const options = { DPoP: getDPoPHandle(configuration, await randomDPoPKeyPair(algorithm)) };
      const parameters = { audience, resource: audience, scope: SCOPE };
      const { access_token: token, token_type: type } = await clientCredentialsGrant(
        configuration,
        parameters,
        options,
      );
      expect(type).toBe('dpop');

      let sent = new Headers();
      configuration[customFetch] = (url, init) => {
        sent = new Headers(init.headers);
        // The proxy in front of the service keeps only the path of the address.
        return service.fetch(new URL(url).pathname, { method: init.method, headers: sent });
      };
      const url = new URL(`${publicUrl}/api/private-scoped`);
      const call = () => fetchProtectedResource(configuration, token, url, 'GET', undefined, undefined, options);
      const statuses = [(await call()).status, (await call()).status];
      expect(statuses).toEqual([200, 200]);

      const steal = async (path: string, overrides: Readonly<Record<string, string>> = {}) => {
        const headers = { ...Object.fromEntries(sent), ...overrides };
        return (await service.fetch(path, { headers })).headers.get('www-authenticate');
      };
      expect(await steal('/api/private-scoped')).toStartWith('DPoP error="invalid_dpop_proof"');
      expect(await steal('/api/private')).toStartWith('DPoP error="invalid_dpop_proof"');
      expect(await steal('/api/private', { dpop: '' })).toStartWith('DPoP error="invalid_dpop_proof"');
      expect(await steal('/api/private', { authorization: `Bearer ${token}` })).toStartWith(
        'Bearer error="invalid_token"',
      );
    });
  }
}

describe('oidc-provider and openid-client', () => {
  const publicUrl = 'https://api.example.test';
  let server: AuthorizationServer;
  let service: Service;

  beforeAll(async () => {
    server = await startAuthorizationServer();
    const { issuer } = server;
    const settings = { ISSUER: issuer, AUDIENCE, JWKS_URI: `${issuer}/jwks`, DPOP: 'on', PUBLIC_URL: publicUrl };
    service = await sourceForm.start(settings);
  }, sourceForm.startTimeoutMs);
  afterAll(async () => {
    await service.close();
    await server.close();
  });

  holds(async () => ({
    configuration: await server.discover('reader', ClientSecretPost),
    service,
    publicUrl,
    audience: AUDIENCE,
  }));
});

describe('the embedded issuer and openid-client', () => {
  const fixture = embeddedFixtureFor(sourceForm, { DPOP: 'on' });
  const configure = ({ issuer, reader }: EmbeddedFixture) =>
    discovery(new URL(issuer), reader.clientId, undefined, ClientSecretPost(reader.clientSecret), {
      ...overLoopback,
      algorithm: 'oauth2',
    });

  holds(async () => {
    const { issuer, audience, service } = fixture();
    return { configuration: await configure(fixture()), service, publicUrl: issuer.slice(0, -1), audience };
  });

  test('serve the client in docs/dpop.md, which is the one in examples/', async () => {
    const { issuer, reader } = fixture();
    const environment = { API: issuer.slice(0, -1), CLIENT_ID: reader.clientId, CLIENT_SECRET: reader.clientSecret };
    const { stdout, stderr } = await runToEnd([process.execPath, join(root, 'examples/dpop-client.ts')], environment);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^200 \{/), stderr: '' });
    const example = await Bun.file(join(root, 'examples/dpop-client.ts')).text();
    expect(await Bun.file(join(root, 'docs/dpop.md')).text()).toContain(`\`\`\`ts\n${example}\`\`\``);
  });

  test('issues no token for an invalid proof', async () => {
    const { service, reader, audience } = fixture();
    const parameters = {
      grant_type: 'client_credentials',
      client_id: reader.clientId,
      client_secret: reader.clientSecret,
    };
    const response = await service.fetch('/oauth/token', {
      method: 'POST',
      headers: { dpop: 'x' },
      body: new URLSearchParams({ ...parameters, audience }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: 'invalid_dpop_proof' });
  });
});
