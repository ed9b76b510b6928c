import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import {
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrant,
  discovery,
  getDPoPHandle,
  randomDPoPKeyPair,
} from 'openid-client';
import { createGuard } from 'protected-api/guard';
import { createDevelopmentIssuer, type DevelopmentIssuer, type DevelopmentIssuerOptions } from 'protected-api/testing';
import { overLoopback } from '../../support/authorization-server.ts';

const AUDIENCE = 'https://reports.example.test';
const OTHER_AUDIENCE = 'urn:example:export';
const SECRET = 'kept in a file, for colleagues: 100 %';

/** An application that contains this issuer. */
interface Application {
  readonly issuer: DevelopmentIssuer;
  readonly url: string;
  close(): Promise<void>;
}

/** Other applications name their issuer with or without a path and a trailing slash. */
async function startApplication(path: string): Promise<Application> {
  let issuer: DevelopmentIssuer | undefined;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => issuer?.fetch(request) ?? new Response(null, { status: 503 }),
  });
  const url = `http://127.0.0.1:${server.port}`;
  issuer = createDevelopmentIssuer({
    issuer: url + path,
    audience: [AUDIENCE, OTHER_AUDIENCE],
    clients: [
      { id: 'reader', secret: SECRET, scope: 'read:reports export' },
      { id: 'writer', scope: ['write:reports'] },
      { id: 'visitor' },
    ],
  });
  return { issuer, url: url + path, close: () => server.stop(true) };
}

for (const path of ['/', '', '/tenant', '/tenant/']) {
  describe(`createDevelopmentIssuer() in Bun.serve, named with the path ${JSON.stringify(path)}`, () => {
    let application: Application;
    beforeAll(async () => {
      application = await startApplication(path);
    });
    afterAll(() => application.close());

    const secretOf = (id: string) => application.issuer.clients.find((client) => client.id === id)?.secret ?? '';
    const discover = (id: string, authenticate = ClientSecretBasic) => {
      const server = new URL(application.url);
      const settings = { ...overLoopback, algorithm: 'oauth2' } as const;
      return discovery(server, id, undefined, authenticate(secretOf(id)), settings);
    };
    const scopeOf = (token: string) => decodeJwt(token).scope;

    for (const [name, authenticate] of Object.entries({ ClientSecretBasic, ClientSecretPost })) {
      test(`grants each client of openid-client what it is listed with, by ${name}`, async () => {
        const { check } = createGuard(application.issuer.options);
        for (const [id, scope] of [
          ['reader', 'read:reports export'],
          ['writer', 'write:reports'],
          ['visitor', undefined],
        ] as const) {
          const { access_token: token } = await clientCredentialsGrant(await discover(id, authenticate));
          expect(scopeOf(token)).toBe(scope);
          const headers = { authorization: `Bearer ${token}` };
          const result = await check(new Request('http://localhost/', { headers }), { scope: 'read:reports' });
          expect(result instanceof Response ? result.status : 200).toBe(id === 'reader' ? 200 : 403);
        }
      });
    }

    test('is an issuer whose keys a guard finds', async () => {
      const { issuer, audience } = application.issuer.options;
      const { check } = createGuard({ issuer, audience });
      const { access_token: token } = await clientCredentialsGrant(await discover('visitor'));
      const headers = { authorization: `Bearer ${token}` };
      const result = await check(new Request('http://localhost/', { headers }));
      expect(result instanceof Response ? await result.text() : result.claims.sub).toBe('visitor');
    });

    for (const parameter of ['audience', 'resource'])
      test(`issues tokens for the ${parameter} that is requested, and for none that it does not know`, async () => {
        const client = await discover('reader');
        const request = async (value: string) =>
          decodeJwt((await clientCredentialsGrant(client, { [parameter]: value })).access_token).aud;
        expect(await request(OTHER_AUDIENCE)).toBe(OTHER_AUDIENCE);
        expect(await request(AUDIENCE)).toBe(AUDIENCE);
        await expect(request('https://elsewhere.test')).rejects.toMatchObject({ error: 'invalid_target' });
      });

    test('issues no token if audience and resource differ', async () => {
      const parameters = { audience: AUDIENCE, resource: OTHER_AUDIENCE };
      const requested = clientCredentialsGrant(await discover('reader'), parameters);
      await expect(requested).rejects.toMatchObject({ error: 'invalid_target' });
    });

    test('binds a token to the key of a proof of oauth4webapi, and to no proof for another address', async () => {
      const { issuer, token_endpoint: address = '' } = await oauth
        .discoveryRequest(new URL(application.url), { algorithm: 'oauth2', [oauth.allowInsecureRequests]: true })
        .then((response) => oauth.processDiscoveryResponse(new URL(application.url), response));
      const client = { client_id: 'reader' };
      const handle = oauth.DPoP({}, await oauth.generateKeyPair('ES256'));
      const request = async (endpoint: string) => {
        const server = { issuer, token_endpoint: endpoint };
        const options = { DPoP: handle, [oauth.allowInsecureRequests]: true };
        const authenticate = oauth.ClientSecretBasic(secretOf('reader'));
        const response = await oauth.clientCredentialsGrantRequest(server, client, authenticate, {}, options);
        return oauth.processClientCredentialsResponse(server, client, response);
      };
      const { access_token: token, token_type: type } = await request(address);
      expect(type).toBe('dpop');
      expect(decodeJwt(token).cnf).toEqual({ jkt: await handle.calculateThumbprint() });
      // The same server by another name.
      await expect(request(address.replace('127.0.0.1', 'localhost'))).rejects.toMatchObject({
        error: 'invalid_dpop_proof',
      });
    });

    test('binds a token to the key of a proof of openid-client', async () => {
      const client = await discover('visitor');
      const DPoP = getDPoPHandle(client, await randomDPoPKeyPair('Ed25519'));
      const { access_token: token } = await clientCredentialsGrant(client, {}, { DPoP });
      expect(decodeJwt(token).cnf).toEqual({ jkt: await DPoP.calculateThumbprint() });
    });

    test('answers a foreign Host with 421, and another path or method as HTTP has it', async () => {
      const base = application.url.replace(/\/$/, '');
      const send = async (path: string, init?: RequestInit) => {
        const response = await fetch(base + path, init);
        return [response.status, response.headers.get('allow'), response.headers.get('content-type')];
      };
      const type = 'application/json';
      const foreign = { headers: { host: 'evil.example' } };
      for (const endpoint of ['/.well-known/jwks.json', '/.well-known/oauth-authorization-server', '/elsewhere'])
        expect(await send(endpoint, foreign)).toEqual([421, null, type]);
      expect(await send('/oauth/token', { ...foreign, method: 'POST' })).toEqual([421, null, type]);
      expect(await send('/oauth/token')).toEqual([405, 'POST', type]);
      expect(await send('/.well-known/jwks.json', { method: 'POST' })).toEqual([405, 'GET, HEAD', type]);
      expect(await send('/.well-known/jwks.json', { method: 'HEAD' })).toEqual([200, null, type]);
      expect(await send('/elsewhere')).toEqual([404, null, type]);
      expect(await send('/my-oauth/token', { method: 'POST' })).toEqual([404, null, type]);
    });
  });
}

const good: DevelopmentIssuerOptions = {
  issuer: 'http://localhost:3011/',
  audience: AUDIENCE,
  clients: [{ id: 'reader', scope: 'read:reports' }],
};

describe('createDevelopmentIssuer()', () => {
  for (const issuer of ['http://localhost:3011', 'https://localhost/', 'http://127.0.0.1:1/', 'http://[::1]:3011/dev'])
    test(`accepts the issuer ${issuer}`, () => {
      expect(createDevelopmentIssuer({ ...good, issuer }).options.issuer).toBe(issuer);
    });

  const faults: readonly [name: string, options: object, message: string][] = [
    ...[
      'https://tenant.example.com/',
      'http://localhost.example.com/',
      'http://10.0.0.1/',
      'http://0.0.0.0/',
      'http://user@localhost/',
      'http://localhost/?query',
      'http://localhost/#fragment',
      'localhost',
      '',
      undefined,
    ].map((issuer): [string, object, string] => [`the issuer ${issuer}`, { issuer }, 'issuer must be']),
    ['an empty audience', { audience: '' }, 'audience must be'],
    ['no audience', { audience: [] }, 'audience must be'],
    ['clients that are missing', { clients: undefined }, 'clients must be'],
    ['no clients', { clients: [] }, 'clients must be'],
    ['two clients with one ID', { clients: [{ id: 'a' }, { id: 'a' }] }, 'clients must be'],
    ['a client without an ID', { clients: [{}] }, 'clients must be'],
    ['an empty secret', { clients: [{ id: 'a', secret: '' }] }, 'the secret of "a" must be'],
  ];
  for (const [name, options, message] of faults)
    test(`throws a TypeError for ${name}`, () => {
      const create = () => createDevelopmentIssuer({ ...good, ...options } as DevelopmentIssuerOptions);
      expect(create).toThrow(TypeError);
      expect(create).toThrow(message);
    });

  test('makes a secret for each client without one', () => {
    const clients = [{ id: 'a' }, { id: 'b' }];
    const secrets = [good, good].flatMap((options) =>
      createDevelopmentIssuer({ ...options, clients }).clients.map(({ secret }) => secret),
    );
    expect(new Set(secrets).size).toBe(4);
    for (const secret of secrets) expect(secret).toMatch(/^[\da-f]{32}$/);
  });
});
