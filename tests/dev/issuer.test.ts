import { describe, expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Environment } from '../support/child-process.ts';
import { type EmbeddedFixture, embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { expectCrossOrigin, expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';

type Parameters = readonly [name: string, value: string][];

const FORM = 'application/x-www-form-urlencoded';

function post(
  fixture: EmbeddedFixture,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return fixture.service.fetch('/oauth/token', { method: 'POST', body, headers: { 'content-type': FORM, ...headers } });
}

const postForm = (fixture: EmbeddedFixture, parameters: Parameters, headers?: Readonly<Record<string, string>>) =>
  post(fixture, new URLSearchParams(parameters).toString(), headers);

const grant = ({ audience }: EmbeddedFixture): Parameters => [
  ['grant_type', 'client_credentials'],
  ['audience', audience],
];
const credentials = ({ reader }: EmbeddedFixture): Parameters => [
  ['client_id', reader.clientId],
  ['client_secret', reader.clientSecret],
];
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope?: string;
}

async function readToken(response: Response): Promise<TokenAnswer> {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  expect(response.headers.get('content-type')).toBe('application/json');
  // RFC 6749 §5.1
  expect(response.headers.get('cache-control')).toBe('no-store');
  expectCrossOrigin(response);
  const answer = JSON.parse(text) as TokenAnswer;
  expect(answer.token_type.toLowerCase()).toBe('bearer');
  expect(answer.expires_in).toBeGreaterThan(0);
  return answer;
}

interface RefusedRow {
  readonly name: string;
  readonly send: (fixture: EmbeddedFixture) => Promise<Response>;
  readonly status: 400 | 401;
  readonly error: string;
}

/** RFC 6749 §5.2 */
const refused: readonly RefusedRow[] = [
  {
    name: 'a wrong secret in the body',
    send: (fixture) =>
      postForm(fixture, [...grant(fixture), ['client_id', fixture.reader.clientId], ['client_secret', 'wrong']]),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: "another client's secret",
    send: (fixture) =>
      postForm(fixture, [
        ...grant(fixture),
        ['client_id', fixture.reader.clientId],
        ['client_secret', fixture.visitor.clientSecret],
      ]),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'a wrong secret by Basic',
    send: (fixture) => postForm(fixture, grant(fixture), basic(fixture.reader.clientId, 'wrong')),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'Basic credentials that are no base64',
    send: (fixture) => postForm(fixture, grant(fixture), { authorization: 'Basic %%%' }),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'Basic credentials with a third part',
    send: (fixture) =>
      postForm(fixture, grant(fixture), {
        authorization: `Basic ${btoa(`${fixture.reader.clientId}:${fixture.reader.clientSecret}:junk`)}`,
      }),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'Basic credentials with text after them',
    send: (fixture) => {
      const { authorization } = basic(fixture.reader.clientId, fixture.reader.clientSecret);
      return postForm(fixture, grant(fixture), { authorization: `${authorization} junk` });
    },
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'an unknown client',
    send: (fixture) => postForm(fixture, [...grant(fixture), ['client_id', 'nobody'], ['client_secret', 'x']]),
    status: 401,
    error: 'invalid_client',
  },
  { name: 'no client', send: (fixture) => postForm(fixture, grant(fixture)), status: 401, error: 'invalid_client' },
  {
    name: 'a client without a secret',
    send: (fixture) => postForm(fixture, [...grant(fixture), ['client_id', fixture.reader.clientId]]),
    status: 401,
    error: 'invalid_client',
  },
  {
    name: 'two ways of client authentication',
    send: (fixture) =>
      postForm(
        fixture,
        [...grant(fixture), ...credentials(fixture)],
        basic(fixture.reader.clientId, fixture.reader.clientSecret),
      ),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'an unsupported grant',
    send: (fixture) => postForm(fixture, [['grant_type', 'password'], ...credentials(fixture)]),
    status: 400,
    error: 'unsupported_grant_type',
  },
  {
    name: 'no grant_type',
    send: (fixture) => postForm(fixture, credentials(fixture)),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'an empty grant_type',
    send: (fixture) => postForm(fixture, [['grant_type', ''], ...credentials(fixture)]),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'a repeated grant_type',
    send: (fixture) => postForm(fixture, [...grant(fixture), ...grant(fixture), ...credentials(fixture)]),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'a repeated client_id',
    send: (fixture) => postForm(fixture, [...grant(fixture), ...credentials(fixture), ['client_id', 'other']]),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'a scope that the client may not have',
    send: (fixture) => postForm(fixture, [...grant(fixture), ['scope', 'write:messages'], ...credentials(fixture)]),
    status: 400,
    error: 'invalid_scope',
  },
  {
    name: 'another API',
    send: (fixture) =>
      postForm(fixture, [
        ['grant_type', 'client_credentials'],
        ['audience', 'https://other.example.test/'],
        ...credentials(fixture),
      ]),
    status: 400,
    error: 'invalid_target',
  },
  {
    name: 'JSON cut short',
    send: (fixture) => post(fixture, '{"grant_type":', { 'content-type': 'application/json' }),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'a JSON array',
    send: (fixture) => post(fixture, '["client_credentials"]', { 'content-type': 'application/json' }),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'JSON null',
    send: (fixture) => post(fixture, 'null', { 'content-type': 'application/json' }),
    status: 400,
    error: 'invalid_request',
  },
  {
    name: 'a JSON member that is no text',
    send: (fixture) =>
      post(
        fixture,
        JSON.stringify({
          ...Object.fromEntries([...grant(fixture), ...credentials(fixture)]),
          grant_type: ['client_credentials'],
        }),
        { 'content-type': 'application/json' },
      ),
    status: 400,
    error: 'invalid_request',
  },
];

function describeTokenEndpoint(fixture: () => EmbeddedFixture): void {
  const accepted: Readonly<Record<string, (fixture: EmbeddedFixture) => Promise<Response>>> = {
    'a form': (it) => postForm(it, [...grant(it), ...credentials(it)]),
    'a form with a charset': (it) =>
      postForm(it, [...grant(it), ...credentials(it)], { 'content-type': `${FORM}; charset=UTF-8` }),
    'a form and Basic': (it) => postForm(it, grant(it), basic(it.reader.clientId, it.reader.clientSecret)),
    // RFC 6749 §2.3.1: both parts are form-encoded before they are joined, and any character may be.
    'a form and Basic with encoded characters': (it) => {
      const encoded = [it.reader.clientId, it.reader.clientSecret].map((text) =>
        text.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
      );
      return postForm(it, grant(it), { authorization: `Basic ${Buffer.from(encoded.join(':')).toString('base64')}` });
    },
    'a form that names the scope': (it) => postForm(it, [...grant(it), ...credentials(it), ['scope', 'read:messages']]),
    JSON: (it) =>
      post(it, JSON.stringify(Object.fromEntries([...grant(it), ...credentials(it)])), {
        'content-type': 'application/json',
      }),
    'JSON with a charset': (it) =>
      post(it, JSON.stringify(Object.fromEntries([...grant(it), ...credentials(it)])), {
        'content-type': 'application/json; charset=utf-8',
      }),
  };

  for (const [name, send] of Object.entries(accepted)) {
    test(`issues an accepted token with the scope for ${name}`, async () => {
      const { access_token: token, scope } = await readToken(await send(fixture()));
      expect(scope).toBe('read:messages');
      await expectMessage(await fixture().service.fetch('/api/private-scoped', { headers: bearer(token) }));
    });
  }

  test('gives the other client a token without the scope: 200 and 403', async () => {
    const { clientId, clientSecret } = fixture().visitor;
    const answer = await readToken(
      await postForm(fixture(), [...grant(fixture()), ['client_id', clientId], ['client_secret', clientSecret]]),
    );
    const headers = bearer(answer.access_token);
    await expectMessage(await fixture().service.fetch('/api/private', { headers }));
    await expectError(await fixture().service.fetch('/api/private-scoped', { headers }), 403, 'Unauthorized');
  });

  test('gives what the specification says an access token has', async () => {
    const { access_token: token, expires_in: lifetime } = await readToken(
      await postForm(fixture(), [...grant(fixture()), ...credentials(fixture())]),
    );
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', kid: expect.any(String) });
    const { iss, aud, exp = 0, iat = 0, scope } = decodeJwt(token);
    expect({ iss, aud, scope }).toEqual({ iss: fixture().issuer, aud: fixture().audience, scope: 'read:messages' });
    expect(exp - iat).toBe(lifetime);
  });

  for (const { name, send, status, error } of refused) {
    test(`refuses ${name}: ${error}`, async () => {
      const response = await send(fixture());
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({ status, text: expect.stringContaining(error) });
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expectCrossOrigin(response);
      const body = JSON.parse(text) as Record<string, unknown>;
      expect(body.error).toBe(error);
      expect(Object.keys(body).filter((key) => !['error', 'error_description'].includes(key))).toEqual([]);
      // A client that tried Basic must be answered with Basic (RFC 6749 §5.2); other browsers would ask for a password.
      const challenge = name.includes('Basic') ? expect.stringMatching(/^Basic /) : null;
      expect(response.headers.get('www-authenticate')).toEqual(challenge);
    });
  }

  test('allows only POST', async () => {
    const response = await fixture().service.fetch('/oauth/token');
    expect(response.headers.get('allow')).toBe('POST');
    await expectError(response, 405, 'method_not_allowed');
  });
}

function describeDiscovery(fixture: () => EmbeddedFixture): void {
  const read = async (path: string) => {
    const response = await fixture().service.fetch(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expectCrossOrigin(response);
    return (await response.json()) as Record<string, unknown>;
  };

  test('the metadata has all members that RFC 8414 §2 requires, and its endpoints exist', async () => {
    const metadata = await read('/.well-known/oauth-authorization-server');
    expect(metadata).toMatchObject({
      issuer: fixture().issuer,
      token_endpoint: `${fixture().issuer}oauth/token`,
      jwks_uri: `${fixture().issuer}.well-known/jwks.json`,
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      scopes_supported: ['read:messages'],
    });
    expect(metadata.token_endpoint_auth_methods_supported).toEqual(
      expect.arrayContaining(['client_secret_basic', 'client_secret_post']),
    );
    expect((await fetch(String(metadata.jwks_uri))).status).toBe(200);
  });

  test('the key set has what the specification says, and no private part', async () => {
    const { keys } = (await read('/.well-known/jwks.json')) as { keys: Record<string, unknown>[] };
    expect(keys).toHaveLength(1);
    const text = expect.stringMatching(/\w/);
    expect(keys[0]).toMatchObject({ kty: 'RSA', kid: text, use: 'sig', n: text, e: text });
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi']) expect(keys[0]).not.toHaveProperty(member);
  });
}

/** DNS rebinding: a website's own name, pointed at this machine, is what its requests have as Host. */
function describeHosts(settings: Environment, hosts: Readonly<Record<string, boolean>>): void {
  const fixture = embeddedFixtureFor(sourceForm, settings);
  for (const [host, isTrusted] of Object.entries(hosts)) {
    test(`${isTrusted ? 'gives' : 'refuses'} secrets and tokens to a client that calls it ${host}`, async () => {
      const headers = { host };
      const token = await postForm(fixture(), [...grant(fixture()), ...credentials(fixture())], headers);
      expect(token.status).toBe(isTrusted ? 200 : 421);
      expect((await token.text()).includes('access_token')).toBe(isTrusted);
      const page = await fixture().service.fetch('/openapi', { headers });
      expect(page.status).toBe(isTrusted ? 200 : 421);
      expect((await page.text()).includes(fixture().reader.clientSecret)).toBe(isTrusted);
      for (const path of ['/.well-known/jwks.json', '/api/public'])
        expect((await fixture().service.fetch(path, { headers })).status).toBe(200);
    });
  }
}

describe('the embedded issuer', () => {
  describe('without PUBLIC_URL', () => {
    describeHosts(
      {},
      {
        localhost: true,
        'LOCALHOST:1': true,
        '127.0.0.1:3010': true,
        '127.255.0.1': true,
        '[::1]:3010': true,
        'evil.example': false,
        'localhost.evil.example': false,
        '127.0.0.1.evil.example:3010': false,
        '10.0.0.1': false,
        'localhost:x': false,
        '': false,
      },
    );
  });
  describe('with PUBLIC_URL', () => {
    describeHosts(
      { PUBLIC_URL: 'https://api.example.test/v1' },
      {
        'api.example.test': true,
        'API.example.test:443': true,
        localhost: true,
        'api.example.test:8443': false,
        'evil.example': false,
      },
    );
  });
});

for (const form of [sourceForm, executableForm]) {
  describe(form.name, () => {
    const fixture = embeddedFixtureFor(form);
    const another = embeddedFixtureFor(form);
    describe('the token endpoint', () => describeTokenEndpoint(fixture));
    describe('discovery', () => describeDiscovery(fixture));

    test('generates new keys and secrets at each start', async () => {
      expect(another().reader.clientSecret).not.toBe(fixture().reader.clientSecret);
      expect(another().visitor.clientSecret).not.toBe(fixture().visitor.clientSecret);
      const { access_token: token } = await readToken(
        await postForm(another(), [...grant(another()), ...credentials(another())]),
      );
      await expectError(
        await fixture().service.fetch('/api/private', { headers: bearer(token) }),
        401,
        'invalid_header',
      );
    });
  });
}
