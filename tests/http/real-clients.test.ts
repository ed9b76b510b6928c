import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { runToEnd } from '../support/child-process.ts';
import { developmentFixtureFor } from '../support/development-issuer.ts';
import { executableForm } from '../support/forms.ts';
import { AUDIENCE, bearer, SCOPE } from '../support/mint.ts';
import { root } from '../support/repository.ts';

describe.each([{}, { DPOP_NONCE_SECRET: 'n'.repeat(32) }])('a service behind oidc-provider with %p', async (nonces) => {
  const PUBLIC_URL = 'https://api.example.test';
  const server = await startAuthorizationServer();
  // It names itself without a trailing slash and keeps its keys elsewhere.
  const settings = { ISSUER: server.issuer, AUDIENCE, JWKS_URI: `${server.issuer}/jwks` };
  const service = await executableForm.start({ ...settings, DPOP: 'on', PUBLIC_URL, ...nonces });
  afterAll(() => Promise.all([service.close(), server.close()]));

  test.each(['ES256', 'Ed25519'])(
    'accepts what openid-client sends with %s, but no replay of it',
    async (algorithm) => {
      const configuration = await server.discover('reader', openid.ClientSecretPost);
      const options = { DPoP: openid.getDPoPHandle(configuration, await openid.randomDPoPKeyPair(algorithm)) };
      const parameters = { resource: AUDIENCE, scope: SCOPE };
      const { access_token: token } = await openid.clientCredentialsGrant(configuration, parameters, options);

      let sent = new Headers();
      configuration[openid.customFetch] = (url, init) => {
        sent = new Headers(init.headers);
        // The proxy in front of the service keeps only the path of the URL.
        return service.fetch(new URL(url).pathname, { method: init.method, headers: sent });
      };
      const url = new URL(`${PUBLIC_URL}/api/private-scoped`);
      const call = () => openid.fetchProtectedResource(configuration, token, url, 'GET', undefined, undefined, options);
      expect([(await call()).status, (await call()).status]).toEqual([200, 200]);
      expect(sent.get('authorization')).toBe(`DPoP ${token}`);

      for (const [path, changed, challenge] of [
        ['/api/private-scoped', {}, 'DPoP error="invalid_dpop_proof"'],
        ['/api/private', {}, 'DPoP error="invalid_dpop_proof"'],
        ['/api/private', { dpop: '' }, 'DPoP error="invalid_dpop_proof"'],
        ['/api/private', bearer(token), 'DPoP error="invalid_token"'],
      ] as const) {
        const stolen = await service.fetch(path, { headers: { ...Object.fromEntries(sent), ...changed } });
        expect(stolen.headers.get('www-authenticate')).toStartWith(challenge);
      }
    },
  );
});

describe('a service with the development issuer', () => {
  const fixture = developmentFixtureFor(executableForm, { DPOP: 'on' });

  test('serves the client in examples/, which docs/guides/dpop.md starts', async () => {
    const { issuer, reader } = fixture();
    const environment = { API: issuer.slice(0, -1), CLIENT_ID: reader.clientId, CLIENT_SECRET: reader.clientSecret };
    const { stdout, stderr } = await runToEnd([process.execPath, join(root, 'examples/dpop-client.ts')], environment);
    expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^200 \{/), stderr: '' });
  });

  test('leads a client of oauth4webapi that knows only the URL of the API from a 401 to a 200', async () => {
    /** Loopback has no certificate. */
    const overHttp = { [oauth.allowInsecureRequests]: true };
    const { issuer: origin, reader } = fixture();
    const url = new URL('/api/private-scoped', origin);
    const get = (token: string) => oauth.protectedResourceRequest(token, 'GET', url, undefined, undefined, overHttp);

    const rejected = await get('none').catch((error: unknown) => error);
    if (!(rejected instanceof oauth.WWWAuthenticateChallengeError)) throw new Error('There was no challenge');
    const metadataUrl = rejected.cause[0]?.parameters.resource_metadata ?? '';
    const resource = new URL(metadataUrl.replace('/.well-known/oauth-protected-resource', ''));
    const found = await oauth.resourceDiscoveryRequest(resource, overHttp);
    expect(found.url).toBe(metadataUrl);
    const metadata = await oauth.processResourceDiscoveryResponse(resource, found);

    const issuer = new URL(metadata.authorization_servers?.[0] ?? '');
    const discovered = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...overHttp });
    const server = await oauth.processDiscoveryResponse(issuer, discovered);
    const client = { client_id: reader.clientId };
    const secret = oauth.ClientSecretPost(reader.clientSecret);
    const parameters = { resource: metadata.resource, scope: metadata.scopes_supported?.join(' ') ?? '' };
    const granted = await oauth.clientCredentialsGrantRequest(server, client, secret, parameters, overHttp);
    const { access_token: token } = await oauth.processClientCredentialsResponse(server, client, granted);
    expect((await get(token)).status).toBe(200);
  });
});
