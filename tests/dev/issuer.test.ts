import { describe, expect, test } from 'bun:test';
import { auth, ClientCredentialsProvider } from '@modelcontextprotocol/client';
import { createIssuerRoutes } from '../../src/app.ts';
import { createServiceIssuer } from '../../src/dev/issuer.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import { developmentFixtureFor } from '../support/development-issuer.ts';
import { expectCrossOrigin, expectError } from '../support/expect-error.ts';
import { sourceForm } from '../support/forms.ts';
import { bearer, SCOPE } from '../support/mint.ts';

const ORIGIN = 'http://127.0.0.1:3010';
const PUBLIC_URL = 'https://api.example.test/v1';
const parameters = { grant_type: 'client_credentials', client_id: 'reader' };
const scopes = ['read:messages'];
const issuer = createServiceIssuer(ORIGIN, () => scopes);
const secrets = new Map(issuer.clients.map(({ id, secret }) => [id, secret]));
const routes = createIssuerRoutes(issuer);

/** tests/auth/testing/development-issuer.test.ts has every request that a token endpoint accepts or rejects. */
test('createServiceIssuer() grants the reader each scope that the routes have at the time, and the visitor none', async () => {
  const grant = async (id: string) => {
    const body = JSON.stringify({ ...parameters, client_id: id, client_secret: secrets.get(id) });
    const headers = { 'content-type': 'application/json' };
    const response = await routes.handle(new Request(`${ORIGIN}/oauth/token`, { method: 'POST', body, headers }));
    expect(response.status).toBe(200);
    return ((await response.json()) as { readonly scope?: string }).scope;
  };
  scopes.push('write:messages');
  expect(await grant('reader')).toBe('read:messages write:messages');
  expect(await grant('visitor')).toBeUndefined();
  expect(issuer.clients.map(({ scope }) => scope)).toEqual(['read:messages write:messages', '']);
  const metadata = await routes.handle(new Request(`${ORIGIN}/.well-known/oauth-authorization-server`));
  expect(await metadata.json()).toMatchObject({ scopes_supported: scopes });
  scopes.pop();
});

/**
 * DNS rebinding: a website points its own name at this machine. tests/auth/testing/development-issuer.test.ts has every
 * host.
 */
describe.each([
  ['the development issuer', {}, ['localhost', '[::1]:3010'], ['api.example.test', 'evil.test']],
  ['a PUBLIC_URL', { PUBLIC_URL }, ['localhost', 'api.example.test'], ['evil.test']],
])('the service with %s', (_name, settings, trusted, others) => {
  const fixture = developmentFixtureFor(sourceForm, settings);
  test.each([...trusted, ...others])('serves secrets and tokens to the Host %j only if it is trusted', async (host) => {
    const { service, reader } = fixture();
    const status = trusted.includes(host) ? 200 : 421;
    const headers = { host };
    const body = new URLSearchParams({ ...parameters, client_secret: reader.clientSecret });
    const token = await service.fetch('/oauth/token', { method: 'POST', body, headers });
    expect([token.status, (await token.text()).includes('access_token')]).toEqual([status, status === 200]);
    const page = await service.fetch('/openapi', { headers });
    expect([page.status, (await page.text()).includes(reader.clientSecret)]).toEqual([status, status === 200]);
    for (const path of ['/.well-known/jwks.json', '/api/public'])
      expect((await service.fetch(path, { headers })).status).toBe(200);
  });
});

describe('the service with the development issuer', () => {
  const fixture = developmentFixtureFor(sourceForm);

  test('publishes metadata and the key set that they name, for pages of any origin', async () => {
    const { issuer, service } = fixture();
    const metadata = await service.fetch('/.well-known/oauth-authorization-server');
    expectCrossOrigin(metadata);
    expect(await metadata.json()).toMatchObject({ issuer, scopes_supported: expect.arrayContaining([SCOPE]) });
    expectCrossOrigin(await service.fetch('/.well-known/jwks.json'));
  });

  test('gives a client of the MCP SDK, which knows the URL of the service only, a token for it', async () => {
    const { issuer, reader, service } = fixture();
    const provider = new ClientCredentialsProvider({ ...reader, expectedIssuer: issuer });
    expect(await auth(provider, { serverUrl: issuer })).toBe('AUTHORIZED');
    const headers = bearer(provider.tokens()?.access_token ?? '');
    expect((await service.fetch('/api/private-scoped', { headers })).status).toBe(200);
  });

  test('names its token endpoint in its document, and shows no secrets there', async () => {
    const text = await (await fixture().service.fetch('/openapi/json')).text();
    const { paths, components } = JSON.parse(text) as OpenApiDocument;
    const { tokenUrl } = components.securitySchemes.oauth2?.flows?.clientCredentials ?? {};
    expect(tokenUrl).toBe(`${fixture().issuer}oauth/token`);
    expect(paths).not.toContainKey('/oauth/token');
    for (const { clientSecret } of [fixture().reader, fixture().visitor]) expect(text).not.toContain(clientSecret);
  });

  test('offers both clients on its page, but not to pages of other origins or caches', async () => {
    const response = await fixture().service.fetch('/openapi');
    expect(response.headers.get('access-control-allow-origin')).toBe(new URL(fixture().issuer).origin);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const html = await response.text();
    for (const { clientId, clientSecret } of [fixture().reader, fixture().visitor]) {
      expect(html).toContain(`<strong>${clientId}</strong>, a demo client`);
      expect(html).toContain(clientSecret);
    }
  });

  test('lets Swagger UI of any origin send its requests', async () => {
    const preflight = await fixture().service.fetch('/oauth/token', { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('X-Requested-With');
  });

  test('lets pages of any origin read what its token endpoint says, and allows only POST', async () => {
    expectCrossOrigin(await fixture().service.fetch('/oauth/token', { method: 'POST', body: '' }));
    const response = await fixture().service.fetch('/oauth/token');
    expect(response.headers.get('allow')).toBe('POST');
    await expectError(response, 405, 'method_not_allowed');
  });
});
