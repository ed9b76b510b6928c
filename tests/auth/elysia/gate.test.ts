import { describe, expect, test } from 'bun:test';
import { type AnyElysia, type Context, Elysia, t } from 'elysia';
import { rawRequest } from '../../support/raw-http.ts';
import { guard, request, statuses, token } from './guarded.ts';
import { SECRET } from './matrix/routes.ts';

const secret = () => SECRET;
const guarded = (app: AnyElysia, options = {}) => app.use(guard()).get('/a', secret, { scope: 'a', ...options });
const granted = () => request('/a', { headers: token({ scope: 'a' }) });

test.each<[string, (app: AnyElysia) => AnyElysia]>([
  ['the route', (app) => app.use(guard()).get('/a', secret, { beforeHandle: () => 'cached', scope: 'a' })],
  ['the instance', (app) => guarded(app.onBeforeHandle(() => 'cached'))],
  ['its parent', (app) => app.onBeforeHandle(() => 'cached').use(guarded(new Elysia(app.config)))],
  ['a macro', (app) => guarded(app.macro({ cached: { beforeHandle: () => 'cached' } }), { cached: true })],
])('requirements are checked before the beforeHandle of %s, which can respond', async (_, create) => {
  for (const aot of [true, false]) {
    const app = create(new Elysia({ aot }));
    expect(await statuses(app, '/a', [{}, token({ scope: 'b' })])).toEqual([401, 403]);
    expect(await (await app.handle(granted())).text()).toBe('cached');
  }
});

describe('the token is checked before the body', () => {
  const json = { 'content-type': 'application/json' };
  const neverEnds = (read: () => void) => {
    const pull = () => {
      read();
      return new Promise<void>(() => {});
    };
    return new ReadableStream({ pull }, { highWaterMark: 0 });
  };
  const bodies: Readonly<Record<string, (read: () => void) => RequestInit>> = {
    'malformed JSON': () => ({ body: '{', headers: json }),
    'malformed multipart': () => ({ body: '--', headers: { 'content-type': 'multipart/form-data; boundary=x' } }),
    'a malformed cookie': () => ({ body: '{}', headers: { ...json, cookie: 'session=%E0%A4%A; a=b.forged' } }),
    'a body that never ends': (read) => ({ body: neverEnds(read), headers: json }),
  };
  const cookie = t.Cookie({ session: t.Optional(t.String()) }, { secrets: 'secret', sign: ['session'] });
  const posting = (aot: boolean, read = () => {}) =>
    new Elysia({ aot })
      .onParse(read)
      .use(guard())
      .post('/a', ({ body }) => body, { body: t.Any(), cookie });

  for (const aot of [true, false])
    for (const [name, bodyOf] of Object.entries(bodies))
      test(`${name}, with aot ${aot}`, async () => {
        let reads = 0;
        const read = () => void reads++;
        const response = await posting(aot, read).handle(request('/a', { method: 'POST', ...bodyOf(read) }));
        expect([response.status, reads]).toEqual([401, 0]);
      });

  test('a request does not wait for 100 MB', async () => {
    const app = posting(true).listen({ port: 0, hostname: '127.0.0.1' });
    const head = ['POST /a HTTP/1.1', 'Host: localhost', 'Connection: close', 'Content-Type: application/json'];
    const lines = [...head, 'Content-Length: 100000000'];
    const { status } = await rawRequest(`http://127.0.0.1:${app.server?.port}`, lines);
    await app.server?.stop(true);
    expect(status).toBe(401);
  });
});

describe('after a rejection', () => {
  const later = () => new Promise((done) => setImmediate(done));
  const cases = [
    ['/a/1?b=c', {}, 401],
    ['/a/1?b=c', token({ scope: 'b' }), 403],
    ['/ws?b=c', { upgrade: 'websocket', connection: 'upgrade' }, 401],
  ] as const;
  for (const aot of [true, false])
    for (const [path, headers, status] of cases)
      test(`hooks and traces see the ${status} of ${path} once, and change nothing, with aot ${aot}`, async () => {
        const seen: string[] = [];
        const see = (name: string) => async (context: object) => {
          const { set, response, query, headers, request } = context as Context & { response: Response };
          const body = await response.clone().text();
          seen.push(
            [name, set.status, set.headers['www-authenticate'], query.b, headers['x-id'], body, request.url].join(),
          );
          set.headers['x-late'] = name;
          response.headers.set('x-late', name);
        };
        const child = new Elysia()
          .onAfterResponse(see('child'))
          .use(guard())
          // A rejected request has no claims.
          .onAfterResponse(({ claims }) => void seen.push(String(claims.sub)))
          .get('/a/:id', secret, { scope: 'a', afterResponse: see('route') })
          .ws('/ws', { afterResponse: see('route') });
        const app = new Elysia({ aot })
          .trace(({ onAfterResponse, set }) => void onAfterResponse(() => void seen.push(`trace ${set.status}`)))
          .onRequest(({ set }) => void Object.assign(set.headers, { 'access-control-allow-origin': '*' }))
          .onAfterResponse(see('application'))
          .use(child);
        const response = await app.handle(request(path, { headers: { ...headers, 'x-id': '7' } }));
        for (let turn = 0; turn < 3; turn++) await later();
        const [challenge, text] = [response.headers.get('www-authenticate'), await response.text()];
        const saw = (name: string) => [name, status, challenge, 'c', '7', text, `http://localhost${path}`].join();
        const traced = aot ? [`trace ${status}`] : [];
        expect(seen.toSorted()).toEqual([...['application', 'child', 'route'].map(saw), ...traced]);
        expect([response.status, response.headers.get('x-late')]).toEqual([status, null]);
        expect(response.headers.get('access-control-allow-origin')).toBe('*');
        expect(JSON.parse(text)).toMatchObject({ error: status === 401 ? 'missing_token' : 'insufficient_scope' });
      });
});

test.each([
  ['/a?b=/c', {}],
  ['/b?id', {}],
  ['/ws?upgrade', { upgrade: 'WebSocket', connection: 'upgrade' }],
])('without ahead-of-time compilation, the gate finds the route of %s', async (path, headers) => {
  const app = new Elysia({ aot: false }).use(guard()).get('/a', secret).get('/b/:id?', secret).ws('/ws', {});
  expect(await statuses(app, path, [headers])).toEqual([401]);
});

test('without ahead-of-time compilation, the gate finds the route after a plugin has replaced the store', async () => {
  const open = new Elysia({ aot: false }).onRequest(
    (context) => void Object.assign(context, { store: { ...context.store } }),
  );
  const app = open.use(guarded(new Elysia({ aot: false }))).get('/', () => 'open');
  expect(await statuses(app, '/a', [{}, token({ scope: 'b' }), token({ scope: 'a' })])).toEqual([401, 403, 200]);
  expect(await statuses(app, '/', [{}])).toEqual([200]);
});
