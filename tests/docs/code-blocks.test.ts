import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { AnyElysia } from 'elysia';
import type { FastifyInstance } from 'fastify';
import { createGuard } from '../../src/auth/guard.ts';
import manifest from '../../src/auth/package.json';
import { createTestIssuer } from '../../src/auth/testing.ts';
import { bearer } from '../support/fixture.ts';

const root = join(import.meta.dir, '../..');
const pages = ['README.md', 'docs/guard.md', 'docs/dpop.md', 'docs/coming-from.md', 'src/auth/README.md'];

/** Returns the TypeScript blocks of a page, each with the heading above it and the file that a test writes it to. */
async function blocksOf(page: string) {
  const sections = (await Bun.file(join(root, page)).text()).split(/^#+ /m).slice(1);
  const blocks = sections.flatMap((section) =>
    [...section.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text = '']) => ({ heading: section.split('\n')[0], text })),
  );
  const name = page.replace(/\W+/g, '-').toLowerCase();
  return blocks.map((block, index) => {
    const isTest = block.text.includes("from 'bun:test'");
    return { ...block, file: `${name}-${index}${isTest ? '.test' : ''}.ts` };
  });
}

const blocks = (await Promise.all(pages.map(blocksOf))).flat();
const issuer = await createTestIssuer();
/** It publishes the keys of the issuer for tests. */
const tenant = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json(issuer.options.keys) });
let folder: string;

beforeAll(async () => {
  await mkdir(join(root, 'dist'), { recursive: true });
  folder = await mkdtemp(join(root, 'dist/blocks-'));
  // No test looks up a name: the issuer is on loopback.
  for (const { file, text } of blocks)
    await Bun.write(join(folder, file), text.replaceAll('https://tenant.example.com/', tenant.url.href));
  await Bun.write(join(folder, 'options.ts'), `export const options = ${JSON.stringify(issuer.options)};`);
  const compilerOptions = { moduleDetection: 'force', noUnusedLocals: false };
  await Bun.write(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['*.ts'], exclude: [] }),
  );
});
afterAll(() => Promise.all([tenant.stop(true), rm(folder, { recursive: true, force: true })]));

/** What the application of a block answers: a request and the claims of its token, the status, and a part of headers and body. */
type Row = readonly [heading: string, request: string, claims: object | undefined, status: number, part: string];

const rows: readonly Row[] = [
  ['Roles', 'GET /orders', { resource_access: { 'my-api': { roles: ['admin'] } } }, 200, 'orders'],
  ['Roles', 'GET /orders', { scope: 'other' }, 403, 'insufficient_scope'],
  ['The scope depends on the request', 'GET /tools/a', { scope: 'tool:a' }, 200, 'a'],
  ['The scope depends on the request', 'GET /tools/b', { scope: 'tool:a' }, 403, 'insufficient_scope'],
  ['The scope depends on the request', 'GET /reports', { scope: 'admin' }, 200, 'reports'],
  ['The owner of a resource', 'GET /orders/1', { sub: 'ada' }, 200, '1'],
  ['The owner of a resource', 'GET /orders/2', { sub: 'ada' }, 403, 'Unauthorized'],
  ['The owner of a resource', 'PUT /orders/1 {"item":"tea"}', { sub: 'ada' }, 200, 'tea'],
  ['A token is optional', 'GET /news', undefined, 200, 'for everyone'],
  ['A token is optional', 'GET /news', { sub: 'ada' }, 200, 'for ada'],
  ['A token is optional', 'GET /drafts', undefined, 401, 'scope="write:news"'],
  ['Typed claims', 'GET /seats', { tenant: 'x' }, 200, 'x: 2'],
  ['Typed claims', 'GET /seats', { tenant: 1 }, 401, 'invalid_claims'],
  ['Revocation', 'GET /me', { sub: 'ada', sid: 1 }, 200, 'ada'],
  ['Step-up', 'POST /payments', { acr: 'phr' }, 200, 'paid'],
  ['Step-up', 'POST /payments', { acr: 'phr', auth_time: 1 }, 401, 'acr_values="phr phrh", max_age="300"'],
  ['Certificate-bound tokens', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['Certificate-bound tokens', 'GET /me', { cnf: { 'x5t#S256': 'A'.repeat(43) } }, 401, 'invalid_token'],
  ['WebSockets', 'GET /events', undefined, 401, 'Bearer'],
  ['One guard for several instances, and readiness', 'GET /reports/', {}, 200, 'reports'],
  ['One guard for several instances, and readiness', 'GET /orders/', undefined, 401, 'Bearer'],
  ['One guard for several instances, and readiness', 'GET /ready', undefined, 200, 'ready'],
  ['An error format of your own', 'GET /me', undefined, 401, 'application/problem+json'],
  ['OpenTelemetry', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['Model Context Protocol', 'POST /mcp', undefined, 401, '/.well-known/oauth-protected-resource/mcp'],
  ['Model Context Protocol', 'GET /.well-known/oauth-protected-resource/mcp', undefined, 200, '["mcp:tools"]'],
  ['Typed clients', 'GET /orders', { scope: 'read:orders' }, 200, '["tea"]'],
  ['In an Elysia application', 'GET /orders/', undefined, 401, 'scope="read:orders"'],
  ['In an Elysia application', 'GET /orders/of/ada', undefined, 401, 'Bearer'],
  ['In an Elysia application', 'GET /news', undefined, 200, 'Hello everyone'],
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
  ['In your application', 'GET /me', undefined, 401, 'DPoP algs="ES256 PS256 EdDSA"'],
];

type Listener = (request: IncomingMessage, response: ServerResponse) => void;
type Application = Pick<AnyElysia, 'fetch'> | Listener | FastifyInstance;

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

/** Returns the status, two headers and the body with which the application of a block responds. */
async function send(heading: string, request: string, claims: object | undefined): Promise<string> {
  const block = blocks.find((each) => each.heading === heading && each.text.includes('export const app'));
  const { app }: { readonly app: Application } = await import(join(folder, block?.file ?? ''));
  const [method = '', path, body] = request.split(' ');
  const ofTenant = !block?.text.includes('./options.ts') && { iss: tenant.url.href, aud: 'https://api.example.com' };
  const claimed = claims && { auth_time: Math.floor(Date.now() / 1000), ...ofTenant, ...claims };
  const headers = {
    'content-type': 'application/json',
    ...(heading === 'WebSockets' && { upgrade: 'websocket' }),
    ...(claimed && bearer(await issuer.token(claimed))),
  };
  const response = await respond(
    app,
    new Request(`http://localhost${path}`, { method, headers, ...(body && { body }) }),
  );
  const said = [response.headers.get('content-type'), response.headers.get('www-authenticate'), await response.text()];
  return `${response.status} ${said.join(' ')}`;
}

describe('the TypeScript blocks of the documentation', () => {
  test('compile', async () => {
    const tsc = Bun.spawn([process.execPath, 'x', 'tsc', '--noEmit', '-p', folder], { stdout: 'pipe' });
    expect(await tsc.stdout.text()).toBe('');
  }, 120_000);

  test.each(blocks.filter(({ file }) => file.endsWith('.test.ts')))('pass as tests: $file', async ({ file }) => {
    const child = Bun.spawn([process.execPath, 'test', join(folder, file)], { cwd: root, stderr: 'pipe' });
    expect(await child.stderr.text()).toContain(' 0 fail');
    expect(await child.exited).toBe(0);
  });

  test.each(rows)('%s: %s with the token %j is answered with %i', async (heading, request, claims, status, part) => {
    const said = await send(heading, request, claims);
    expect(said).toStartWith(String(status));
    expect(said).toContain(part);
  });

  test('In any fetch server: the function answers without a token with the scope in the challenge', async () => {
    const block = blocks.find(({ text }) => text.includes('export async function fetch'));
    const { fetch } = await import(join(folder, block?.file ?? ''));
    const response: Response = await fetch(new Request('http://localhost/'));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer scope="read:reports"');
  });

  test('Test your application: the development issuer answers the command of the README with a token that its guard accepts', async () => {
    const readme = await Bun.file(join(root, 'src/auth/README.md')).text();
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

  test('that are applications are all run', () => {
    const applications = blocks.filter(({ text }) => text.includes('export const app'));
    expect(rows.map(([heading]) => heading)).toEqual(
      expect.arrayContaining(applications.map(({ heading }) => heading)),
    );
  });
});

test('the README of the package names the tarball that it packs', async () => {
  const readme = await Bun.file(join(root, 'src/auth/README.md')).text();
  expect(readme.match(/protected-api-[\d.]+\.tgz/g)).toEqual([`protected-api-${manifest.version}.tgz`]);
});
