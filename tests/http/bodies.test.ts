import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/index.ts';
import { expectError } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SCOPE, SIGNING_KID } from '../support/mint.ts';
import { rawRequest } from '../support/raw-http.ts';
import { createTestApp } from '../support/test-app.ts';

const issuer = 'https://issuer.example.test/';
const keys = { keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] };
const routes = new Elysia()
  .post('/open', ({ body }) => ({ body }), { body: t.Any() })
  .use(
    new Elysia()
      .use(resourceServer({ issuer, audience: AUDIENCE, keys }))
      .post('/guarded', ({ body }) => ({ body }), { body: t.Any() })
      .post('/scoped', ({ body }) => ({ body }), { body: t.Any(), scope: SCOPE })
      .post('/decided', ({ body }) => ({ body }), { body: t.Any(), authorize: ({ claims }) => claims.sub === 'ada' })
      .post('/unread', () => ({ body: 'none' })),
  );
const { app } = createTestApp({ options: { issuer, keys }, extension: routes });

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, development: false, fetch: app.fetch });
afterAll(() => server.stop(true));

const json = { 'content-type': 'application/json' };
const withScopes = (scope: string) => bearer(mintToken(issuer, { claims: { scope } }));

let pulls = 0;
beforeEach(() => {
  pulls = 0;
});

/** A body that is as long as anyone reads it. */
const endless = () =>
  new ReadableStream(
    {
      pull(controller) {
        pulls += 1;
        controller.enqueue(new TextEncoder().encode(`"${'x'.repeat(1022)}"`));
      },
    },
    { highWaterMark: 0 },
  );
const bodies: Readonly<Record<string, () => RequestInit>> = {
  'never ends': () => ({ body: endless() }),
  'is declared as 100 MB': () => ({ body: endless(), headers: { 'content-length': '100000000' } }),
  'is malformed JSON': () => ({ body: '{"a":' }),
  'is good JSON': () => ({ body: '{"a":1}' }),
};

const post = (path: string, body: string, headers: Readonly<Record<string, string>>) => {
  const init = bodies[body]?.();
  return app.fetch(
    new Request(`http://localhost${path}`, {
      ...init,
      method: 'POST',
      headers: { ...json, ...headers, ...(init?.headers as Record<string, string> | undefined) },
    }),
  );
};

describe('a request without a sufficient token is rejected before its body is read', () => {
  for (const body of Object.keys(bodies))
    for (const { path, headers, status, code } of [
      { path: '/guarded', headers: {}, status: 401, code: 'authorization_header_missing' },
      { path: '/guarded', headers: bearer('opaque'), status: 401, code: 'invalid_header' },
      { path: '/scoped', headers: {}, status: 401, code: 'authorization_header_missing' },
      { path: '/scoped', headers: withScopes('other'), status: 403, code: 'Unauthorized' },
      { path: '/unread', headers: {}, status: 401, code: 'authorization_header_missing' },
    ])
      test(`${status} ${code} of ${path}, whose body ${body}`, async () => {
        await expectError(await post(path, body, headers), status, code);
        expect(pulls).toBe(0);
      });

  for (const { name, lines } of [
    { name: 'in chunks that never end', lines: ['Transfer-Encoding: chunked'] },
    { name: 'that is declared as 100 MB', lines: ['Content-Length: 100000000'] },
  ])
    test(`over a connection: a body ${name}`, async () => {
      const head = ['POST /scoped HTTP/1.1', 'Host: localhost', 'Connection: close', 'Content-Type: application/json'];
      const { response } = await rawRequest(`http://127.0.0.1:${server.port}`, [...head, ...lines]);
      if (response === undefined) throw new TypeError('The connection was closed without an answer');
      await expectError(response, 401, 'authorization_header_missing');
    });
});

describe('an accepted request', () => {
  for (const path of ['/open', '/guarded', '/scoped', '/decided'])
    for (const { body, status, code, atMostPulls } of [
      { body: 'never ends', status: 413, code: 'payload_too_large', atMostPulls: 65 },
      { body: 'is declared as 100 MB', status: 413, code: 'payload_too_large', atMostPulls: 0 },
      { body: 'is malformed JSON', status: 400, code: 'invalid_request', atMostPulls: 0 },
    ])
      test(`to ${path} whose body ${body} is answered with ${status}`, async () => {
        await expectError(await post(path, body, withScopes(SCOPE)), status, code);
        expect(pulls).toBeLessThanOrEqual(atMostPulls);
      });

  test('to a route that does not read the body is answered without reading it', async () => {
    expect((await post('/unread', 'never ends', withScopes(SCOPE))).status).toBe(200);
    await expectError(await post('/unread', 'is declared as 100 MB', withScopes(SCOPE)), 413, 'payload_too_large');
    expect(pulls).toBe(0);
  });

  for (const [size, status] of [
    [64 * 1024, 200],
    [64 * 1024 + 1, 413],
  ] as const)
    for (const [name, inLength] of [
      ['chunks', false],
      ['declared length', true],
    ] as const)
      test(`over a connection: ${size} bytes in ${name} are answered with ${status}`, async () => {
        const text = JSON.stringify('x'.repeat(size - 2));
        const response = await fetch(new URL('/guarded', server.url), {
          method: 'POST',
          headers: { ...json, ...withScopes('') },
          body: inLength ? text : new Blob([text]).stream(),
        });
        if (status === 413) return expectError(response, 413, 'payload_too_large');
        expect([response.status, await response.json()]).toEqual([200, { body: JSON.parse(text) }]);
      });
});
