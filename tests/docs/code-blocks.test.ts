import { beforeAll, describe, expect, test } from 'bun:test';
import { certificate } from '../support/certificates.ts';
import { blocks, folder, github, isServed, load, passes, type Special, send, url } from './blocks.ts';

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

describe('the TypeScript blocks of the documentation', () => {
  beforeAll(async () => {
    process.env.CLIENT_SECRET = 'secret';
    (await load('Revocation')).loggedOut.add('logged out');
  });

  test('compile', async () => {
    const tsc = Bun.spawn([process.execPath, 'x', 'tsc', '--noEmit', '-p', folder], { stdout: 'pipe' });
    expect(await tsc.stdout.text()).toBe('');
  }, 120_000);

  test.each(blocks.filter(({ file }) => file.endsWith('.test.ts')))('pass as tests: $file', ({ file }) => passes(file));

  test.each(rows)('%s: %s with the token %j returns %i', async (...row) => {
    const [heading, request, claims, status, part, special] = row;
    const said = await send(heading, request, claims, special);
    expect(said).toStartWith(String(status));
    expect(said).toContain(part);
  });

  test('are all run if they serve requests', () =>
    expect(rows.map(([heading]) => heading)).toEqual(
      expect.arrayContaining(blocks.filter(isServed).map(({ heading }) => heading)),
    ));
});
