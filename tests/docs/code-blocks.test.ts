import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { context, metrics, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';
import { decodeJwt } from 'jose';
import { createGuard } from '../../src/auth/guard.ts';
import manifest from '../../src/auth/package.json';
import { createSigner } from '../../src/auth/testing/signer.ts';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { certificate } from '../support/certificates.ts';
import { serve } from '../support/fixture.ts';
import { bearer } from '../support/mint.ts';
import { readText, root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { migrationCells } from './migration-cells.ts';

const pages = ['README.md', 'docs/guard.md', 'docs/dpop.md', 'docs/coming-from.md', 'src/auth/README.md'];

/** Returns the TypeScript blocks of a page, each with the heading above it and the file that a test writes it to. */
async function blocksOf(page: string) {
  const sections = (await readText(page)).split(/^#+ /m).slice(1);
  const blocks = sections.flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => ({ heading: section.split('\n')[0], text })),
  );
  const name = page.replace(/\W+/g, '-').toLowerCase();
  return blocks.map((block, index) => {
    const isTest = block.text.includes("from 'node:test'");
    return { ...block, file: `${name}-${index}${isTest ? '.test' : ''}.ts` };
  });
}

const blocks = (await Promise.all(pages.map(blocksOf))).flat();
const issuer = await createTestIssuer();
const ecSigner = createSigner('ES256');
const keys = [...issuer.options.keys.keys, { ...ecSigner.jwk, kid: 'ec' }];
/** Publishes metadata and keys of two issuers in one document each, and exchanges a token for a sentence about it. */
const tenant = serve(async (request) => {
  const issuer = request.url.replace(/\.well-known.*/, '');
  if (request.method === 'GET') return Response.json({ issuer, jwks_uri: issuer, token_endpoint: issuer, keys });
  const form = Object.fromEntries(await request.formData());
  const { grant_type, subject_token, audience, client_id, client_secret } = form;
  const { sub } = decodeJwt(String(subject_token));
  return new Response([grant_type, sub, audience, client_id, client_secret].join(' '));
});
const url = tenant.url.href;
const options = { issuer: url, audience: 'https://api.example.com' };
const github = `${url}github/`;
const folder = temporaryFolder('dist');

// No test looks up a name: the issuers are on loopback.
for (const { file, text } of blocks)
  await Bun.write(
    join(folder, text.includes('export const options') ? 'options.ts' : file),
    text
      .replaceAll('https://tenant.example.com/', url)
      .replaceAll('https://token.actions.githubusercontent.com', github),
  );
await Bun.write(join(folder, 'cells.ts'), await migrationCells());
const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false, noUnusedParameters: false };
await Bun.write(
  join(folder, 'tsconfig.json'),
  JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
);
afterAll(() => tenant.stop(true));

/**
 * A request to a block, the claims of its token, and its response: the status, and a part of headers and body. Last, what is special
 * about the request.
 */
type Row = readonly [
  heading: string,
  request: string,
  claims: object | undefined,
  status: number,
  part: string,
  special?: Special,
];
interface Special {
  readonly boundTo?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const [one, another] = [certificate('a'), certificate('b')];
const deployment = { iss: github, aud: 'https://deploy.example.com', repository_id: '123456', ref: 'refs/heads/main' };
const exchange = 'Calling the next API on behalf of the client';
const onExpress = 'Metadata in Express and other servers of Node.js';
const rows: readonly Row[] = [
  ['Roles', 'GET /orders', { resource_access: { 'my-api': { roles: ['admin'] } } }, 200, 'orders'],
  ['Roles', 'GET /orders', { scope: 'other' }, 403, 'insufficient_scope'],
  ['The scope depends on the request', 'GET /tools/a', { scope: 'tool:a' }, 200, 'a'],
  ['The scope depends on the request', 'GET /tools/b', { scope: 'tool:a' }, 403, 'insufficient_scope'],
  ['The scope depends on the request', 'GET /tools/', { scope: 'admin' }, 200, ''],
  ['A token is optional', 'GET /news', undefined, 200, 'for everyone'],
  ['A token is optional', 'GET /news', { sub: 'ada' }, 200, 'for ada'],
  ['Typed claims', 'GET /seats', { tenant: 'x' }, 200, 'x: 2'],
  ['Typed claims', 'GET /seats', { tenant: 1 }, 401, 'invalid_claims'],
  ['Several issuers, each with its own rules', 'GET /', {}, 200, url],
  ['Several issuers, each with its own rules', 'GET /', deployment, 200, github],
  ['Several issuers, each with its own rules', 'GET /', { ...deployment, iss: url }, 401, 'audience is missing'],
  ['Several issuers, each with its own rules', 'GET /', { iss: github }, 401, 'audience is missing'],
  ['Several issuers, each with its own rules', 'GET /', { ...deployment, ref: 'refs/heads/x' }, 401, 'required claim'],
  ['Revocation', 'GET /me', { sub: 'ada', sid: 1 }, 200, 'ada'],
  ['Revocation', 'GET /me', { sub: 'ada', sid: 'logged out' }, 401, 'Token is revoked'],
  ['Step-up', 'POST /payments', { acr: 'phr' }, 200, 'paid'],
  ['Step-up', 'POST /payments', { acr: 'phr', auth_time: 1 }, 401, 'acr_values="phr phrh", max_age="300"'],
  ['Certificate-bound tokens', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['Certificate-bound tokens', 'GET /me', {}, 200, 'test', { boundTo: one.pem, headers: { 'client-cert': one.field } }],
  ...[{}, { 'client-cert': another.field }].map(
    (headers): Row => ['Certificate-bound tokens', 'GET /me', {}, 401, 'invalid_token', { boundTo: one.pem, headers }],
  ),
  ['A token in another header', 'GET /', undefined, 401, 'authorization_header_missing'],
  ['A token in another header', 'GET /', { email: 'ada@example.com' }, 200, 'ada@example.com'],
  ['The WebSocket of a browser', 'GET /', undefined, 401, 'authorization_header_missing'],
  ['The WebSocket of a browser', 'GET /', {}, 426, 'Expected a WebSocket'],
  [exchange, 'GET /', undefined, 401, 'authorization_header_missing'],
  [exchange, 'GET /', { sub: 'ada' }, 200, 'token-exchange ada https://orders.example.com my-api secret'],
  ['Keys that outlive a cold start', 'GET /', {}, 200, 'sub'],
  ['An error format of your own', 'GET /me', undefined, 401, '* application/problem+json'],
  ['OpenTelemetry', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['Model Context Protocol', 'POST /mcp', undefined, 401, '/.well-known/oauth-protected-resource/mcp'],
  ['Model Context Protocol', 'GET /.well-known/oauth-protected-resource/mcp', undefined, 200, '["mcp:tools"]'],
  [onExpress, 'GET /.well-known/oauth-protected-resource/mcp', undefined, 200, '["mcp:tools"]'],
  ['FAPI 2.0', 'GET /', {}, 401, 'DPoP algs="PS256 ES256 EdDSA"'],
  ['The owner of a resource', 'GET /orders/1', { sub: 'ada' }, 200, '1'],
  ['The owner of a resource', 'GET /orders/2', { sub: 'ada' }, 403, 'Unauthorized'],
  ['The owner of a resource', 'PUT /orders/1 {"item":"tea"}', { sub: 'ada' }, 200, 'tea'],
  ['The owner of a resource', 'GET /tools/b', { scope: 'tool:a' }, 403, 'insufficient_scope'],
  ['Public, optional and protected routes', 'GET /', undefined, 200, 'public'],
  ['Public, optional and protected routes', 'GET /news', undefined, 200, 'for everyone'],
  ['Public, optional and protected routes', 'GET /drafts', undefined, 401, 'scope="write:news"'],
  ['WebSockets', 'GET /events', undefined, 401, 'Bearer'],
  ['One guard for several instances, and readiness', 'GET /reports/', {}, 200, 'reports'],
  ['One guard for several instances, and readiness', 'GET /orders/', undefined, 401, 'Bearer'],
  ['One guard for several instances, and readiness', 'GET /ready', undefined, 200, 'ready'],
  ['OpenAPI and typed clients', 'GET /orders', { scope: 'read:orders' }, 200, '["tea"]'],
  ['OpenAPI and typed clients', 'GET /openapi/json', undefined, 200, '"securitySchemes":{"oauth2"'],
  ['In any fetch server', 'GET /', undefined, 401, 'Bearer scope="read:reports"'],
  ['In any fetch server', 'GET /', { sub: 'ada', scope: 'read:reports' }, 200, 'ada'],
  ['In Express, NestJS, Fastify or Koa', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['In Express, NestJS, Fastify or Koa', 'GET /reports', { scope: 'other' }, 403, 'scope="read:reports"'],
  ['In an Elysia application', 'GET /orders/', undefined, 401, 'scope="read:orders"'],
  ['In an Elysia application', 'GET /orders/of/ada', undefined, 401, 'Bearer'],
  ['In an Elysia application', 'GET /news', undefined, 200, 'Hello everyone'],
  ['In your application', 'GET /me', undefined, 401, 'DPoP algs="ES256 PS256 EdDSA"'],
  ['From express-oauth2-jwt-bearer', 'GET /reports', { sub: 'ada', scope: 'read:reports' }, 200, 'ada'],
  ['From express-oauth2-jwt-bearer', 'GET /reports', { sub: 'ada' }, 403, 'scope="read:reports"'],
  ['From express-oauth2-jwt-bearer', 'GET /news', undefined, 200, 'everyone'],
  ['From express-jwt', 'GET /health', undefined, 200, 'ok'],
  ['From express-jwt', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['From express-jwt', 'GET /me', { jti: 'token-1' }, 401, 'invalid_token'],
  ['From passport-jwt', 'GET /me', { sub: 'ada' }, 200, 'Ada'],
  ['From passport-jwt', 'GET /me', { sub: 'eve' }, 403, 'No such user'],
  ['From passport-jwt', 'GET /me', undefined, 401, 'Bearer'],
  ["From Hono's jwk middleware", 'GET /reports', { sub: 'ada', scope: 'read:reports' }, 200, 'ada'],
  ["From Hono's jwk middleware", 'GET /reports', {}, 403, 'scope="read:reports"'],
  ['From @fastify/jwt with get-jwks', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['From @fastify/jwt with get-jwks', 'GET /me', undefined, 401, 'Bearer'],
  ['From @fastify/jwt with get-jwks', 'GET /reports', { scope: 'read:reports' }, 200, '["read:reports"]'],
  ['From jose by hand', 'GET /', { sub: 'ada', scope: 'read:reports' }, 200, 'ada'],
  ['From jose by hand', 'GET /', undefined, 401, 'scope="read:reports"'],
  ["From Spring's resource server", 'GET /health', undefined, 200, 'ok'],
  ["From Spring's resource server", 'GET /orders/', { roles: ['clerk'] }, 200, '[]'],
  ["From Spring's resource server", 'GET /orders/of/eve', { sub: 'ada' }, 403, 'Unauthorized'],
];

type Listener = (request: IncomingMessage, response: ServerResponse) => void;
/** A block that serves requests exports an application, or a function of a request. */
interface Served {
  readonly fetch: (request: Request, server: object) => Promise<Response>;
}
const isServed = ({ text }: { readonly text: string }) =>
  /export (?:const app|async function fetch|function createApp)/.test(text);
type Application = { readonly fetch: (request: Request) => Response | Promise<Response> } | Listener | FastifyInstance;

type Exported = { readonly app: Application } | { readonly createApp: (options: object) => Application };
const appOf = (exported: Exported) => ('app' in exported ? exported.app : exported.createApp(options));

/** Sends a request to an application: a function of a request, that of a server of Node.js, or Fastify. */
async function respond(app: Application, request: Request): Promise<Response> {
  if ('fetch' in app) return app.fetch(request);
  if ('ready' in app) await app.ready();
  const server = 'ready' in app ? app.server : createServer(app);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const url = new URL(request.url);
  try {
    return await fetch(`http://127.0.0.1:${port}${url.pathname}`, { headers: request.headers, keepalive: false });
  } finally {
    server.close();
  }
}

/** Returns what the block under a heading exports. */
const load = (heading: string) =>
  import(join(folder, blocks.find((each) => each.heading === heading && isServed(each))?.file ?? ''));

/** Returns the status, three headers and the body with which the application of a block responds. */
async function send(heading: string, request: string, claims?: object, special: Special = {}): Promise<string> {
  const served: Exported | Served = await load(heading);
  const app =
    'fetch' in served ? { fetch: (sent: Request) => served.fetch(sent, { upgrade: () => false }) } : appOf(served);
  const [method = '', path, body] = request.split(' ');
  const claimed = claims && { iss: url, aud: options.audience, auth_time: Math.floor(Date.now() / 1000), ...claims };
  // The token is sent in each header that a recipe reads.
  const token = claimed && (await issuer.token(claimed, { boundTo: special.boundTo }));
  const headers = {
    'content-type': 'application/json',
    ...(heading === 'WebSockets' && { upgrade: 'websocket' }),
    ...(token && { ...bearer(token), 'cf-access-jwt-assertion': token, 'sec-websocket-protocol': `bearer, ${token}` }),
    ...special.headers,
  };
  const response = await respond(
    app,
    new Request(`http://localhost${path}`, { method, headers, ...(body && { body }) }),
  );
  const names = ['access-control-allow-origin', 'content-type', 'www-authenticate'];
  const said = [...names.map((name) => response.headers.get(name)), await response.text()];
  return `${response.status} ${said.join(' ')}`;
}

async function passes(file: string): Promise<void> {
  const child = Bun.spawn([process.execPath, 'test', join(folder, file)], { cwd: root, stderr: 'pipe' });
  expect(await child.stderr.text()).toContain(' 0 fail');
  expect(await child.exited).toBe(0);
}

describe('the TypeScript blocks of the documentation', () => {
  test('compile', async () => {
    const tsc = Bun.spawn([process.execPath, 'x', 'tsc', '--noEmit', '-p', folder], { stdout: 'pipe' });
    expect(await tsc.stdout.text()).toBe('');
  }, 120_000);

  test.each(blocks.filter(({ file }) => file.endsWith('.test.ts')))('pass as tests: $file', ({ file }) => passes(file));

  test('Test your application: the lines for Express test its application', async () => {
    const [, lines] = /^```js\n(.*?)^```$/ms.exec(await readText('src/auth/README.md')) ?? [];
    const express = blocks.find(({ text }) => text.includes('export function createApp') && text.includes("'express'"));
    const changes: readonly [RegExp, string][] = [
      [
        /^.*'elysia';\n.*'protected-api';$/m,
        `import { once } from 'node:events';\nimport { createApp } from './${express?.file}';`,
      ],
      [/\{ test \}/, '{ after, test }'],
      [/^const createApp = .*?\n\n/ms, ''],
      [/^const app = .*\nconst get = .*\n/m, `${lines}`],
      [/^test\('every route is guarded'.*/ms, ''],
    ];
    const given = blocks.find(({ file }) => file.endsWith('.test.ts'))?.text ?? '';
    for (const [place] of changes) expect(given).toMatch(place);
    const text = changes.reduce((changed, change) => changed.replace(...change), given);
    await Bun.write(join(folder, 'express.test.js'), text);
    await passes('express.test.js');
  });

  /** What OpenTelemetry is given: a counter or attribute, and its values. */
  const observed: unknown[] = [];
  beforeAll(async () => {
    const createCounter = (name: string) => ({ add: (...given: unknown[]) => observed.push([name, ...given]) });
    metrics.setGlobalMeterProvider({ getMeter: () => ({ createCounter }) } as never);
    const span = { setAttribute: (...given: unknown[]) => observed.push(given) };
    context.setGlobalContextManager({ active: () => trace.setSpan(ROOT_CONTEXT, span as never) } as never);
    process.env.CLIENT_SECRET = 'secret';
    (await load('Revocation')).loggedOut.add('logged out');
  });

  test.each(rows)('%s: %s with the token %j returns %i', async (...row) => {
    const [heading, request, claims, status, part, special] = row;
    const said = await send(heading, request, claims, special);
    expect(said).toStartWith(String(status));
    expect(said).toContain(part);
  });

  test('Test your application: the command of the README gets a token from the development issuer, which its guard accepts', async () => {
    const readme = await readText('src/auth/README.md');
    const [, url = '', data = ''] = /`curl (http:\/\/localhost:3011\S+) ([^`]*)`/.exec(readme) ?? [];
    const block = blocks.find(({ text }) => text.includes('createDevelopmentIssuer('));
    // Its port may be in use, so that nothing listens.
    const text = `${block?.text.replace('Bun.serve(', 'export const server = (')}`;
    await Bun.write(join(folder, 'development-issuer.ts'), text);
    const { issuer, server } = await import(join(folder, 'development-issuer.ts'));
    const body = new URLSearchParams(data.replaceAll('-d ', '').replaceAll(' ', '&'));
    const { access_token: token, scope } = await (
      await server.fetch(new Request(url, { method: 'POST', body }))
    ).json();
    expect(scope).toBe('read:reports');
    const sent = new Request('http://localhost/', { headers: bearer(token) });
    expect(await createGuard(issuer.options).check(sent, { scope })).toMatchObject({ claims: { sub: 'reader' } });
  });

  test('The WebSocket of a browser: the server selects the subprotocol bearer', async () => {
    const { fetch } = await load('The WebSocket of a browser');
    await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch, websocket: { message() {} } });
    const token = await issuer.token({ iss: url, aud: options.audience });
    const protocol = (...protocols: readonly string[]) =>
      new Promise<string>((done) => {
        const socket = new WebSocket(server.url.href.replace('http', 'ws'), [...protocols]);
        socket.onopen = () => done(socket.protocol);
        socket.onerror = () => done('rejected');
      });
    expect([await protocol('bearer', token), await protocol('bearer', `${token}x`)]).toEqual(['bearer', 'rejected']);
  });

  test('FAPI 2.0: a request with a proof is accepted once, and only with a token of type at+jwt', async () => {
    const { fetch } = await load('FAPI 2.0');
    const claims = decodeJwt(await issuer.token({ iss: url, aud: options.audience }, { boundTo: 'dpop' }));
    const requestWith = async (typ: string) => {
      const token = ecSigner.sign({ kid: 'ec', typ }, claims);
      const request = new Request(options.audience, { headers: { authorization: `DPoP ${token}` } });
      request.headers.set('dpop', await issuer.proof(request, token));
      return request;
    };
    const sent = await requestWith('at+jwt');
    const responses = [await fetch(sent), await fetch(new Request(sent)), await fetch(await requestWith('JWT'))];
    const challenges = responses.map(({ headers }) => headers.get('www-authenticate')?.match(/error="(\w+)"/)?.[1]);
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 401]);
    expect(challenges).toEqual([undefined, 'invalid_dpop_proof', 'invalid_token']);
  });

  test('OpenTelemetry: a rejection is counted by its reason, and the client is an attribute of the span', async () => {
    await send('OpenTelemetry', 'GET /me', { client_id: 'app' });
    await send('OpenTelemetry', 'GET /me', undefined);
    expect(observed.slice(-2)).toEqual([
      ['client.id', 'app'],
      ['access_token_rejections', 1, { reason: 'credentials_missing' }],
    ]);
  });

  test('Keys that outlive a cold start: a guard that starts during an outage uses an entry of the cache until it expires', async () => {
    const block = blocks.find(({ text }) => text.includes('export const cache'));
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
    const options = { issuer: url, audience: issuer.options.audience };
    await Bun.write(
      join(folder, 'fetching.ts'),
      `export const options = { ...${JSON.stringify(options)}, onKeySetEvent() {} };`,
    );
    const authorization = bearer(await issuer.token({ iss: url }));
    /** Starts a guard with the entries of another one's cache, and returns that cache and the status of a request. */
    const start = async (name: string, entries: Iterable<readonly [string, { expiresMs: number }]> = []) => {
      const text = block?.text.replace('./options.ts', './fetching.ts');
      await Bun.write(join(folder, `${name}.ts`), text ?? '');
      const { cache, fetch } = await import(join(folder, `${name}.ts`));
      for (const entry of entries) cache.set(...entry);
      return { cache, status: (await fetch(new Request('http://localhost/', { headers: authorization }))).status };
    };
    const { cache, status } = await start('running');
    expect([status, cache.size]).toEqual([200, 3]);
    await server.stop(true);
    expect(await start('cold', cache)).toMatchObject({ status: 200 });
    for (const entry of cache.values()) entry.expiresMs = Date.now();
    expect(await start('late', cache)).toMatchObject({ status: 503 });
  });

  test('are all run if they serve requests', () =>
    expect(rows.map(([heading]) => heading)).toEqual(
      expect.arrayContaining(blocks.filter(isServed).map(({ heading }) => heading)),
    ));
});

test('the README of the package names the tarball that it packs', async () => {
  const readme = await readText('src/auth/README.md');
  expect(readme.match(/protected-api-[\d.]+\.tgz/g)).toEqual([`protected-api-${manifest.version}.tgz`]);
});
