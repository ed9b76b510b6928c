import { beforeEach, describe, expect, test } from 'bun:test';
import { Elysia, NotFoundError, status, t } from 'elysia';
import { type Guard, resourceServer } from '../../src/auth/elysia.ts';
import { createLog } from '../../src/observe/log.ts';
import { createObservation } from '../../src/observe/requests.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { expectCrossOrigin, expectError, expectPreflight, expectProtected } from '../support/expect-error.ts';
import { bearer } from '../support/mint.ts';
import { plainFormat } from '../support/recorded-log.ts';
import { createTestApp } from '../support/test-app.ts';

const SECRET = 'password hunter2 at db.internal';
const untyped: unknown = SECRET;
class CodedError extends Error {
  readonly code = SECRET;
  readonly status = 200;
}
const fail = (thrown: unknown) => () => {
  throw thrown;
};

const finished = new Response('own', { status: 202, headers: { 'x-own': '1', 'cache-control': 'private' } });
const never = () => 'never';

const respond = () => ({ a: 1 });
const forbid = () => status(403, finished as never);

const extension = (guard: Guard) =>
  new Elysia()
    .get('/notes/:id', ({ params }) => params)
    .post('/notes/new', () => 'new')
    .post('/notes', ({ body }) => body, { body: t.Object({ text: t.String() }) })
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
    .get('/text', () => 'plain')
    .get('/response', () => new Response('own', { status: 202, headers: { 'x-own': '1' } }))
    .get('/finished', () => finished)
    .get('/forbidden', never, { response: { 403: t.String() }, beforeHandle: forbid })
    .get('/set', ({ query, set }) => {
      set.headers['cache-control'] = 'private';
      return query.json ? { own: true } : new Response('own');
    })
    .get('/missing', fail(new NotFoundError()))
    .get('/mistyped', () => ({ count: untyped as number }), { response: t.Object({ count: t.Number() }) })
    .get('/throws-an-error', fail(new Error(SECRET)))
    .get('/throws-an-error-with-a-code-and-a-status', fail(new CodedError(SECRET)))
    .get('/throws-text', fail(SECRET))
    .get('/throws-a-response', fail(new Response(SECRET)))
    .get('/rejects', () => Promise.reject(new Error(SECRET)))
    .get('/returns-an-error', () => new Error(SECRET))
    .get('/returns-an-error-with-a-code-and-a-status', () => new CodedError(SECRET))
    .use(new Elysia().derive(() => status(401, 'guarded')).all('/anything', never))
    .use(
      new Elysia()
        .use(resourceServer(guard))
        .all('/plain', respond)
        .all('/scope', respond, { scope: 'a' })
        .all('/authorize-fails', respond, { authorize: fail(new Error(SECRET)) })
        .all('/query', respond, { query: t.Object({ page: t.Number() }) })
        .all('/fails', fail(new Error(SECRET))),
    );

const told: unknown[] = [];
beforeEach(() => void told.splice(0));
const log = createLog('silent', plainFormat);
const { app, get } = createTestApp({
  options: offline(),
  extension,
  observe: createObservation(log, undefined).wrap,
  onInternalError: (error) => void told.push(error),
});

describe('a route that is added', () => {
  test.each([
    ['/returned', 409, '{"state":"taken"}'],
    ['/thrown', 409, '{"state":"taken"}'],
    ['/list', 200, '[1,2]'],
    ['/created', 201, '{"id":1}'],
    ['/cookies', 200, '{"id":1}'],
    ['/text', 200, 'plain'],
    ['/response', 202, 'own'],
    ['/set', 200, 'own'],
    ['/set?json=1', 200, '{"own":true}'],
  ])('may respond as %s does, with %d %s, and pages of any origin may read it', async (path, status, text) => {
    const response = await get(path);
    expect({ status: response.status, text: await response.text() }).toEqual({ status, text });
    if (/^[[{]/.test(text)) expect(response.headers.get('content-type')).toBe('application/json');
    expectCrossOrigin(response);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('cache-control')).toBe(path.startsWith('/set') ? 'private' : 'no-store');
    expect(told).toEqual([]);
  });

  test('sends its Response without copying it, and keeps its headers', async () => {
    for (const path of ['/finished', '/forbidden']) expect(await get(path)).toBe(finished);
    expect(Object.fromEntries(finished.headers)).toMatchObject({ 'x-own': '1', 'cache-control': 'private' });
  });

  test('responds without a Promise if nothing has to be awaited', async () => {
    const headers = bearer(tokenOf());
    await get('/api/private', { headers });
    for (const path of ['/api/public', '/api/private', '/list'])
      expect(app.fetch(new Request(`http://localhost${path}`, { headers }))).toBeInstanceOf(Response);
  });

  test('sends each cookie in a line of its own', async () =>
    expect((await get('/cookies')).headers.getSetCookie()).toEqual(['a=1', 'b=2']));

  test.each([
    ['GET', 404, 'not_found', null],
    ['POST', 405, 'method_not_allowed', 'GET, HEAD'],
  ] as const)('that finds nothing responds to %s with %d', async (method, status, code, allow) => {
    const response = await get('/missing', { method });
    expect(response.headers.get('allow')).toBe(allow);
    await expectError(response, status, code);
  });

  const mistakes = app.routes.filter(({ path }) => /mistyped|throws|rejects|returns/.test(path));
  test.each(mistakes)('that goes wrong as $path is a 500 without details (CWE-209), and logged', async ({ path }) => {
    const response = await get(path);
    expect(await response.clone().text()).not.toContain(SECRET);
    await expectError(response, 500, 'internal_error');
    expect(told).toHaveLength(1);
  });

  test.each([
    ['/notes', 'POST'],
    ['/list', 'GET, HEAD'],
    ['/notes/new', 'POST, GET, HEAD'],
    ['/notes/1', 'GET, HEAD'],
    ['/anything', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
    ['/nothing', 'GET, HEAD'],
  ])('%s allows %s in preflights, which no guard sees', async (path, methods) => {
    const headers = { origin: 'https://spa.example.test', 'access-control-request-method': 'PUT' };
    expectPreflight(await get(path, { method: 'OPTIONS', headers }), methods);
  });
});

describe('every response of a protected path is complete', () => {
  const token = () => bearer(tokenOf({ claims: { scope: 'b' } }));
  for (const [path, headers, status, challenge] of [
    ['/plain', token, 200, null],
    ['/plain', () => ({}), 401, /^Bearer$/],
    ['/scope', token, 403, /^Bearer error="insufficient_scope", .*scope="a"$/],
    ['/authorize-fails', token, 500, null],
    ['/query', token, 400, null],
    ['/fails', token, 500, null],
  ] as const)
    test.each(['GET', 'HEAD', 'POST'])(`${status} to %s ${path}, challenge ${challenge}`, async (method) => {
      const response = await get(path, { method, headers: { 'x-request-id': 'given-1', ...headers() } });
      expect(response.status).toBe(status);
      expectProtected(response);
      expect(response.headers.get('content-type')).toBe('application/json');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('x-request-id')).toBe('given-1');
      expect(response.headers.get('www-authenticate') ?? 'null').toMatch(challenge ?? 'null');
      const text = await response.text();
      if (method === 'HEAD') expect(text).toBe('');
      else expect(Object.keys(JSON.parse(text))).toEqual(status === 200 ? ['a'] : ['code', 'description']);
    });
});
