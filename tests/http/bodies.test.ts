import { describe, expect, mock, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { resourceServer } from '../../src/auth/elysia.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { expectError } from '../support/expect-error.ts';
import { serve } from '../support/fixture.ts';
import { bearer, SCOPE } from '../support/mint.ts';
import { open } from '../support/raw-http.ts';
import { createTestApp } from '../support/test-app.ts';

const { app, get } = createTestApp({
  options: offline(),
  extension: (guard) =>
    new Elysia()
      .post('/open', ({ body }) => ({ body }), { body: t.Any() })
      .post('/notes', ({ body }) => body, { body: t.Object({ text: t.String() }) })
      .post('/own', ({ request }) => request.text(), { parse: 'none' })
      .use(
        new Elysia()
          .use(resourceServer(guard))
          .post('/guarded', ({ body }) => ({ body }), { body: t.Any() })
          .post('/scoped', ({ body }) => ({ body }), { body: t.Any(), scope: SCOPE })
          .post('/decided', ({ body }) => body, { body: t.Any(), authorize: ({ claims }) => claims.sub === 'ada' }),
      ),
});

const cutOff = () => {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      pulls += 1;
      if (pulls > 1) controller.error(new Error('connection lost'));
      else controller.enqueue(new TextEncoder().encode('"x'));
    },
  });
};

const json = { 'content-type': 'application/json' };
const withScopes = (scope: string) => bearer(tokenOf({ claims: { scope } }));
const post = (path: string, init: RequestInit = {}, authorization: Record<string, string> = {}) =>
  get(path, { ...init, method: 'POST', headers: { ...json, ...authorization } });

/** tests/auth/elysia/gate.test.ts has what is sent without a token. */
test('a request without the scope is rejected before its body is read', async () => {
  const pull = mock();
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  await expectError(await post('/scoped', { body }, withScopes('other')), 403, 'Unauthorized');
  expect(pull).not.toHaveBeenCalled();
});

describe('an accepted request', () => {
  for (const path of ['/open', '/guarded', '/scoped', '/decided'])
    test.each([
      ['is cut off', cutOff],
      ['is malformed JSON', () => '{"a":'],
    ])(`to ${path} whose body %s is a 400`, async (_name, body) =>
      expectError(await post(path, { body: body() }, withScopes(SCOPE)), 400, 'invalid_request'),
    );

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
});
