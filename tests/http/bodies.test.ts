import { beforeEach, describe, expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/index.ts';
import { formatRejection } from '../../src/errors.ts';
import { createCommonHeaders } from '../../src/http/responses.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { expectError } from '../support/expect-error.ts';
import { serve } from '../support/fixture.ts';
import { bearer, SCOPE } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';
import { createTestApp } from '../support/test-app.ts';

const extension = new Elysia()
  .post('/open', ({ body }) => ({ body }), { body: t.Any() })
  .post('/notes', ({ body }) => body, { body: t.Object({ text: t.String() }) })
  .post('/own', ({ request }) => request.text(), { parse: 'none' })
  .use(
    new Elysia()
      .use(resourceServer({ ...offline(), formatRejection, errorHeaders: createCommonHeaders() }))
      .post('/guarded', ({ body }) => ({ body }), { body: t.Any() })
      .post('/scoped', ({ body }) => ({ body }), { body: t.Any(), scope: SCOPE })
      .post('/decided', ({ body }) => ({ body }), { body: t.Any(), authorize: ({ claims }) => claims.sub === 'ada' })
      .post('/unread', () => ({ body: 'none' })),
  );
const { app, get } = createTestApp({ options: offline(), extension });

/** How often the last stream was read. */
const seen = { pulls: 0 };
beforeEach(() => {
  seen.pulls = 0;
});

/** A body of JSON texts that goes on while it is read, or is cut off after the first. */
const stream = (isCutOff = false) =>
  new ReadableStream(
    {
      pull(controller) {
        seen.pulls += 1;
        if (isCutOff && seen.pulls > 1) controller.error(new Error('connection lost'));
        else controller.enqueue(new TextEncoder().encode(`"${'x'.repeat(1022)}"`));
      },
    },
    { highWaterMark: 0 },
  );
const bodies: Readonly<Record<string, () => RequestInit>> = {
  'never ends': () => ({ body: stream() }),
  'is declared as 100 MB': () => ({ body: stream(), headers: { 'content-length': '100000000' } }),
  'is cut off': () => ({ body: stream(true) }),
  'is malformed JSON': () => ({ body: '{"a":' }),
  'is good JSON': () => ({ body: '{"a":1}' }),
};

const json = { 'content-type': 'application/json' };
const withScopes = (scope: string) => bearer(tokenOf({ claims: { scope } }));
const post = (path: string, init: RequestInit = {}, authorization: object = {}) =>
  get(path, {
    ...init,
    method: 'POST',
    headers: { ...json, ...init.headers, ...authorization } as Record<string, string>,
  });

describe('a request without a sufficient token is rejected before its body is read', () => {
  for (const [body, init] of Object.entries(bodies))
    test.each([
      ['/guarded', 401, 'authorization_header_missing', () => ({})],
      ['/guarded', 401, 'invalid_header', () => bearer('opaque')],
      ['/scoped', 401, 'authorization_header_missing', () => ({})],
      ['/scoped', 403, 'Unauthorized', () => withScopes('other')],
      ['/unread', 401, 'authorization_header_missing', () => ({})],
    ] as const)(`%s: %d %s, where the body ${body}`, async (path, status, code, headers) => {
      await expectError(await post(path, init(), headers()), status, code);
      expect(seen.pulls).toBe(0);
    });
});

describe('an accepted request', () => {
  for (const path of ['/open', '/guarded', '/scoped', '/decided'])
    test.each([
      ['is cut off', 400, 'invalid_request', 2],
      ['is malformed JSON', 400, 'invalid_request', 0],
    ] as const)(`to ${path} whose body %s is a %d`, async (body, status, code, atMostPulls) => {
      await expectError(await post(path, bodies[body]?.(), withScopes(SCOPE)), status, code);
      expect(seen.pulls).toBeLessThanOrEqual(atMostPulls);
    });

  test.each(['{"text":', '{"text":1}', '[]', '"secret"', ''])(
    'learns nothing about its invalid body %p',
    async (body) => {
      const response = await post('/notes', { body });
      const description = 'Request does not match the schema of this path';
      expect(await response.clone().json()).toMatchObject({ description });
      await expectError(response, 400, 'invalid_request');
    },
  );

  test.each(['Content-Length: 9', 'Transfer-Encoding: chunked'])(
    'whose client disconnects within a body with %s is not an error of the service',
    async (header) => {
      const [left, status] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
      const fetch = async (request: Request) => {
        const response = app.fetch(request);
        left.resolve();
        status.resolve((await response).status);
        return response;
      };
      await using server = serve(fetch);
      const socket = await open(server.port ?? 0);
      socket.write(`POST /own HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n1\r\n`);
      await left.promise;
      socket.destroy();
      expect(await status.promise).toBe(400);
    },
  );

  test('gets the response of a route that does not read the body, and the body is never read', async () => {
    expect((await post('/unread', bodies['never ends']?.(), withScopes(SCOPE))).status).toBe(200);
    expect(seen.pulls).toBe(0);
  });
});
