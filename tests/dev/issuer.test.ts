import { describe, expect, test } from 'bun:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { Environment } from '../support/child-process.ts';
import { type Credentials, type EmbeddedFixture, embeddedFixtureFor } from '../support/embedded-issuer.ts';
import { expectCrossOrigin, expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

/** What differs from a good request for a token of the reader, whose credentials are in the body. */
interface Attempt {
  /** `undefined` removes a parameter. */
  readonly parameters?: Readonly<Record<string, string | undefined>>;
  /** Makes the body of the parameters; a form by default. */
  readonly encode?: (parameters: Record<string, string>) => string;
  readonly type?: string;
  readonly authorization?: string;
  readonly host?: string;
}

function ask({ service, audience, reader }: EmbeddedFixture, attempt: Attempt = {}): Promise<Response> {
  const { parameters, encode = formOf, type = FORM, authorization, host } = attempt;
  const credentials = { client_id: reader.clientId, client_secret: reader.clientSecret };
  const body = encode(definedIn({ grant_type: 'client_credentials', audience, ...credentials, ...parameters }));
  const headers = definedIn({ 'content-type': type, authorization, host });
  return service.fetch('/oauth/token', { method: 'POST', body, headers });
}

const formOf = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();
const definedIn = (record: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(record).filter((entry): entry is [string, string] => entry[1] !== undefined));

const noClient = { client_id: undefined, client_secret: undefined };
/** Client authentication by the header, with this text before it is encoded. */
const basic = (text: string) => ({ parameters: noClient, authorization: `Basic ${btoa(text)}` });
const clientOf = ({ clientId, clientSecret }: Credentials) => ({ client_id: clientId, client_secret: clientSecret });

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

/** RFC 6749 §5.2: 401 for `invalid_client`, 400 for any other error. */
const refused: readonly [name: string, attempt: (fixture: EmbeddedFixture) => Attempt, error: string][] = [
  ['a wrong secret in the body', () => ({ parameters: { client_secret: 'wrong' } }), 'invalid_client'],
  [
    "another client's secret",
    ({ visitor }) => ({ parameters: { client_secret: visitor.clientSecret } }),
    'invalid_client',
  ],
  ['a wrong secret by Basic', ({ reader }) => basic(`${reader.clientId}:wrong`), 'invalid_client'],
  ['Basic without base64', () => ({ parameters: noClient, authorization: 'Basic %%%' }), 'invalid_client'],
  [
    'Basic credentials with a third part',
    ({ reader }) => basic(`${reader.clientId}:${reader.clientSecret}:junk`),
    'invalid_client',
  ],
  [
    'Basic credentials with text after them',
    ({ reader }) => {
      const { parameters, authorization } = basic(`${reader.clientId}:${reader.clientSecret}`);
      return { parameters, authorization: `${authorization} junk` };
    },
    'invalid_client',
  ],
  ['an unknown client', () => ({ parameters: { client_id: 'nobody', client_secret: 'x' } }), 'invalid_client'],
  ['no client', () => ({ parameters: noClient }), 'invalid_client'],
  ['a client without a secret', () => ({ parameters: { client_secret: undefined } }), 'invalid_client'],
  [
    'two ways of client authentication',
    ({ reader }) => ({ authorization: basic(`${reader.clientId}:${reader.clientSecret}`).authorization }),
    'invalid_request',
  ],
  ['an unsupported grant', () => ({ parameters: { grant_type: 'password' } }), 'unsupported_grant_type'],
  ['no grant_type', () => ({ parameters: { grant_type: undefined } }), 'invalid_request'],
  ['an empty grant_type', () => ({ parameters: { grant_type: '' } }), 'invalid_request'],
  [
    'a repeated grant_type',
    () => ({ encode: (parameters) => `${formOf(parameters)}&grant_type=client_credentials` }),
    'invalid_request',
  ],
  [
    'a repeated client_id',
    () => ({ encode: (parameters) => `${formOf(parameters)}&client_id=other` }),
    'invalid_request',
  ],
  ['a scope that the client may not have', () => ({ parameters: { scope: 'write:messages' } }), 'invalid_scope'],
  ['another API', () => ({ parameters: { audience: 'https://other.example.test/' } }), 'invalid_target'],
  ['JSON cut short', () => ({ type: JSON_TYPE, encode: () => '{"grant_type":' }), 'invalid_request'],
  ['a JSON array', () => ({ type: JSON_TYPE, encode: () => '["client_credentials"]' }), 'invalid_request'],
  ['JSON null', () => ({ type: JSON_TYPE, encode: () => 'null' }), 'invalid_request'],
  [
    'a JSON member that is no text',
    () => ({
      type: JSON_TYPE,
      encode: (parameters) => JSON.stringify({ ...parameters, grant_type: ['client_credentials'] }),
    }),
    'invalid_request',
  ],
];

const accepted: readonly [name: string, attempt: (fixture: EmbeddedFixture) => Attempt][] = [
  ['a form', () => ({})],
  ['a form with a charset', () => ({ type: `${FORM}; charset=UTF-8` })],
  ['a form and Basic', ({ reader }) => basic(`${reader.clientId}:${reader.clientSecret}`)],
  [
    // RFC 6749 §2.3.1: both parts are form-encoded before they are joined, and any character may be.
    'a form and Basic with encoded characters',
    ({ reader: { clientId, clientSecret } }) => {
      const encode = (text: string) => text.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
      return basic(`${encode(clientId)}:${encode(clientSecret)}`);
    },
  ],
  ['a form that names the scope', () => ({ parameters: { scope: 'read:messages' } })],
  ['JSON', () => ({ type: JSON_TYPE, encode: JSON.stringify })],
  ['JSON with a charset', () => ({ type: `${JSON_TYPE}; charset=utf-8`, encode: JSON.stringify })],
];

function describeTokenEndpoint(fixture: () => EmbeddedFixture): void {
  for (const [name, attempt] of accepted) {
    test(`issues an accepted token with the scope for ${name}`, async () => {
      const { access_token: token, scope } = await readToken(await ask(fixture(), attempt(fixture())));
      expect(scope?.split(' ')).toContain('read:messages');
      await expectMessage(await fixture().service.fetch('/api/private-scoped', { headers: bearer(token) }));
    });
  }

  test('gives the other client a token without the scope: 200 and 403', async () => {
    const answer = await readToken(await ask(fixture(), { parameters: clientOf(fixture().visitor) }));
    const headers = bearer(answer.access_token);
    await expectMessage(await fixture().service.fetch('/api/private', { headers }));
    await expectError(await fixture().service.fetch('/api/private-scoped', { headers }), 403, 'Unauthorized');
  });

  test('gives what the specification says an access token has', async () => {
    const { access_token: token, expires_in: lifetime } = await readToken(await ask(fixture()));
    expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', kid: expect.any(String) });
    const { iss, aud, exp = 0, iat = 0, scope } = decodeJwt(token);
    expect({ iss, aud, scope }).toEqual({
      iss: fixture().issuer,
      aud: fixture().audience,
      scope: expect.stringContaining('read:messages'),
    });
    expect(exp - iat).toBe(lifetime);
  });

  for (const [name, attempt, error] of refused) {
    test(`refuses ${name}: ${error}`, async () => {
      const { authorization } = attempt(fixture());
      const response = await ask(fixture(), attempt(fixture()));
      const status = error === 'invalid_client' ? 401 : 400;
      const text = await response.text();
      expect({ status: response.status, text }).toEqual({ status, text: expect.stringContaining(error) });
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expectCrossOrigin(response);
      const body = JSON.parse(text) as Record<string, unknown>;
      expect(body.error).toBe(error);
      expect(Object.keys(body).filter((key) => !['error', 'error_description'].includes(key))).toEqual([]);
      // A client that tried Basic must be answered with Basic (RFC 6749 §5.2); other browsers would ask for a password.
      const challenge = status === 401 && authorization ? expect.stringMatching(/^Basic /) : null;
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
      scopes_supported: expect.arrayContaining(['read:messages']),
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
      const token = await ask(fixture(), headers);
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
      const { access_token: token } = await readToken(await ask(another()));
      await expectError(
        await fixture().service.fetch('/api/private', { headers: bearer(token) }),
        401,
        'invalid_header',
      );
    });
  });
}
