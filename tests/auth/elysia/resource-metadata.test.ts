import { describe, expect, test } from 'bun:test';
import {
  allowInsecureRequests,
  type Client,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  discoveryRequest,
  processClientCredentialsResponse,
  processDiscoveryResponse,
  processResourceDiscoveryResponse,
  protectedResourceRequest,
  resourceDiscoveryRequest,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi';
import { embeddedFixtureFor } from '../../support/embedded-issuer.ts';
import { challengeOf, expectCrossOrigin } from '../../support/expect-error.ts';
import { executableForm, sourceForm } from '../../support/forms.ts';
import { inProcessForm } from '../../support/in-process.ts';
import { AUDIENCE, SCOPE } from '../../support/mint.ts';

const ISSUER = 'https://issuer.example.test/';
const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** Loopback has no certificate. */
const overHttp = { [allowInsecureRequests]: true };

async function start(settings: Readonly<Record<string, string>>) {
  const service = await inProcessForm.start({ ISSUER, AUDIENCE, ...settings });
  return { get: (path: string, init?: RequestInit) => service.fetch(path, init), close: () => service.close() };
}

describe('the metadata of the protected resource', () => {
  for (const [publicUrl, resource, path] of [
    ['https://api.example.test', 'https://api.example.test', WELL_KNOWN],
    ['https://api.example.test/', 'https://api.example.test', WELL_KNOWN],
    ['https://api.example.test:8443', 'https://api.example.test:8443', WELL_KNOWN],
    ['https://api.example.test/base', 'https://api.example.test/base', `${WELL_KNOWN}/base`],
    ['https://api.example.test/a/b/', 'https://api.example.test/a/b', `${WELL_KNOWN}/a/b`],
  ] as const) {
    test(`of ${publicUrl} is where and what RFC 9728 says`, async () => {
      const { get, close } = await start({ PUBLIC_URL: publicUrl });
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('application/json');
      expectCrossOrigin(response);
      expect(await response.json()).toEqual({
        resource,
        authorization_servers: [ISSUER],
        scopes_supported: expect.arrayContaining([SCOPE]),
        bearer_methods_supported: ['header'],
        resource_documentation: `${resource}/openapi`,
      });
      if (path !== WELL_KNOWN) expect((await get(WELL_KNOWN)).status).toBe(404);
      await close();
    });

    test(`of ${publicUrl} is named in every challenge`, async () => {
      const { get, close } = await start({ PUBLIC_URL: publicUrl });
      for (const authorization of ['', 'Basic x', 'Bearer', 'Bearer x']) {
        const response = await get('/api/private', { headers: { authorization } });
        const { resource_metadata: named } = challengeOf(response);
        expect(named).toBe(`${new URL(publicUrl).origin}${path}`);
      }
      await close();
    });
  }

  for (const { mode, said } of [
    { mode: 'off', said: [false, undefined] },
    { mode: 'on', said: [true, undefined] },
    { mode: 'required', said: [true, true] },
  ])
    test(`says what DPOP=${mode} accepts and requires`, async () => {
      const { get, close } = await start({ PUBLIC_URL: 'https://api.example.test', DPOP: mode });
      const metadata = (await (await get(WELL_KNOWN)).json()) as Record<string, unknown>;
      const { dpop_signing_alg_values_supported: algorithms, dpop_bound_access_tokens_required: isRequired } = metadata;
      expect([algorithms !== undefined, isRequired]).toEqual(said);
      await close();
    });

  test('does not mention a disabled documentation', async () => {
    const { get, close } = await start({ PUBLIC_URL: 'https://api.example.test', DOCS: 'false' });
    expect(await (await get(WELL_KNOWN)).json()).not.toHaveProperty('resource_documentation');
    await close();
  });

  test('is not there without PUBLIC_URL, and challenges do not name it', async () => {
    const { get, close } = await start({});
    expect((await get(WELL_KNOWN)).status).toBe(404);
    expect(challengeOf(await get('/api/private'))).toEqual({});
    await close();
  });
});

for (const form of [sourceForm, executableForm]) {
  describe(`a client that knows only an address of ${form.name}`, () => {
    const fixture = embeddedFixtureFor(form);

    /** Goes from a 401 to a token, as RFC 9728 §5 has it; only the credentials are known beforehand. */
    async function findToken(address: URL, { clientId, clientSecret }: { clientId: string; clientSecret: string }) {
      const refused = await protectedResourceRequest('none', 'GET', address, undefined, undefined, overHttp).catch(
        (error: unknown) => error,
      );
      if (!(refused instanceof WWWAuthenticateChallengeError)) throw new Error('There was no challenge');
      expect(refused.status).toBe(401);
      const metadataAddress = refused.cause[0]?.parameters.resource_metadata ?? '';

      const resource = new URL(metadataAddress.replace(WELL_KNOWN, ''));
      const found = await resourceDiscoveryRequest(resource, overHttp);
      expect(found.url).toBe(metadataAddress);
      const metadata = await processResourceDiscoveryResponse(resource, found);

      const issuer = new URL(metadata.authorization_servers?.[0] ?? '');
      const server = await processDiscoveryResponse(
        issuer,
        await discoveryRequest(issuer, { algorithm: 'oauth2', ...overHttp }),
      );
      const client: Client = { client_id: clientId };
      const { scopes_supported: scopes = [] } = metadata;
      const grant = await clientCredentialsGrantRequest(
        server,
        client,
        ClientSecretPost(clientSecret),
        { resource: metadata.resource, scope: scopes.join(' ') },
        overHttp,
      );
      return (await processClientCredentialsResponse(server, client, grant)).access_token;
    }

    test('discovers the issuer, gets a token and succeeds', async () => {
      const address = new URL('/api/private-scoped', fixture().issuer);
      const token = await findToken(address, fixture().reader);
      const response = await protectedResourceRequest(token, 'GET', address, undefined, undefined, overHttp);
      expect(response.status).toBe(200);
    });
  });
}
