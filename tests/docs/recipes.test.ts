import { describe, expect, spyOn, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { McpServer as FirstServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { WebStandardStreamableHTTPServerTransport as FirstTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { context, metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import express, { type RequestHandler } from 'express';
import { decodeJwt, SignJWT } from 'jose';
import { clientCredentialsGrant, tokenRevocation } from 'openid-client';
import { createGuard } from '../../src/auth/index.ts';
import { requireToken } from '../../src/auth/node.ts';
import { beginSession, expectOwnSessions, sessionClient } from '../examples/mcp-server.ts';
import { logIn, startAuthorizationServer } from '../support/authorization-server.ts';
import { certificate } from '../support/certificates.ts';
import { runToEnd, until } from '../support/child-process.ts';
import { serve } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { readText } from '../support/repository.ts';
import { respond } from '../support/respond.ts';
import { audience, blocks, ecSigner, folder, issuer, load, url, write } from './blocks.ts';

const respondEmpty: RequestHandler = (_request, response) => void response.end();

let copies = 0;
/**
 * Returns what a block or an example exports, from a module of its own: other tests may have sent requests to the
 * block, or imported it earlier.
 */
async function loadCopy(id: string, change = (text: string) => text) {
  const file = `copy-${++copies}.ts`;
  const text = blocks.find((block) => block.id === id)?.text ?? (await readText(`examples/${id}.ts`));
  await write(file, change(text));
  return import(join(folder, file));
}

describe('the recipe', () => {
  test.each([
    ['Elysia', 'guides/websockets#Browsers', 'events'],
    ['Bun.serve', 'guides/websockets#Browsers 2', ''],
  ])('guides/websockets: %s selects the subprotocol bearer', async (_, block, path) => {
    const loaded = await loadCopy(block, (text) => text.replace('port: 3010', "hostname: '127.0.0.1', port: 0"));
    const server = loaded.server ?? loaded.app.listen({ hostname: '127.0.0.1', port: 0 }).server;
    const address = new URL(path, server.url).href.replace('http', 'ws');
    const token = await issuer.token({ iss: url, aud: audience, sub: 'ada', scope: 'read:events' });
    const protocol = (...protocols: readonly string[]) =>
      new Promise<string>((done) => {
        const socket = new WebSocket(address, [...protocols]);
        socket.onmessage = ({ data }) => done(`${socket.protocol}: ${data}`);
        socket.onerror = () => done('rejected');
      });
    expect([await protocol('bearer', token), await protocol('bearer', `${token}x`)]).toEqual([
      'bearer: Hello ada',
      'rejected',
    ]);
    await server.stop(true);
  });

  test('examples/mcp: a session is found by the user who began it, and by nobody else', async () => {
    const { fetch } = await load('examples/mcp#Sessions');
    const send = sessionClient(
      (init) => fetch(new Request(`${audience}/mcp`, init)),
      (claims) => issuer.token({ iss: url, aud: `${audience}/mcp`, ...claims }),
    );
    await expectOwnSessions(send);
  });

  test('examples/mcp: a new session ends the one of its user that was not used for longest, and none of others', async () => {
    const { fetch } = await loadCopy('examples/mcp#Sessions', (text) => text.replace('max: 10,', 'max: 2,'));
    const send = sessionClient(
      (init) => fetch(new Request(`${audience}/mcp`, init)),
      (claims) => issuer.token({ iss: url, aud: `${audience}/mcp`, ...claims }),
    );
    const ids = [];
    for (const sub of ['bob', 'ada', 'ada', 'ada']) ids.push(await beginSession(send, sub));
    const [ofBob, ...ofAda] = ids;
    const statuses = [await send('bob', ofBob), ...(await Promise.all(ofAda.map((id) => send('ada', id))))];
    expect(statuses.map(({ status }) => status)).toEqual([200, 404, 200, 200]);
  });

  test.each([
    ['1', FirstServer, FirstTransport],
    ['2', McpServer, WebStandardStreamableHTTPServerTransport],
  ] as const)(
    'examples/mcp: a transport of the SDK %s replays the events of a session in that session only',
    async (_, Server, Transport) => {
      const { SessionEvents } = await loadCopy('examples/mcp#An event store for each session');
      const begin = async (user: string) => {
        const server = new Server({ name: 'notes', version: '1.0.0' });
        (server as McpServer).registerTool('read', {}, () => ({
          content: [{ type: 'text', text: `A note of ${user}` }],
        }));
        const transport = new Transport({ sessionIdGenerator: () => user, eventStore: new SessionEvents() });
        await server.connect(transport as never);
        const headers = {
          ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
          'mcp-protocol-version': '2025-11-25',
        };
        const send = async (init: RequestInit, more = {}) => {
          const request = new Request(`${audience}/mcp`, { ...init, headers: { ...headers, ...more } });
          return transport.handleRequest(request);
        };
        const post = (method: string, params: object, more = {}) =>
          send({ method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }) }, more);
        const clientInfo = { name: 'test', version: '1.0.0' };
        await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
        const inSession = { 'mcp-session-id': user };
        const events = await (await post('tools/call', { name: 'read', arguments: {} }, inSession)).text();
        const [first = ''] = [...events.matchAll(/^id: (.*)$/gm)].map(([, id = '']) => id);
        /** Returns what is replayed after an event, until the stream says nothing for a moment. */
        const replay = async (id: string) => {
          const response = await send({ method: 'GET' }, { ...inSession, 'last-event-id': id });
          if (!response.ok) return String(response.status);
          const part = await response.body?.getReader().read();
          return new TextDecoder().decode(part?.value);
        };
        return { first, replay };
      };
      const [ada, bob] = [await begin('ada'), await begin('bob')];
      expect([await ada.replay(ada.first), await bob.replay(ada.first)]).toEqual([
        expect.stringContaining('A note of ada'),
        '400',
      ]);
    },
  );

  test('guides/websockets#GraphQL subscriptions and message queues: a token without a request', async () => {
    const id = 'guides/websockets#GraphQL subscriptions and message queues';
    const { checkToken } = await loadCopy(id);
    const good = { iss: url, aud: audience, sub: 'ada', scope: 'read:events' };
    expect(await checkToken(await issuer.token(good), 'read:events')).toMatchObject({ claims: { sub: 'ada' } });
    const bound = await issuer.token(good, { boundTo: 'dpop' });
    for (const token of [await issuer.token({ ...good, scope: '' }), bound, 'a\nb', '\u20ac', '', undefined, {}])
      expect(await checkToken(token, 'read:events')).toBeUndefined();
    const down = serve(() => new Response(null, { status: 500 }));
    const queue = await loadCopy(id, (text) => text.replace('https://tenant.example.com/', down.url.href));
    const unknown = await issuer.token({ ...good, iss: down.url.href });
    await expect(queue.checkToken(unknown, 'read:events')).rejects.toThrow('Cannot check');
    await down.stop(true);
  });

  test('guides/openapi: its client reads the orders, and knows the body of a 403', async () => {
    const { app } = await load('guides/openapi');
    const server = serve((request) => app.handle(request));
    const client = blocks.find(({ id }) => id === 'guides/openapi#Typed client')?.text ?? '';
    await write('client.ts', client.replace('http://localhost:3010', server.url.origin));
    const runWith = async (scope: string) =>
      runToEnd([process.execPath, join(folder, 'client.ts')], {
        TOKEN: await issuer.token({ iss: url, aud: audience, scope }),
      });
    expect(await runWith('read:orders')).toMatchObject({ status: 0, stdout: '[ "tea" ]\n' });
    const { status, stderr } = await runWith('');
    expect(status).toBe(1);
    expect(stderr).toContain('error: Token does not have the scope');
    await server.stop(true);
  });

  test('guides/several-issuers#An issuer in the same process: its handler publishes the keys', async () => {
    const requested: string[] = [];
    const handler = async (request: Request) => {
      requested.push(request.url);
      return Response.json({ keys: [{ ...ecSigner.jwk, kid: 'ec' }] });
    };
    Object.assign(globalThis, { auth: { handler } });
    const id = 'guides/several-issuers#An issuer in the same process';
    const { guard } = await loadCopy(id, (text) => text.replace('EdDSA', 'ES256'));
    const claims = decodeJwt(await issuer.token({ iss: 'https://auth.example.com/api/auth', aud: audience }));
    const headers = bearer(ecSigner.sign({ kid: 'ec', typ: 'JWT' }, claims));
    expect(await guard.check(new Request(audience, { headers }))).toMatchObject({ claims });
    expect(requested).toEqual(['https://auth.example.com/api/auth/jwks']);
    Reflect.deleteProperty(globalThis, 'auth');
  });

  test('guides/several-issuers#Several guards for one issuer: they share a fetch for a second', async () => {
    let fetches = 0;
    const publisher = serve(() => {
      fetches += 1;
      return Response.json(issuer.options.keys);
    });
    const { orders, reports } = await loadCopy('guides/several-issuers#Several guards for one issuer', (text) =>
      text.replace('https://tenant.example.com/', publisher.url.href).replace('1000', '1'),
    );
    const requestFor = async (aud: string) =>
      new Request(audience, { headers: bearer(await issuer.token({ iss: publisher.url.href, aud })) });
    const [forOrders, forReports] = [await requestFor('orders'), await requestFor('reports')];
    const results = await Promise.all([orders.check(forOrders), reports.check(forReports), reports.check(forOrders)]);
    expect(results).toMatchObject([{ claims: { aud: 'orders' } }, { claims: { aud: 'reports' } }, { status: 401 }]);
    expect(fetches).toBe(1);
    await until(async () => (await orders.reload()) && fetches > 1, 'a fetch that is not shared');
    await publisher.stop(true);
  });

  test('guides/several-issuers#Several resources: each host has its own metadata, and takes no token of another', async () => {
    const { fetch } = await load('guides/several-issuers#Several resources');
    for (const [host, other] of [
      ['orders.example.com', 'reports.example.com'],
      ['reports.example.com', 'orders.example.com'],
    ]) {
      const metadata = await fetch(new Request(`https://${host}/.well-known/oauth-protected-resource`));
      expect(await metadata.json()).toMatchObject({ resource: `https://${host}` });
      const headers = bearer(await issuer.token({ iss: url, aud: `https://${host}`, sub: 'ada' }));
      expect(await (await fetch(new Request(`https://${host}/`, { headers }))).json()).toBe(`ada at ${host}`);
      const rejection = await fetch(new Request(`https://${other}/`, { headers }));
      expect(rejection.status).toBe(401);
      expect(rejection.headers.get('www-authenticate')).toContain(`"https://${other}/.well-known/`);
    }
  });

  test('settings#keys: a public key in PEM verifies a token', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    process.env.PUBLIC_KEY = publicKey.export({ type: 'spki', format: 'pem' }).toString();
    const { keys } = await loadCopy('settings#keys');
    const guard = createGuard({ issuer: url, audience, keys });
    const claims = decodeJwt(await issuer.token({ iss: url, aud: audience }));
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1' }).sign(privateKey);
    expect(await guard.check(new Request(audience, { headers: bearer(token) }))).toMatchObject({ token });
  });

  test('examples/mcp: an outage is a 500 of a server with a verifier, without Retry-After', async () => {
    const guard = blocks.find(({ id }) => id === 'examples/mcp')?.text ?? '';
    await write('mcp-outage.ts', guard.replace('https://tenant.example.com/', 'http://127.0.0.1:1/'));
    const { default: app } = await loadCopy('examples/mcp#Servers with a verifier', (text) =>
      text.replace('./mcp-guard.ts', './mcp-outage.ts'),
    );
    const token = await issuer.token({ iss: 'http://127.0.0.1:1/', aud: `${audience}/mcp` });
    const response = await respond(app, new Request(`${audience}/mcp`, { method: 'POST', headers: bearer(token) }));
    expect([response.status, response.headers.get('retry-after')]).toEqual([500, null]);
  });

  test('guides/own-issuer: the guard accepts the token that the application issues, and during a rotation those of both keys', async () => {
    const next = JSON.stringify({ ...ecSigner.jwk, kid: 'key-2' });
    const claims = {
      iss: url,
      aud: audience,
      sub: 'bob',
      scope: 'read:orders',
      exp: Math.floor(Date.now() / 1000) + 60,
    };
    const ofNext = ecSigner.sign({ kid: 'key-2', typ: 'at+jwt' }, claims);
    for (const [keys, ofBoth] of [
      ['[', [200, 401]],
      [`[${next}, `, [200, 200]],
    ] as const) {
      const { fetch } = await loadCopy('guides/own-issuer', (text) => text.replace(/(?<=keys: \{ keys: )\[/, keys));
      const authenticated = { method: 'POST', headers: { cookie: 'session=of-ada' } };
      const { access_token: token } = await (await fetch(new Request(`${audience}/token`, authenticated))).json();
      const send = async (sent: string) => (await fetch(new Request(audience, { headers: bearer(sent) }))).status;
      expect([await send(token), await send(ofNext)]).toEqual([...ofBoth]);
    }
  });

  test('start/elysia: a rate limiter in onRequest counts requests that the guard rejects', async () => {
    const { app } = await loadCopy('start/elysia#Rate limits');
    const statuses: number[] = [];
    for (let sent = 0; sent < 102; sent++)
      statuses.push((await app.handle(new Request('http://localhost/orders', { headers: bearer('a.b.c') }))).status);
    expect([statuses.slice(0, 100).every((status) => status === 401), ...statuses.slice(100)]).toEqual([
      true,
      429,
      429,
    ]);
  });

  test('guides/certificates#FAPI 2.0: a request with a proof is accepted once, and only with a token of type at+jwt', async () => {
    const { fetch } = await load('guides/certificates#FAPI 2.0');
    const claims = decodeJwt(await issuer.token({ iss: url, aud: audience }, { boundTo: 'dpop' }));
    const requestWith = async (typ: string) => {
      const token = ecSigner.sign({ kid: 'ec', typ }, claims);
      const request = new Request(audience, { headers: { authorization: `DPoP ${token}` } });
      request.headers.set('dpop', await issuer.proof(request, token));
      return request;
    };
    const sent = await requestWith('at+jwt');
    const responses = [await fetch(sent), await fetch(new Request(sent)), await fetch(await requestWith('JWT'))];
    const challenges = responses.map(({ headers }) => headers.get('www-authenticate')?.match(/error="(\w+)"/)?.[1]);
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 401]);
    expect(challenges).toEqual([undefined, 'invalid_dpop_proof', 'invalid_token']);
  });

  test('guides/certificates#FAPI 2.0 2: without DPoP, a token needs the certificate to which it is bound', async () => {
    const { fetch } = await load('guides/certificates#FAPI 2.0 2');
    const { pem, field } = certificate('a');
    const sendWith = async (boundTo?: string) => {
      const claims = decodeJwt(await issuer.token({ iss: url, aud: audience }, { boundTo }));
      const headers = { ...bearer(ecSigner.sign({ kid: 'ec', typ: 'at+jwt' }, claims)), 'client-cert': field };
      return (await fetch(new Request(audience, { headers }))).status;
    };
    expect([await sendWith(pem), await sendWith(certificate('b').pem), await sendWith()]).toEqual([200, 401, 401]);
  });

  test('guides/observability: a rejection is counted by its reason, and the client is an attribute of the span', async () => {
    /** A counter or attribute, and its values. */
    const observed: unknown[] = [];
    const createCounter = (name: string) => ({ add: (...given: unknown[]) => observed.push([name, ...given]) });
    metrics.setGlobalMeterProvider({ getMeter: () => ({ createCounter }) } as never);
    const span = { setAttribute: (...given: unknown[]) => observed.push(given) };
    context.setGlobalContextManager({ active: () => trace.setSpan(ROOT_CONTEXT, span as never) } as never);
    const { fetch } = await loadCopy('guides/observability');
    const token = await issuer.token({ iss: url, aud: audience, client_id: 'app' });
    await fetch(new Request(audience, { headers: bearer(token) }));
    await fetch(new Request(audience));
    expect(observed).toEqual([
      ['client.id', 'app'],
      ['access_token_rejections', 1, { reason: 'credentials_missing' }],
    ]);
  });

  test('guides/observability: a claim with a line break is a part of one line of the log', async () => {
    const { logRequest } = await loadCopy('guides/observability#Access logs');
    const { app } = await loadCopy('guides/observability#Hooks and traces of Elysia');
    const guarded = requireToken(createGuard({ issuer: url, audience }));
    const server = express().use(logRequest).get('/me', guarded, respondEmpty).listen(0);
    const sub = 'ada\nGET /admin 200';
    const headers = bearer(await issuer.token({ iss: url, aud: audience, sub }));
    const logged = spyOn(console, 'log').mockReturnValue();
    await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/me`, { headers });
    await app.fetch(new Request(`${audience}/me`, { headers }));
    await until(() => logged.mock.calls.length > 1, 'two lines');
    const lines = logged.mock.calls.map((given) => given.join(' '));
    logged.mockRestore();
    server.close();
    const escaped = JSON.stringify(sub);
    expect(lines).toEqual([`["GET","/me",200,${escaped}]`, `["GET",200,${escaped}]`]);
  });

  test('guides/token-exchange: the server starts while the issuer is down, and exchanges tokens once it is up', async () => {
    const orders = serve(({ headers }) => Response.json(headers.get('authorization')));
    const asked: string[] = [];
    let isUp = false;
    let wrong: string | undefined;
    const relay = serve((request) => {
      const { pathname } = new URL(request.url);
      asked.push(pathname);
      if (!isUp && !pathname.endsWith('jwks.json')) return new Response(null, { status: 503 });
      if (request.method === 'POST') return wrong ? new Response(wrong) : fetch(new Request(url, request));
      const from = relay.url.href;
      return Response.json({ issuer: from, token_endpoint: from, keys: issuer.options.keys.keys });
    });
    const exchanging = await loadCopy('guides/token-exchange', (text) =>
      text
        .replace('https://orders.example.com/orders', orders.url.href)
        .replace('https://tenant.example.com/', relay.url.href),
    );
    expect(asked).toEqual([]);
    const claims = { iss: relay.url.href, aud: audience, sub: 'ada', scope: 'read:orders' };
    const headers = bearer(await issuer.token(claims));
    const logged = spyOn(console, 'error').mockReturnValue();
    const send = async () => {
      const response = await exchanging.fetch(new Request(audience, { headers }));
      return [response.status, await response.json()];
    };
    expect(await send()).toEqual([502, { error: 'bad_gateway' }]);
    expect(logged).toHaveBeenCalledTimes(1);
    isUp = true;
    for (const _ of [1, 2]) expect(await send()).toEqual([200, 'Bearer ada https://orders.example.com my-api']);
    expect(asked.filter((path) => path.endsWith('openid-configuration')).length).toBe(2);
    // Nothing of a response that has no token reaches the other API or the log.
    for (wrong of ['{"access_token":"secret\\nvalue"}', 'secret', '{}', '{"access_token":["secret"]}'])
      expect(await send()).toEqual([502, { error: 'bad_gateway' }]);
    expect(Bun.inspect(logged.mock.calls.map(([, error]) => String(error)))).not.toContain('secret');
    await relay.stop(true);
    expect(await send()).toEqual([502, { error: 'bad_gateway' }]);
    logged.mockRestore();
    await orders.stop(true);
  });

  test('guides/opaque-tokens: a real server says whether its token is active', async () => {
    const resource = 'https://api.example.com/opaque';
    const server = await startAuthorizationServer([resource]);
    const { reader } = server.clients;
    const [required] = (await readText('docs/guides/opaque-tokens.md')).match(/requiredClaims: \{.*?\}/) ?? [];
    const changes: readonly [string | RegExp, string][] = [
      ['https://tenant.example.com/', server.issuer],
      ['}token/introspection', '}/token/introspection'],
      ["'my-api'", `'${reader.id}'`],
      ["process.env.CLIENT_SECRET ?? ''", `'${reader.secret}'`],
      // Otherwise, only its missing audience would reject the refresh token.
      [/(?<=return )oauth.processIntrospectionResponse.*(?=;)/, `{ aud: '${resource}', ...(await $&) }`],
      // Loopback has no certificate.
      ['additionalParameters:', '[oauth.allowInsecureRequests]: true, additionalParameters:'],
      ["audience: 'https://api.example.com'", `audience: '${resource}', ${required}`],
    ];
    const { guard } = await loadCopy('guides/opaque-tokens', (text) =>
      changes.reduce((changed, [part, other]) => changed.replace(part, other), text),
    );
    const client = await server.discover('reader');
    const { access_token: token } = await clientCredentialsGrant(client, { resource });
    const user = await logIn(client, resource, String(reader.scope));
    const check = (token: string) => guard.check(new Request(audience, { headers: bearer(token) }));
    expect(await check(token)).toMatchObject({ token, clientId: reader.id });
    expect(await check(user.access_token)).toMatchObject({ claims: { sub: 'ada' } });
    for (const other of [`${token}x`, String(user.refresh_token)])
      expect(await check(other)).toMatchObject({ status: 401 });
    await server.close();
  });

  test('guides/opaque-tokens: stops waiting for a silent server once its time is over', async () => {
    const asked = Promise.withResolvers<void>();
    const silent = serve(() => {
      asked.resolve();
      return new Promise<Response>(() => {});
    });
    const { introspect } = await loadCopy('guides/opaque-tokens', (text) =>
      text
        .replace(/`.*token\/introspection`/, `'${silent.url}'`)
        .replace("process.env.CLIENT_SECRET ?? ''", "'secret'")
        .replace('additionalParameters:', '[oauth.allowInsecureRequests]: true, additionalParameters:')
        .concat('export { introspect };'),
    );
    const time = new AbortController();
    const response = introspect('opaque', { signal: time.signal });
    await asked.promise;
    time.abort();
    expect(await response.catch((error: unknown) => error)).toBeInstanceOf(Error);
    await silent.stop(true);
  });

  test('guides/opaque-tokens#API keys beside JWTs: one guard accepts both', async () => {
    const { guard } = await loadCopy('guides/opaque-tokens#API keys beside JWTs');
    const subjectOf = async (token: string) => {
      const result = await guard.check(new Request(audience, { headers: bearer(token) }), { scope: 'read:messages' });
      return result instanceof Response ? result.status : result.claims.sub;
    };
    const jwt = await issuer.token({ iss: url, aud: audience, sub: 'ada', scope: 'read:messages' });
    const subjects = await Promise.all(['key_of_acme', 'key_of_acmd', jwt].map(subjectOf));
    expect(subjects).toEqual(['key:acme', 401, 'ada']);
  });

  test('guides/opaque-tokens#Fewer requests to the issuer: only active: true is kept, and asked about once', async () => {
    const asked: string[] = [];
    const response = { aud: audience, exp: 2_000_000_000 };
    Object.assign(globalThis, {
      async introspect(token: string) {
        asked.push(token);
        return { ...response, active: token === 'good' };
      },
    });
    const { guard } = await loadCopy('guides/opaque-tokens#Fewer requests to the issuer');
    for (const token of ['good', 'bad', 'good', 'bad']) {
      const check = () => guard.check(new Request(audience, { headers: bearer(token) }));
      expect(await Promise.all([check(), check()])).toMatchObject(
        Array(2).fill(token === 'good' ? { token } : { status: 401 }),
      );
    }
    expect(asked).toEqual(['good', 'bad', 'bad']);
    Reflect.deleteProperty(globalThis, 'introspect');
  });

  describe('examples/logout-receiver.ts', () => {
    const now = Math.floor(Date.now() / 1000);
    const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
    const caepEvent = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
    let sent = 0;
    const setOf = (type: string, typ: string, claims: object) =>
      ecSigner.sign(
        { kid: 'ec', typ },
        { iss: url, aud: 'my-api', iat: now, jti: `${++sent}`, events: { [type]: {} }, ...claims },
      );
    const logout = (claims: object, typ = 'logout+jwt') => setOf(logoutEvent, typ, { exp: now + 120, ...claims });
    const caep = (sub_id: object | undefined, claims = {}) => setOf(caepEvent, 'secevent+jwt', { sub_id, ...claims });
    let loaded: ReturnType<typeof loadCopy> | undefined;
    const receiver = () => {
      loaded ??= loadCopy('logout-receiver');
      return loaded;
    };
    const post = async (path: string, body: string | URLSearchParams) =>
      (await (await receiver()).fetch(new Request(`${audience}/${path}`, { method: 'POST', body }))).status;
    const statusOf = async (claims: object) => {
      const token = await issuer.token({ iss: url, aud: audience, ...claims });
      return (await (await receiver()).fetch(new Request(audience, { headers: bearer(token) }))).status;
    };

    test('a session that is logged out, and the earlier tokens of a user, are rejected', async () => {
      const send = (text: string) => post('backchannel-logout', new URLSearchParams({ logout_token: text }));
      const ofSession = logout({ sid: 's1', sub: 'ada' });
      expect([await statusOf({ sid: 's1', sub: 'ada' }), await send(ofSession)]).toEqual([200, 200]);
      expect([await statusOf({ sid: 's1', sub: 'ada' }), await statusOf({ sid: 's2', sub: 'ada' })]).toEqual([
        401, 200,
      ]);
      expect(await send(ofSession)).toBe(400);
      expect(await send(logout({ sub: 'bob' }))).toBe(200);
      expect([await statusOf({ sub: 'bob', iat: now }), await statusOf({ sub: 'bob', iat: now + 1 })]).toEqual([
        401, 200,
      ]);
    });

    test.each([
      ['of another type', logout({ sub: 'eve' }, 'JWT')],
      ['with a nonce', logout({ sub: 'eve', nonce: 'n' })],
      ['of another event', logout({ sub: 'eve', events: { other: {} } })],
      ['without an event', logout({ sub: 'eve', events: undefined })],
      ['of another issuer', logout({ sub: 'eve', iss: 'https://other.example.test/' })],
      ['for another client', logout({ sub: 'eve', aud: 'other' })],
      ['that has expired', logout({ sub: 'eve', exp: now - 1 })],
      ['without exp', logout({ sub: 'eve', exp: undefined })],
      ['without jti', logout({ sub: 'eve', jti: undefined })],
      ['without sid and sub', logout({})],
      ['that nobody signed', logout({ sub: 'eve' }).replace(/[^.]*$/, 'AAAA')],
    ])('a logout token %s changes nothing', async (_, text) => {
      expect(await post('backchannel-logout', new URLSearchParams({ logout_token: text }))).toBe(400);
      expect(await post('security-events', text)).toBe(400);
      expect(await statusOf({ sub: 'eve', iat: now })).toBe(200);
    });

    test('a CAEP event revokes a session or a user of this issuer, and may be sent twice', async () => {
      const user = { format: 'iss_sub', iss: url, sub: 'cyd' };
      const session = { format: 'complex', user, session: { format: 'opaque', id: 's3' } };
      const [ofSession, ofUser] = [
        caep(session),
        caep(user, { events: { [caepEvent]: { event_timestamp: now - 60 } } }),
      ];
      for (const text of [ofSession, ofSession, ofUser]) expect(await post('security-events', text)).toBe(202);
      expect([await statusOf({ sid: 's3', sub: 'cyd' }), await statusOf({ sid: 's4', sub: 'cyd' })]).toEqual([
        401, 200,
      ]);
      expect(await statusOf({ sub: 'cyd', iat: now - 60 })).toBe(401);
      for (const other of [{ ...user, iss: 'https://other.example.test/', sub: 'dan' }, undefined])
        expect(await post('security-events', caep(other))).toBe(400);
      expect(await statusOf({ sub: 'dan', iat: now })).toBe(200);
      const timed = (at: unknown) =>
        caep({ ...user, sub: 'fay' }, { events: { [caepEvent]: { event_timestamp: at } } });
      // What was not accepted is not accepted when it is sent again. What has no time does not hide a later one.
      for (const text of [timed('soon'), timed(null), caep({ id: 'x' })])
        for (const _ of [1, 2]) expect(await post('security-events', text)).toBe(400);
      expect([await post('security-events', timed(now)), await statusOf({ sub: 'fay', iat: now })]).toEqual([202, 401]);
    });

    test('an outage of the issuer is a 503, so that it sends the token again, and a long body is not read', async () => {
      const sendTo = async (keyUrl: string, text: string) => {
        process.env.JWKS_URL = keyUrl;
        const { fetch } = await loadCopy('logout-receiver');
        Reflect.deleteProperty(process.env, 'JWKS_URL');
        const bodies = { 'backchannel-logout': new URLSearchParams({ logout_token: text }), 'security-events': text };
        const requests = Object.entries(bodies).map(([path, body]) =>
          fetch(new Request(`${audience}/${path}`, { method: 'POST', body })),
        );
        return (await Promise.all(requests)).map(({ status }) => status);
      };
      expect(await sendTo('http://127.0.0.1:1/', logout({ sub: 'eve' }))).toEqual([503, 503]);
      expect(await sendTo('http://127.0.0.1:1/', `${logout({ sub: 'eve' })}${'A'.repeat(2 ** 16)}`)).toEqual([
        400, 400,
      ]);
    });
  });

  test('examples/introspected-jwt.ts: a token is rejected once its grant is revoked', async () => {
    const server = await startAuthorizationServer([audience]);
    const { reader } = server.clients;
    let questions = 0;
    let isSilent = false;
    const relay = serve(async (request) => {
      questions += 1;
      if (isSilent) return new Promise<Response>(() => {});
      return fetch(`${server.issuer}/introspection-of-jwt`, {
        method: 'POST',
        headers: { authorization: request.headers.get('authorization') ?? '' },
        body: await request.text(),
      });
    });
    const loadRecipe = (ttl: string, limitMs = '3000') =>
      loadCopy('introspected-jwt', (text) =>
        text
          .replaceAll('https://tenant.example.com/', server.issuer)
          .replace("'my-api'", `'${reader.id}'`)
          .replace('(CLIENT_SECRET)', `('${reader.secret}')`)
          .replace('const options = {', '$& [oauth.allowInsecureRequests]: true,')
          .replace('ttl: 10_000', ttl)
          .replace('3000', limitMs),
      );
    process.env.INTROSPECTION_ENDPOINT = relay.url.href;
    // The second is without its cache, as after ten seconds. The third has no time for the endpoint.
    const guards = [await loadRecipe('$&'), await loadRecipe('ttl: 1'), await loadRecipe('$&', '1')];
    Reflect.deleteProperty(process.env, 'INTROSPECTION_ENDPOINT');
    const client = await server.discover('reader');
    const { access_token: token, refresh_token: refresh } = await logIn(client, audience, String(reader.scope));
    const statusesOf = async (index: number, times: number) => {
      const check = async () => {
        const result = await guards[index].guard.check(new Request(audience, { headers: bearer(token) }));
        return result instanceof Response ? result.status : 200;
      };
      return Promise.all(Array.from({ length: times }, check));
    };
    expect([...(await statusesOf(0, 3)), ...(await statusesOf(0, 1))]).toEqual([200, 200, 200, 200]);
    expect(questions).toBe(1);
    await tokenRevocation(client, String(refresh));
    // Nothing is kept but `active: true`, so each further check asks.
    for (const _ of [1, 2]) expect(await statusesOf(1, 2)).toEqual([401, 401]);
    expect(questions).toBe(3);
    isSilent = true;
    expect(await statusesOf(2, 1)).toEqual([503]);
    await Promise.all([server.close(), relay.stop(true)]);
  });

  describe('start/workers#Cache the keys across cold starts', () => {
    /** Starts a guard with the entries of another one's cache, and returns its cache and the status of a request. */
    async function start(issuerUrl: string, entries: Iterable<readonly [string, object]> = []) {
      const { cache, guard } = await loadCopy('start/workers#Cache the keys across cold starts', (text) =>
        text.replace('https://tenant.example.com/', issuerUrl),
      );
      for (const entry of entries) cache.set(...entry);
      const headers = bearer(await issuer.token({ iss: issuerUrl, aud: audience }));
      const result = await guard.check(new Request(audience, { headers }));
      return { cache, status: result instanceof Response ? result.status : 200 };
    }

    test('a guard that starts during an outage uses an entry of the cache until it expires', async () => {
      await using server = Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        routes: {
          '/.well-known/openid-configuration': (): Response => Response.json({ issuer: url, jwks_uri: `${url}keys` }),
          '/keys': Response.json(issuer.options.keys),
        },
        fetch: () => new Response(null, { status: 404 }),
      });
      const url: string = server.url.href;
      const { cache, status } = await start(url);
      expect([status, cache.size]).toEqual([200, 3]);
      await server.stop(true);
      expect(await start(url, cache)).toMatchObject({ status: 200 });
      for (const entry of cache.values()) entry.expiresMs = Date.now();
      expect(await start(url, cache)).toMatchObject({ status: 503 });
    });

    test.each([
      [
        'is endless',
        () => new Response(new ReadableStream({ pull: (body) => body.enqueue(new Uint8Array(2 ** 16).fill(32)) })),
      ],
      ['is compressed', () => new Response(Bun.gzipSync('{}'), { headers: { 'content-encoding': 'gzip' } })],
    ])('keeps no response that %s', async (_, respond) => {
      await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: respond });
      const { cache, status } = await start(server.url.href);
      expect([status, cache.size]).toEqual([503, 0]);
    });
  });
});
