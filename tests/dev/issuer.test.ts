import { describe, expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { createEmbeddedIssuer, createIssuerSecrets } from '../../src/dev/issuer.ts';
import type { OpenApiDocument } from '../../src/openapi/document.ts';
import type { Environment } from '../support/child-process.ts';
import { embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { expectCrossOrigin, expectError } from '../support/expect-error.ts';
import { sourceForm } from '../support/forms.ts';

const ORIGIN = 'http://127.0.0.1:3010';
const AUDIENCE = 'https://api.example.test';
const GRANT = 'grant_type=client_credentials';
const READER = 'client_id=reader&client_secret=kept';
const parameters = { grant_type: 'client_credentials', client_id: 'reader', client_secret: 'kept' };

const { signer } = createIssuerSecrets();
const scopes = ['read:messages'];
const { routes, clients } = createEmbeddedIssuer({
  issuer: `${ORIGIN}/`,
  audience: AUDIENCE,
  secrets: {
    signer,
    clients: { reader: { id: 'reader', secret: 'kept' }, visitor: { id: 'visitor', secret: 'other' } },
  },
  scopes: () => scopes,
});

/** A request to the token endpoint: a form, unless it has another type. */
interface Sent {
  readonly body: string;
  readonly type?: string;
  readonly authorization?: string;
}

const form = (body: string): Sent => ({ body });
const json = (value: unknown): Sent => ({ body: JSON.stringify(value), type: 'application/json' });
const basic = (text: string, body = GRANT): Sent => ({ body, authorization: `Basic ${btoa(text)}` });

async function ask({ body, type = 'application/x-www-form-urlencoded', authorization }: Sent) {
  const headers = { 'content-type': type, ...(authorization && { authorization }) };
  const response = await routes.handle(new Request(`${ORIGIN}/oauth/token`, { method: 'POST', body, headers }));
  expect(response.headers.get('content-type')).toBe('application/json');
  // RFC 6749 §5.1
  expect(response.headers.get('cache-control')).toBe('no-store');
  const answer = (await response.json()) as Readonly<Record<string, unknown>>;
  return { status: response.status, challenge: response.headers.get('www-authenticate'), answer };
}

describe('the token endpoint', () => {
  const accepted: readonly (readonly [name: string, sent: Sent])[] = [
    ['a form', form(`${GRANT}&${READER}`)],
    [
      'a form with a charset',
      { ...form(`${GRANT}&${READER}`), type: 'application/x-www-form-urlencoded; charset=UTF-8' },
    ],
    ['a form that names the scope', form(`${GRANT}&${READER}&scope=read:messages`)],
    ['a form and Basic', basic('reader:kept')],
    // RFC 6749 §2.3.1: both parts are form-encoded before they are joined, and any character may be.
    ['a form and Basic with encoded characters', basic('%72eade%72:%6bep%74')],
    ['JSON', json(parameters)],
    ['JSON with a charset', { ...json(parameters), type: 'application/json; charset=utf-8' }],
  ];
  test.each(accepted)('issues a token for %s', async (_name, sent) => {
    const { status, answer } = await ask(sent);
    expect(status).toBe(200);
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'read:messages',
    });
    const token = String(answer.access_token);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', kid: expect.any(String) });
    const { exp = 0, iat = 0, ...claims } = decodeJwt(token);
    expect(claims).toMatchObject({ iss: `${ORIGIN}/`, aud: AUDIENCE, scope: 'read:messages' });
    expect(exp - iat).toBe(3600);
  });

  /** RFC 6749 §5.2 */
  const refused: readonly (readonly [name: string, sent: Sent, error: string])[] = [
    ['a wrong secret in the body', form(`${GRANT}&client_id=reader&client_secret=wrong`), 'invalid_client'],
    ["another client's secret", form(`${GRANT}&client_id=reader&client_secret=other`), 'invalid_client'],
    ['an unknown client', form(`${GRANT}&client_id=nobody&client_secret=kept`), 'invalid_client'],
    ['a client without a secret', form(`${GRANT}&client_id=reader`), 'invalid_client'],
    ['no client', form(GRANT), 'invalid_client'],
    ['a wrong secret by Basic', basic('reader:wrong'), 'invalid_client'],
    ['Basic credentials with a third part', basic('reader:kept:junk'), 'invalid_client'],
    ['Basic without base64', { body: GRANT, authorization: 'Basic %%%' }, 'invalid_client'],
    ['text after Basic', { body: GRANT, authorization: `Basic ${btoa('reader:kept')} junk` }, 'invalid_client'],
    ['two ways of client authentication', basic('reader:kept', `${GRANT}&${READER}`), 'invalid_request'],
    ['no grant_type', form(READER), 'invalid_request'],
    ['an empty grant_type', form(`grant_type=&${READER}`), 'invalid_request'],
    ['an unsupported grant', form(`grant_type=password&${READER}`), 'unsupported_grant_type'],
    ['a repeated grant_type', form(`${GRANT}&${READER}&${GRANT}`), 'invalid_request'],
    ['a repeated client_id', form(`${GRANT}&${READER}&client_id=other`), 'invalid_request'],
    ['a scope that the client may not have', form(`${GRANT}&${READER}&scope=write:messages`), 'invalid_scope'],
    ['another API', form(`${GRANT}&${READER}&audience=https://other.example.test/`), 'invalid_target'],
    ['JSON cut short', { body: '{"grant_type":', type: 'application/json' }, 'invalid_request'],
    ['a JSON array', json(['client_credentials']), 'invalid_request'],
    ['JSON null', json(null), 'invalid_request'],
    ['a JSON member that is no text', json({ ...parameters, grant_type: ['client_credentials'] }), 'invalid_request'],
  ];
  test.each(refused)('refuses %s', async (_name, sent, error) => {
    const isForClient = error === 'invalid_client';
    expect(await ask(sent)).toEqual({
      status: isForClient ? 401 : 400,
      // A client that tried Basic must be answered with Basic; other browsers would ask for a password.
      challenge: isForClient && sent.authorization ? expect.stringMatching(/^Basic /) : null,
      answer: { error, error_description: expect.any(String) },
    });
  });
});

test('createEmbeddedIssuer() grants the reader each scope that the routes have at the time, and the visitor none', async () => {
  const grant = async (client: string) => (await ask(form(`${GRANT}&${client}`))).answer.scope;
  scopes.push('write:messages');
  expect(await grant(READER)).toBe('read:messages write:messages');
  expect(await grant('client_id=visitor&client_secret=other')).toBeUndefined();
  expect(clients().map(({ scope }) => scope)).toEqual(['read:messages write:messages', '']);
  const metadata = await routes.handle(new Request(`${ORIGIN}/.well-known/oauth-authorization-server`));
  expect(await metadata.json()).toMatchObject({ scopes_supported: scopes });
  scopes.pop();
});

test('createIssuerSecrets() makes new keys and secrets', () => {
  const made = [createIssuerSecrets(), createIssuerSecrets()];
  expect(new Set(made.flatMap(({ clients: { reader, visitor } }) => [reader.secret, visitor.secret])).size).toBe(4);
  expect(new Set([signer, ...made.map((secrets) => secrets.signer)].map(({ jwk }) => jwk.n)).size).toBe(3);
});

describe('the service with its embedded issuer', () => {
  const fixture = embeddedFixtureFor(sourceForm);
  const read = async (path: string) => {
    const response = await fixture().service.fetch(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expectCrossOrigin(response);
    return (await response.json()) as Readonly<Record<string, unknown>>;
  };

  test('has metadata with all members that RFC 8414 §2 requires', async () => {
    const { issuer } = fixture();
    expect(await read('/.well-known/oauth-authorization-server')).toMatchObject({
      issuer,
      token_endpoint: `${issuer}oauth/token`,
      jwks_uri: `${issuer}.well-known/jwks.json`,
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      scopes_supported: expect.arrayContaining(['read:messages']),
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    });
  });

  test('publishes a key as the specification has it, without a private part', async () => {
    const text = expect.stringMatching(/\w/);
    const key = { kty: 'RSA', kid: text, use: 'sig', alg: 'RS256', n: text, e: text };
    expect(await read('/.well-known/jwks.json')).toEqual({ keys: [key] });
  });

  test('leads from its document to its token endpoint, and shows no secrets there', async () => {
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
      expect(html).toContain(`Demo client <strong>${clientId}</strong>`);
      expect(html).toContain(clientSecret);
    }
  });

  test('lets pages of any origin read what its token endpoint says, and allows only POST', async () => {
    expectCrossOrigin(await fixture().service.fetch('/oauth/token', { method: 'POST', body: '' }));
    const response = await fixture().service.fetch('/oauth/token');
    expect(response.headers.get('allow')).toBe('POST');
    await expectError(response, 405, 'method_not_allowed');
  });
});

/** DNS rebinding: a website's own name, pointed at this machine, is what its requests have as Host. */
describe.each<[settings: Environment, trusted: readonly string[], others: readonly string[]]>([
  [{}, ['localhost', '127.0.0.1:1', '[::1]:3010'], ['evil.example', 'localhost.evil.example', '10.0.0.1', '']],
  [
    { PUBLIC_URL: 'https://api.example.test/v1' },
    ['localhost', 'API.example.test:443', 'api.example.test'],
    ['api.example.test:8443', 'evil.example'],
  ],
])('the service with its embedded issuer and %j', (settings, trusted, others) => {
  const fixture = embeddedFixtureFor(sourceForm, settings);
  test.each([...trusted, ...others])('serves secrets and tokens to the Host %j only if it is trusted', async (host) => {
    const { service, reader } = fixture();
    const isTrusted = trusted.includes(host);
    const headers = { host };
    const body = new URLSearchParams({ ...parameters, client_secret: reader.clientSecret });
    const token = await service.fetch('/oauth/token', { method: 'POST', body, headers });
    expect(token.status).toBe(isTrusted ? 200 : 421);
    expect((await token.text()).includes('access_token')).toBe(isTrusted);
    const page = await service.fetch('/openapi', { headers });
    expect(page.status).toBe(isTrusted ? 200 : 421);
    expect((await page.text()).includes(reader.clientSecret)).toBe(isTrusted);
    for (const path of ['/.well-known/jwks.json', '/api/public'])
      expect((await service.fetch(path, { headers })).status).toBe(200);
  });
});
