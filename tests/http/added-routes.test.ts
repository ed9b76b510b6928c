import { beforeEach, describe, expect, test } from 'bun:test';
import { Elysia, NotFoundError, status, t } from 'elysia';
import { expectCrossOrigin, expectError, expectPreflight } from '../support/expect-error.ts';
import { createTestApp } from '../support/test-app.ts';

const SECRET = 'secret of the handler';
const untyped: unknown = SECRET;

const finished = new Response('own', { status: 202, headers: { 'x-own': '1', 'cache-control': 'private' } });

const routes = new Elysia()
  .get('/notes/:id', ({ params }) => params)
  .post('/notes/new', () => 'new')
  .post('/notes', ({ body }) => body, { body: t.Object({ text: t.String() }) })
  .get('/mistyped', () => ({ count: untyped as number }), { response: t.Object({ count: t.Number() }) })
  .get('/returned', () => status(409, { state: 'taken' }))
  .get('/thrown', () => {
    throw status(409, { state: 'taken' });
  })
  .get('/list', () => [1, 2])
  .get('/created', ({ set }) => {
    set.status = 'Created';
    return { id: 1 };
  })
  .get('/cookies', ({ set }) => {
    set.headers['set-cookie'] = ['a=1', 'b=2'];
    return { id: 1 };
  })
  .get('/missing', () => {
    throw new NotFoundError();
  })
  .get('/text', () => 'plain')
  .get('/response', () => new Response('own', { status: 202, headers: { 'x-own': '1' } }))
  .get('/finished', () => finished)
  .get('/forbidden', () => 'never', {
    response: { 403: t.String() },
    beforeHandle: ({ status }) => status(403, finished as never),
  })
  .get('/set', ({ query, set }) => {
    set.headers['cache-control'] = 'private';
    return query.json ? { own: true } : new Response('own');
  });

const guarded = new Elysia().derive(() => status(401, 'guarded')).all('/anything', () => 'never');

const told: unknown[] = [];
beforeEach(() => {
  told.length = 0;
});
const { app } = createTestApp({
  onInternalError: (error) => void told.push(error),
  extension: routes.use(guarded),
});

const fetchPath = (path: string, init?: RequestInit) => app.fetch(new Request(`http://localhost${path}`, init));
const postNote = (body: string | ReadableStream) =>
  fetchPath('/notes', { method: 'POST', headers: { 'content-type': 'application/json' }, body });

describe('a route that is added', () => {
  test('accepts a valid body', async () => {
    expect(await (await postNote('{"text":"hello"}')).json()).toEqual({ text: 'hello' });
  });

  test('accepts a chunked body', async () => {
    expect(await (await postNote(new Blob(['{"text":"hello"}']).stream())).json()).toEqual({ text: 'hello' });
  });

  test('is not sent more of a body in chunks than it takes to see that it is too large', async () => {
    let pulled = 0;
    const body = new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(1024));
        if (pulled === 1000) controller.close();
      },
    });
    await expectError(await postNote(body), 413, 'payload_too_large');
    expect(pulled).toBeLessThan(100);
  });

  test('does not accept an incomplete body as a complete one', async () => {
    const chunks = ['{"text":"hello"}'];
    const body = new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.error(new Error('connection lost'));
        else controller.enqueue(new TextEncoder().encode(chunk));
      },
    });
    await expectError(await postNote(body), 400, 'invalid_request');
    expect(told).toEqual([]);
  });

  for (const body of ['{"text":', '{"text":1}', '[]', '"secret"', '']) {
    test(`answers the body ${JSON.stringify(body)} with a plain 400, which repeats nothing of it`, async () => {
      const response = await postNote(body);
      const text = await response.clone().text();
      expect(text).toContain('"Request does not match the schema of this path"');
      await expectError(response, 400, 'invalid_request');
      expect(told).toEqual([]);
    });
  }

  test('that violates its own schema is a 500 without details, and is logged', async () => {
    const response = await fetchPath('/mistyped');
    expect(await response.clone().text()).not.toContain(SECRET);
    await expectError(response, 500, 'internal_error');
    expect(told).toHaveLength(1);
  });

  for (const { path, want, text } of [
    { path: '/returned', want: 409, text: '{"state":"taken"}' },
    { path: '/thrown', want: 409, text: '{"state":"taken"}' },
    { path: '/list', want: 200, text: '[1,2]' },
    { path: '/created', want: 201, text: '{"id":1}' },
    { path: '/cookies', want: 200, text: '{"id":1}' },
    { path: '/text', want: 200, text: 'plain' },
    { path: '/response', want: 202, text: 'own' },
  ]) {
    test(`may answer as ${path} does, and pages of any origin may read it`, async () => {
      const response = await fetchPath(path);
      expect({ status: response.status, text: await response.text() }).toEqual({ status: want, text });
      if (/^[[{]/.test(text)) expect(response.headers.get('content-type')).toBe('application/json');
      expectCrossOrigin(response);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(told).toEqual([]);
    });
  }

  test('keeps its own headers', async () => {
    expect((await fetchPath('/finished')).headers.get('x-own')).toBe('1');
    for (const path of ['/finished', '/set', '/set?json=1'])
      expect((await fetchPath(path)).headers.get('cache-control')).toBe('private');
  });

  test('sends its Response without copying it', async () => {
    for (const path of ['/finished', '/forbidden']) expect(await fetchPath(path)).toBe(finished);
  });

  test('sends each cookie in a line of its own', async () => {
    expect((await fetchPath('/cookies')).headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  });

  for (const { method, status, code, allow } of [
    { method: 'GET', status: 404, code: 'not_found', allow: null },
    { method: 'POST', status: 405, code: 'method_not_allowed', allow: 'GET, HEAD' },
  ]) {
    test(`that finds nothing answers ${method} with ${status}`, async () => {
      const response = await fetchPath('/missing', { method });
      expect(response.headers.get('allow')).toBe(allow);
      await expectError(response, status, code);
    });
  }

  for (const { path, methods } of [
    { path: '/notes', methods: 'POST' },
    { path: '/list', methods: 'GET, HEAD' },
    { path: '/notes/new', methods: 'POST, GET, HEAD' },
    { path: '/notes/1', methods: 'GET, HEAD' },
    { path: '/anything', methods: 'GET, HEAD, POST, PUT, PATCH, DELETE' },
    { path: '/nothing', methods: 'GET, HEAD' },
  ]) {
    test(`${path} allows ${methods} in preflights, which no guard sees`, async () => {
      const headers = { origin: 'https://spa.example.test', 'access-control-request-method': 'PUT' };
      expectPreflight(await fetchPath(path, { method: 'OPTIONS', headers }), methods);
    });
  }
});
