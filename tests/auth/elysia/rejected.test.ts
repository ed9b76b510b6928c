import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type AnyElysia, Elysia } from 'elysia';
import { rawRequest } from '../../support/raw-http.ts';
import { guard, send, token } from './guarded.ts';

test('no listener of a trace and no hook after a response that reads `claims` ends the process with a rejection', async () => {
  const command = [process.execPath, 'run', join(import.meta.dir, 'rejected-listeners.ts')];
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit' });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual([]);
});

const forCaches = {
  ...{ 'Cache-Control': 'public, max-age=300', 'CDN-Cache-Control': 'public', 'surrogate-control': 'max-age=300' },
  ...{ Expires: 'Thu, 31 Dec 2099 23:59:59 GMT', ETag: '"1"', 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' },
};
const rejections: Readonly<Record<string, (app: AnyElysia) => [route: object, headers: Record<string, string>]>> = {
  'a missing token': () => [{}, {}],
  'an invalid token': () => [{}, { authorization: 'Bearer invalid' }],
  'a missing scope': () => [{ scope: 'b' }, token()],
  'a scope that a function requires': () => [{ scope: () => 'b' }, token()],
  authorize: () => [{ authorize: () => false }, token()],
};
for (const aot of [true, false])
  for (const optional of [true, false])
    for (const [name, rejectionOf] of Object.entries(rejections))
      test(`no cache keeps the rejection for ${name}, with aot ${aot}${optional ? ' and an optional token' : ''}`, async () => {
        const app = new Elysia({ aot }).onRequest(({ set }) => {
          Object.assign(set.headers, forCaches, { 'access-control-allow-origin': '*' });
        });
        const [route, headers] = rejectionOf(app);
        app.use(guard({}, { optional })).get('/a', () => 'ok', optional ? { scope: 'b', ...route } : route);
        const response = await send(app, '/a', { headers });
        expect([401, 403]).toContain(response.status);
        const kept = Object.keys(forCaches).flatMap((header) => response.headers.get(header) ?? []);
        expect([...kept, response.headers.get('access-control-allow-origin')]).toEqual(['no-store', '*']);
      });

const heads = [[], ['Host:'], ['Host: a b'], ['Host: api.example#'], ['Host: x/']];
for (const aot of [true, false])
  for (const head of heads)
    test(`a request with ${head[0] ?? 'no Host'} gets a challenge, with aot ${aot}`, async () => {
      const seen: unknown[] = [];
      const app = new Elysia({ aot })
        .onAfterResponse(({ query }) => void seen.push(query))
        .use(guard())
        .get('/a/b/c/d', () => 'ok')
        .get('*', () => 'ok')
        .listen({ port: 0, hostname: '127.0.0.1' });
      const version = head.length === 0 ? '1.0' : '1.1';
      const lines = [`GET /a/b/c/d?e=f HTTP/${version}`, ...head, 'Connection: close'];
      const { status, headers } = await rawRequest(`http://127.0.0.1:${app.server?.port}`, lines);
      await app.server?.stop(true);
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
      expect(seen).toEqual([{ e: 'f' }]);
    });
