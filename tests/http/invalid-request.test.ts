import { expect, test } from 'bun:test';
import { Elysia, t } from 'elysia';
import { createApp } from '../../src/app.ts';
import { expectError } from '../support/expect-error.ts';

const app = createApp({
  verifier: {
    verify() {
      throw new Error('No route of this test asks for a token');
    },
  },
  readiness: () => 'ready',
  onInternalError(error) {
    throw error;
  },
  extension: new Elysia().post('/notes', ({ body }) => body, { body: t.Object({ text: t.String() }) }),
});

const post = (body: string) =>
  app.fetch(
    new Request('http://localhost/notes', { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
  );

test('a route that is added takes a body of its form', async () => {
  const response = await post('{"text":"hello"}');
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ text: 'hello' });
});

for (const body of ['{"text":', '{"text":1}', '[]', '"secret"', '']) {
  test(`a route that is added answers ${JSON.stringify(body)} with a plain 400, which repeats nothing of it`, async () => {
    const response = await post(body);
    expect(await response.clone().json()).toMatchObject({
      description: 'The request is not of the form that this path takes',
    });
    await expectError(response, 400, 'invalid_request');
  });
}
