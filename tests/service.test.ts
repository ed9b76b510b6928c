import { afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import { type Environment, until } from './support/child-process.ts';
import { challengeOf, expectCrossOrigin } from './support/expect-error.ts';
import { createServiceInProcess } from './support/in-process.ts';
import { bearer, mintToken, nowSeconds, SCOPE, signingKeys } from './support/mint.ts';
import { bound, proven } from './support/proof.ts';
import { recordLog } from './support/recorded-log.ts';

const GOOD = 'https://good.example.test/';
const BAD = 'https://bad.example.test/';
const PUBLIC_URL = 'https://api.example.test';
const METADATA = '/.well-known/oauth-protected-resource';

/**
 * Returns a service without a process, the messages that it logs, and how often it fetched. Only the issuer GOOD is up.
 */
function create(environment: Environment) {
  const { log, lines } = recordLog('info');
  const fetched: string[] = [];
  const fetch = async (url: string) => {
    fetched.push(url);
    if (!url.startsWith(GOOD)) throw new TypeError('unreachable');
    return Response.json({ keys: signingKeys() });
  };
  const service = createServiceInProcess({ ISSUER: GOOD, ...environment }, fetch, log);
  const start = async () => {
    service.start();
    await new Promise((done) => setImmediate(done));
  };
  const logged = (member: string) =>
    lines.map((line) => JSON.parse(line)[member]).filter((value) => value !== undefined);
  return { ...service, start, messages: () => logged('msg').map(String), causes: () => logged('cause'), fetched };
}

afterEach(() => void setSystemTime());

describe('/readyz', () => {
  const store = { PUBLIC_URL, REDIS_URL: 'redis://127.0.0.1:9' };
  test.each<[status: number, name: string, settings: Environment]>([
    [200, 'the only issuer is up', {}],
    [503, 'the only issuer is down', { ISSUER: BAD }],
    [200, 'the first of two issuers is up', { ISSUER: `${GOOD},${BAD}` }],
    [200, 'the second of two issuers is up', { ISSUER: `${BAD},${GOOD}` }],
    [503, 'all issuers are down', { ISSUER: `${BAD},https://other.example.test/` }],
    [200, 'the store is down and plain tokens are still accepted', { ...store, DPOP: 'on' }],
    [503, 'the store is down and each token needs a proof', { ...store, DPOP: 'required' }],
  ])('is %d when %s', async (status, _name, settings) => {
    const { start, stop, get } = create(settings);
    await start();
    expect((await get('/readyz')).status).toBe(status);
    stop();
  });
});

describe('the log of the service', () => {
  test.each([
    ['opaque', 'c2VjcmV0'],
    ['encrypted', 'a.b.c.d.e'],
  ])('has one hint about tokens that are %s, whose text it does not repeat', async (kind, token) => {
    const { messages, get } = create({});
    for (let count = 0; count < 3; count += 1)
      expect((await get('/api/private', { headers: bearer(token) })).status).toBe(401);
    expect(messages().filter((message) => message.startsWith(`A client sent an ${kind} access token`))).toHaveLength(1);
    expect(messages().join()).not.toContain(token);
  });
});

test('the metadata are where each challenge says, for every origin, and name the documentation', async () => {
  const { get } = create({ PUBLIC_URL: `${PUBLIC_URL}/base` });
  const response = await get(`${METADATA}/base`);
  expectCrossOrigin(response);
  expect(await response.json()).toEqual({
    resource: `${PUBLIC_URL}/base`,
    authorization_servers: [GOOD],
    scopes_supported: expect.arrayContaining([SCOPE]),
    bearer_methods_supported: ['header'],
    resource_documentation: `${PUBLIC_URL}/base/openapi`,
  });
  expect((await get(METADATA)).status).toBe(404);
  for (const authorization of ['', 'Basic x', 'Bearer', 'Bearer x']) {
    const challenge = challengeOf(await get('/api/private', { headers: { authorization } }));
    expect(challenge.resource_metadata).toBe(`${PUBLIC_URL}${METADATA}/base`);
  }
});

test('without PUBLIC_URL there are no metadata, and challenges do not name them', async () => {
  const { get } = create({});
  expect((await get(METADATA)).status).toBe(404);
  expect(challengeOf(await get('/api/private'))).toEqual({});
});

test('a preflight for the metadata allows the methods that they are served for, and a 405 lists OPTIONS too', async () => {
  const { get } = create({ PUBLIC_URL });
  for (const method of ['HEAD', 'POST', 'OPTIONS']) {
    const { status, headers } = await get(METADATA, { method });
    expect(headers.get('access-control-allow-methods')).toBe(method === 'OPTIONS' ? 'GET, HEAD' : null);
    expect([status, headers.get('allow')]).toEqual(
      method === 'POST' ? [405, 'GET, HEAD, OPTIONS'] : [expect.any(Number), null],
    );
  }
});

test.each([
  ['the metadata', METADATA, { PUBLIC_URL }, 'Content-Type, Authorization, *'],
  ['any path', '/api/private', { PUBLIC_URL }, 'Content-Type, Authorization'],
  [
    'any path with CORS_ALLOWED_HEADERS',
    '/api/private',
    { CORS_ALLOWED_HEADERS: 'traceparent, X-Request-Id' },
    'Content-Type, Authorization, traceparent, X-Request-Id',
  ],
])('a preflight for %s allows the headers that its clients send', async (_name, path, settings, allowed) => {
  const response = await create(settings).get(path, { method: 'OPTIONS' });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  expect(response.headers.get('access-control-allow-headers')).toBe(allowed);
});

test.each<[name: string, settings: Environment, status: number, location: string | null]>([
  ['is a redirect to the documentation', {}, 303, 'openapi'],
  ['is not found without documentation', { DOCS: 'false' }, 404, null],
])('GET / %s', async (_name, settings, status, location) => {
  const response = await create(settings).get('/');
  expectCrossOrigin(response);
  expect([response.status, response.headers.get('location')]).toEqual([status, location]);
});

test.each([
  ['once', 'true', 1],
  ['not', 'false', 0],
])('the metadata that the page needs are read %s after the start with DOCS=%s', async (_name, DOCS, times) => {
  const { start, stop, fetched } = create({ DOCS });
  await start();
  expect(fetched.filter((url) => url.endsWith('/openid-configuration'))).toHaveLength(times);
  stop();
});

test('the store is used with DPoP only and left when the service stops, and metrics count its failures and fetches', async () => {
  const sockets: string[] = [];
  const socket = { open: () => void sockets.push('open'), close: () => void sockets.push('close'), data() {} };
  using store = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
  const REDIS_URL = `redis://127.0.0.1:${store.port}`;
  const settings = { PUBLIC_URL, METRICS_PORT: '0', ISSUER: `${GOOD},${BAD}`, REDIS_URL };
  const scrape = async ({ metrics }: ReturnType<typeof create>) =>
    (await metrics?.(new Request('http://localhost/metrics')))?.text();
  expect(await scrape(create(settings))).not.toContain('replay_store');

  const service = create({ ...settings, DPOP: 'on' });
  await service.start();
  await until(() => sockets.length === 1, 'the service to connect');
  service.stop();
  await until(() => sockets.length === 2, 'the service to disconnect');
  // A connection that fails is closed too, after a second.
  expect(service.messages().join()).not.toContain('replay store');
  const text = await scrape(service);
  expect(text).toContain(`protected_api_key_set_fetches_total{issuer="${GOOD}",result="success"} 1`);
  expect(text).toContain(`protected_api_key_set_fetches_total{issuer="${BAD}",result="network"} 1`);

  const rejected = create({ ...settings, DPOP: 'on', REDIS_URL: 'redis://127.0.0.1:1' });
  await rejected.start();
  const failures = 'protected_api_replay_store_failures_total{failure="connection"}';
  await until(async () => !(await scrape(rejected))?.includes(`${failures} 0`), 'a failure to be counted');
  rejected.stop();
});

test.each(['/openapi', '/openapi/json'])('%s contains no password of Redis', async (path) => {
  const { get } = create({ PUBLIC_URL, DPOP: 'on', REDIS_URL: 'redis://:hunter2@redis.example.test' });
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(await response.text()).not.toContain('hunter2');
});

test('changes of the wall clock affect the expiry of tokens, and the age of keys, which are fetched again', async () => {
  const { start, stop, get, fetched } = create({ DOCS: 'false' });
  await start();
  const startSeconds = nowSeconds();
  const headers = bearer(mintToken(GOOD, { claims: { exp: startSeconds + 300 } }));
  const days = 86_400;
  // The set time stands still, and so must not lose what has passed: a second less sets the clock back.
  const difference = Date.now() - performance.now();
  const move = (seconds: number) => setSystemTime(new Date(difference + performance.now() + seconds * 1000));
  for (const movedSeconds of [0, 290, 310, -30 * days, 30 * days, 0]) {
    const status = movedSeconds < 300 ? 200 : 401;
    move(movedSeconds);
    expect([movedSeconds, (await get('/api/private', { headers })).status]).toEqual([movedSeconds, status]);
    move(movedSeconds);
    expect((await get('/readyz')).status).toBe(200);
  }
  // At the start, after both leaps back, and after thirty days.
  expect(fetched).toHaveLength(4);
  stop();
});

test('the log says once why no proof is accepted after the clock was two hours ahead, and once that it is over', async () => {
  const { start, stop, get, messages, causes } = create({ DPOP: 'on', PUBLIC_URL });
  await start();
  const startSeconds = nowSeconds();
  const token = mintToken(GOOD, { claims: { cnf: bound, exp: startSeconds + 86_400 } });
  // Ends at the real time, because other tests share the store of this process.
  for (const movedSeconds of [-300, -100, -7500, -7499, 0]) {
    const status = movedSeconds < -7000 ? 503 : 200;
    setSystemTime(new Date((startSeconds + movedSeconds) * 1000));
    const headers = proven(token, `${PUBLIC_URL}/api/private`);
    expect([movedSeconds, (await get('/api/private', { headers })).status]).toEqual([movedSeconds, status]);
  }
  stop();
  expect(messages().filter((message) => /replay store/.test(message))).toEqual([
    'Cannot use the replay store: requests with DPoP get a 503',
    'The replay store can be used again',
  ]);
  expect(causes()).toEqual(['the clock was set back by about 122 minutes: restart this process']);
});
