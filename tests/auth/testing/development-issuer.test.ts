import { describe, expect, test } from 'bun:test';
import {
  calculateJwkThumbprint,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  jwtVerify,
} from 'jose';
import * as openid from 'openid-client';
import { createGuard } from 'protected-api';
import { createDevelopmentIssuer, type DevelopmentIssuerOptions } from 'protected-api/testing';
import { bearer } from '../../support/mint.ts';
import { makeProof } from '../../support/proof.ts';

const AUDIENCE = 'https://reports.example.test';
const OTHER_AUDIENCE = 'urn:example:export';
const SECRET = 'for colleagues: 100 % & more';
const good: DevelopmentIssuerOptions = {
  issuer: 'http://localhost:3011/',
  audience: [AUDIENCE, OTHER_AUDIENCE],
  clients: [
    { id: 'reader', secret: SECRET, scope: 'read:messages export' },
    { id: 'writer', scope: ['write:messages', 'export'] },
    { id: 'visitor' },
  ],
};
const tokenEndpoint = `${good.issuer}oauth/token`;
const issuer = createDevelopmentIssuer(good);

/** Returns a client of openid-client that knows the issuer only. There is no server between them. */
function discover(id: string, from: typeof issuer, authenticate = openid.ClientSecretBasic) {
  const { secret } = from.clients.find((client) => client.id === id) ?? {};
  return openid.discovery(new URL(from.options.issuer), id, undefined, authenticate(secret), {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    [openid.customFetch]: (url, init) => from.fetch(new Request(url, init)),
  });
}

const grant = { grant_type: 'client_credentials' };
const request = { ...grant, client_id: 'reader', client_secret: SECRET };
const asForm = { 'content-type': 'application/x-www-form-urlencoded' };
const inJson = { 'content-type': 'application/json' };
const authorization = (text: string) => ({ authorization: `Basic ${btoa(text)}` });
/** RFC 6749 §2.3.1: both parts are form-encoded before they are joined, and any character may be. */
const encoded = (text: string) => text.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
const basic = authorization(`reader:${encoded(SECRET)}`);

/** An object is sent as a form. */
type Row = readonly [name: string, body: Readonly<Record<string, string>> | string, headers?: Record<string, string>];

const accepted: readonly Row[] = [
  ['a form', request],
  ['a form with a charset', request, { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' }],
  ['a form that names the scopes', { ...request, scope: ' read:messages  export' }],
  ['Basic', grant, basic],
  ['Basic with every character encoded', grant, authorization(`${encoded('reader')}:${encoded(SECRET)}`)],
  ['Basic without encoding', grant, authorization(`reader:${SECRET}`)],
  ['bASIC and two spaces', grant, { authorization: basic.authorization.replace('Basic', 'bASIC  ') }],
  ['JSON', JSON.stringify(request), inJson],
  ['JSON with a charset', JSON.stringify(request), { 'content-type': 'Application/JSON ; charset=utf-8' }],
];

const rejected: Readonly<Record<string, readonly Row[]>> = {
  invalid_client: [
    ['a wrong secret', { ...request, client_secret: 'wrong' }],
    ["another client's secret", { ...request, client_id: 'writer' }],
    ['no secret', { ...grant, client_id: 'reader' }],
    ['an unknown client', { ...request, client_id: 'nobody' }],
    ['no client', grant],
    ['a wrong secret by Basic', grant, authorization('reader:wrong')],
    ['no secret by Basic', grant, authorization('reader')],
    ['Basic with a third part', grant, authorization(`reader:${encoded(SECRET)}:junk`)],
    ['Basic that is not base64', grant, { authorization: 'Basic %%%' }],
    ['text after Basic', grant, { authorization: `${basic.authorization} junk` }],
    ['text before Basic', grant, { authorization: `junk ${basic.authorization}` }],
  ],
  invalid_request: [
    ['a client in the header and the body', request, basic],
    ['no grant_type', { client_id: 'reader', client_secret: SECRET }],
    ['an empty grant_type', { ...request, grant_type: '' }],
    ['grant_type twice', `${new URLSearchParams(request)}&grant_type=client_credentials`, asForm],
    ['JSON cut short', '{"grant_type":', inJson],
    ['a JSON array', '["client_credentials"]', inJson],
    ['JSON null', 'null', inJson],
    ['a form labelled as text', new URLSearchParams(request).toString(), { 'content-type': 'text/plain' }],
    ['a form without a media type', new URLSearchParams(request).toString(), { 'content-type': '' }],
    ['a form labelled as compressed', request, { 'content-encoding': 'gzip' }],
    ['a JSON member that is not a string', JSON.stringify({ ...request, grant_type: ['client_credentials'] }), inJson],
  ],
  unsupported_grant_type: [['another grant', { ...request, grant_type: 'password' }]],
  invalid_target: [
    ['an audience that is unknown', { ...request, audience: 'https://elsewhere.test' }],
    ['a resource that is unknown', { ...request, resource: 'https://elsewhere.test' }],
    ['an audience and another resource', { ...request, audience: AUDIENCE, resource: OTHER_AUDIENCE }],
  ],
};

/** Sends a request for a token. No response may be stored. */
async function ask(given: Row[1], headers: Row[2] = {}) {
  const sent = typeof given === 'string' ? given : new URLSearchParams(given);
  const response = await issuer.fetch(new Request(tokenEndpoint, { method: 'POST', body: sent, headers }));
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('content-type')).toBe('application/json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const challenge = response.headers.get('www-authenticate');
  const body = (await response.json()) as Readonly<Record<string, unknown>>;
  return { status: response.status, challenge, body };
}

describe('the token endpoint of createDevelopmentIssuer()', () => {
  for (const [name, sent, headers] of accepted)
    test(`issues a token for ${name}`, async () => {
      const { status, body } = await ask(sent, headers);
      const { access_token, ...others } = body;
      const token = String(access_token);
      const scope = 'read:messages export';
      expect<object>({ status, ...others }).toEqual({ status: 200, token_type: 'Bearer', expires_in: 3600, scope });
      expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' });
      const { jti, iat = 0, exp = 0, ...claims } = decodeJwt(token);
      expect(claims).toEqual({ iss: good.issuer, aud: AUDIENCE, scope, sub: 'reader', client_id: 'reader' });
      expect(exp - iat).toBe(3600);
      expect(jti).toMatch(/^[\da-f-]{36}$/);
    });

  for (const [error, rows] of Object.entries(rejected))
    for (const [name, sent, headers = {}] of rows)
      test(`rejects ${name}: ${error}`, async () => {
        const { status, challenge, body } = await ask(sent, headers);
        expect(body).toEqual({ error, error_description: expect.stringMatching(/\w/) });
        expect(status).toBe(error === 'invalid_client' ? 401 : 400);
        // A client that tried Basic must get Basic (RFC 6749 §5.2). Otherwise browsers would ask for a password.
        expect(challenge ?? '').toMatch(status === 401 && headers.authorization ? /^Basic realm="/ : /^$/);
      });

  test.each([
    ['reader', 'read:messages write:messages', 'read:messages'],
    ['reader', 'write:messages', ''],
    ['reader', '', ''],
    ['visitor', 'read:messages export', ''],
    ['visitor', undefined, undefined],
  ])('grants %s, which requests %p, what it may have: %p', async (id, requested, granted) => {
    const { secret } = issuer.clients.find((client) => client.id === id) ?? {};
    const scope = requested === undefined ? {} : { scope: requested };
    const { status, body } = await ask({ ...grant, client_id: id, client_secret: String(secret), ...scope });
    expect({ status, scope: body.scope }).toEqual({ status: 200, scope: granted });
    expect(decodeJwt(String(body.access_token)).scope).toBe(granted || undefined);
  });

  for (const parameter of ['audience', 'resource'])
    test(`issues tokens for each known ${parameter}`, async () => {
      for (const known of [AUDIENCE, OTHER_AUDIENCE]) {
        const { body } = await ask({ ...request, [parameter]: known });
        expect(decodeJwt(String(body.access_token)).aud).toBe(known);
      }
    });

  test('accepts a proof for its own URL only', async () => {
    const askWith = (url: string) => ask(request, { dpop: makeProof({ method: 'POST', url, token: '' }) });
    expect((await askWith(tokenEndpoint)).body.token_type).toBe('DPoP');
    const { status, body } = await askWith(tokenEndpoint.replace('localhost', '127.0.0.1'));
    expect({ status, ...body }).toMatchObject({ status: 400, error: 'invalid_dpop_proof' });
  });
});

/** Other applications name their issuer with or without a path and a trailing slash. */
for (const path of ['/', '', '/tenant', '/tenant/'])
  describe(`createDevelopmentIssuer() named with the path ${JSON.stringify(path)}`, () => {
    const base = `http://[::1]:3011${path.replace(/\/$/, '')}`;
    const named = createDevelopmentIssuer({ ...good, issuer: `http://[::1]:3011${path}` });

    for (const authenticate of [openid.ClientSecretBasic, openid.ClientSecretPost])
      test(`grants each client of openid-client its scopes, by ${authenticate.name}, and a guard finds the keys`, async () => {
        const { issuer, audience } = named.options;
        const guard = createGuard({ issuer, audience, fetch: (url, init) => named.fetch(new Request(url, init)) });
        const outcomes: string[] = [];
        for (const { id } of named.clients) {
          const client = await discover(id, named, authenticate);
          const { access_token: token } = await openid.clientCredentialsGrant(client);
          const sent = new Request('http://localhost/', { headers: bearer(token) });
          const result = await guard.check(sent, { scope: 'read:messages' });
          outcomes.push(`${decodeJwt(token).scope}: ${result instanceof Response ? result.status : result.claims.sub}`);
        }
        expect(outcomes).toEqual(['read:messages export: reader', 'write:messages export: 403', 'undefined: 403']);
      });

    test('binds a token to the key of a proof of openid-client', async () => {
      const client = await discover('visitor', named);
      const DPoP = openid.getDPoPHandle(client, await openid.randomDPoPKeyPair('Ed25519'));
      const { access_token: token } = await openid.clientCredentialsGrant(client, {}, { DPoP });
      expect(decodeJwt(token).cnf).toEqual({ jkt: await DPoP.calculateThumbprint() });
    });

    test('publishes the metadata that RFC 8414 §2 requires, and a key without its private part', async () => {
      const read = async (path: string) => (await named.fetch(new Request(base + path))).json();
      expect(await read('/.well-known/oauth-authorization-server')).toEqual({
        issuer: named.options.issuer,
        authorization_endpoint: `${base}/oauth/authorize`,
        code_challenge_methods_supported: ['S256'],
        token_endpoint: `${base}/oauth/token`,
        jwks_uri: `${base}/.well-known/jwks.json`,
        scopes_supported: ['read:messages', 'export', 'write:messages'],
        response_types_supported: [],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        dpop_signing_alg_values_supported: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'],
      });
      expect(await read('/.well-known/jwks.json')).toEqual(named.options.keys);
      const text = expect.stringMatching(/\w/);
      expect(named.options.keys.keys).toEqual([{ kty: 'RSA', kid: text, use: 'sig', alg: 'RS256', n: text, e: text }]);
    });

    for (const [method, endpoint, status, allow = null, host = 'localhost', type = 'application/json'] of [
      ['HEAD', '/.well-known/jwks.json', 200],
      ['POST', '/.well-known/jwks.json', 405, 'GET, HEAD'],
      ['GET', '/oauth/token', 405, 'POST'],
      ['GET', '/oauth/authorize', 400],
      ['POST', '/oauth/authorize', 400],
      ['GET', '/elsewhere', 404],
      ['POST', '/my-oauth/token', 404],
      ['GET', '/.well-known/jwks.json', 200, null, 'evil.example'],
      ['GET', '/.well-known/oauth-authorization-server', 200, null, 'evil.example'],
      ['POST', '/oauth/token', 421, null, 'evil.example'],
      ['OPTIONS', '/oauth/token', 204, null, 'evil.example', null],
    ] as const)
      test(`returns ${status} for ${method} ${endpoint} at ${host}`, async () => {
        const response = await named.fetch(new Request(base + endpoint, { method, headers: { host } }));
        expect(response.status).toBe(status);
        expect(response.headers.get('allow')).toBe(allow);
        expect(response.headers.get('content-type')).toBe(type);
        expect(response.headers.get('access-control-allow-origin')).toBe('*');
      });
  });

describe('createDevelopmentIssuer()', () => {
  const wrongIssuers = [
    ...['https://tenant.example.com/', 'http://localhost.example.com/', 'http://10.0.0.1/', 'http://0.0.0.0/'],
    ...['http://user@localhost/', 'http://localhost/?query', 'http://localhost/#fragment', 'localhost', '', undefined],
  ];
  for (const [message, options] of [
    ...wrongIssuers.map((issuer) => ['issuer must be a URL', { issuer }] as const),
    ['issuer must be a URL', { issuer: 'http://10.0.0.1/', allowedHosts: ['10.0.0.1:81', '10.0.0.2', 'localhost'] }],
    ...['dev.example.test', ['dev.example.test/'], [''], [7]].map(
      (allowedHosts) => ['allowedHosts must be a list of hosts', { allowedHosts }] as const,
    ),
    ['audience must be the API identifier', { audience: [AUDIENCE, ''] }],
    ['audience must be the API identifier', { audience: [] }],
    ...[0, 86_401, 1.5].map(
      (lifetimeSeconds) => ['lifetimeSeconds must be a whole number', { lifetimeSeconds }] as const,
    ),
    ['scopes is not an option. Did you mean scope?', { clients: [{ id: 'a', scopes: 'x' }] }],
    ['audiences is not an option. Did you mean audience?', { audiences: ['a'] }],
    ['clients must be a list', { clients: undefined }],
    ['clients must be a list', { clients: [] }],
    ['clients must be a list', { clients: [{ id: 'a' }, { id: 'a' }] }],
    ['clients[0]: id must be text', { clients: [{}] }],
    ['clients[0]: secret must be text', { clients: [{ id: 'a', secret: '' }] }],
  ] as const)
    test(`throws a TypeError for ${JSON.stringify(options)}: ${message}`, () =>
      expect(() => createDevelopmentIssuer({ ...good, ...options } as DevelopmentIssuerOptions)).toThrow(
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
      ));

  test('lets pages of every origin send what clients of its endpoints send', async () => {
    const response = await issuer.fetch(new Request(tokenEndpoint, { method: 'OPTIONS' }));
    expect(Object.fromEntries(response.headers)).toEqual({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': 'Authorization, Content-Type, DPoP, X-Requested-With',
      'access-control-max-age': '86400',
    });
  });

  test('makes a secret for each client without one', () => {
    const secrets = [issuer, createDevelopmentIssuer(good)].flatMap(({ clients }) => clients.slice(1));
    expect(new Set(secrets.map(({ secret }) => secret)).size).toBe(4);
    for (const { secret } of secrets) expect(secret).toMatch(/^[\da-f]{32}$/);
  });

  test('calls a function for its clients at each request, and keeps tokens and secrets of an earlier issuer valid', async () => {
    let scope = 'old';
    const clients = () => [{ id: 'reader', scope }, { id: 'visitor' }];
    const first = createDevelopmentIssuer({ ...good, clients });
    const second = createDevelopmentIssuer({ ...good, clients, secrets: first.secrets });
    scope = 'new';
    expect(second.clients).toEqual(first.clients);
    expect(second.options).toEqual(first.options);
    const reader = await discover('reader', second);
    expect((await openid.clientCredentialsGrant(reader)).scope).toBe('new');
    expect(second.clients).toMatchObject([{ id: 'reader', scope: 'new' }, { id: 'visitor' }]);
  });
});

// No name in .localhost leaves the machine (RFC 6761 §6.3).
const trusted = [
  'localhost',
  'api.localhost',
  'localhost:3010',
  'LOCALHOST',
  '127.0.0.1:80',
  '127.255.0.9',
  '[::1]:3010',
];
const others = [
  ...['gateway.example.test', 'evil-gateway.example.test:8443', 'evil.gateway.example.test:8443'],
  ...['gateway.example.test:8443.evil.test', 'evil-localhost', 'localhost.evil.test'],
  ...['127.0.0.1.evil.test', '10.0.0.1', '[::2]', 'user@localhost', 'localhost/x', 'localhost:x', ''],
];
const gateway = { issuer: 'https://gateway.example.test:8443/base', allowedHosts: ['gateway.example.test:8443'] };
const api = { issuer: 'https://localhost/', allowedHosts: ['Api.example.test'] };

describe('rejectHost() of a development issuer', () => {
  for (const [host, status, options, url = 'http://localhost/'] of [
    ...trusted.map((host) => [host, undefined, gateway] as const),
    [undefined, undefined, gateway, 'http://127.0.0.1:3010/'],
    [undefined, 421, gateway, 'http://evil.test/'],
    ['gateway.example.test:8443', undefined, gateway],
    ['API.example.test:443', undefined, api],
    ...others.map((host) => [host, 421, gateway] as const),
  ] as const)
    test(`returns ${status} for the Host ${JSON.stringify(host)} at ${url} with ${options.allowedHosts} allowed`, () => {
      const { rejectHost } = createDevelopmentIssuer({ ...good, ...options, secrets: issuer.secrets });
      const headers = host === undefined ? {} : { host };
      expect(rejectHost(new Request(url, { headers }))?.status).toBe(status);
    });
});

/** Libraries that cache the keys of an issuer, and whether they accept its token. */
const libraries: Readonly<
  Record<string, (fetch: (url: string) => Promise<Response>) => (token: string) => Promise<boolean>>
> = {
  'a guard': (fetch) => {
    const guard = createGuard({ issuer: good.issuer, audience: AUDIENCE, fetch });
    return async (token) => 'claims' in (await guard.check(new Request(AUDIENCE, { headers: bearer(token) })));
  },
  jose: (fetch) => {
    const options = { [customFetch]: fetch, cooldownDuration: 0 };
    const keys = createRemoteJWKSet(new URL(`${good.issuer}.well-known/jwks.json`), options);
    return (token) =>
      jwtVerify(token, keys).then(
        () => true,
        () => false,
      );
  },
};

test.each(Object.entries(libraries))(
  'a restart beside an API with %s is noticed by the next token',
  async (_, create) => {
    let server = createDevelopmentIssuer(good);
    const accepts = create((url) => server.fetch(new Request(url)));
    const tokenOf = async () => {
      const sent = { method: 'POST', body: new URLSearchParams({ ...request }) };
      const { access_token } = (await (await server.fetch(new Request(tokenEndpoint, sent))).json()) as {
        access_token: string;
      };
      return access_token;
    };
    const old = await tokenOf();
    expect([await accepts(old), decodeProtectedHeader(old).kid]).toEqual([true, await kidOf(server)]);
    // With other scopes, as `--client` has them.
    server = createDevelopmentIssuer({ ...good, clients: [{ id: 'reader', secret: SECRET, scope: 'other' }] });
    const fresh = await tokenOf();
    expect([await accepts(fresh), await accepts(old)]).toEqual([true, false]);
    expect(decodeProtectedHeader(fresh).kid).not.toBe(decodeProtectedHeader(old).kid);
    // A reload that keeps the secrets keeps the tokens.
    server = createDevelopmentIssuer({ ...good, secrets: server.secrets });
    expect([await accepts(fresh), decodeProtectedHeader(await tokenOf()).kid]).toEqual([true, await kidOf(server)]);
  },
);

const kidOf = ({ options }: typeof issuer) => calculateJwkThumbprint({ ...options.keys.keys[0] });

test('a guard notices the next token of an issuer of others that replaces its key under one name', async () => {
  const issuers = [createDevelopmentIssuer(good), createDevelopmentIssuer(good)];
  let at = 0;
  const fetch = async () => {
    const [key] = issuers[at]?.options.keys.keys ?? [];
    return Response.json({ keys: [{ ...key, kid: 'key-1' }] });
  };
  const guard = createGuard({ issuer: good.issuer, audience: AUDIENCE, fetch });
  const now = Math.floor(Date.now() / 1000);
  const reasons: unknown[] = [];
  for (const signedBy of [0, 1, 1, 0]) {
    const claims = { iss: good.issuer, aud: AUDIENCE, iat: now, exp: now + 300, jti: String(reasons.length) };
    const token = issuers[signedBy]?.secrets.signer.sign({ kid: 'key-1' }, claims) ?? '';
    at = Math.max(at, signedBy);
    const result = await guard.check(new Request(AUDIENCE, { headers: bearer(token) }));
    reasons.push(result instanceof Response ? result.status : 200);
  }
  expect(reasons).toEqual([200, 200, 200, 401]);
});
