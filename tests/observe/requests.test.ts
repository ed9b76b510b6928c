import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { createGuard, resourceServer } from '../../src/auth/elysia.ts';
import { createRouteTable } from '../../src/http/route-table.ts';
import type { Metrics } from '../../src/observe/metrics.ts';
import { createObservation } from '../../src/observe/requests.ts';
import { offline, tokenOf } from '../support/checked.ts';
import { bearer } from '../support/mint.ts';
import { bound, proven } from '../support/proof.ts';
import { readJsonLines, recordLog } from '../support/recorded-log.ts';
import { createTestMetrics } from '../support/test-metrics.ts';

function createObserved(level: string, metrics: Metrics | undefined) {
  const { log, lines } = recordLog(level);
  const { wrap, onAccepted, onRejected, requestIdOf } = createObservation(log, metrics);
  const app = new Elysia()
    .use(resourceServer(createGuard({ ...offline(), onAccepted, onRejected })))
    .get('/plain', () => 'ok')
    .get('/scoped', () => 'ok', { scope: 'a' })
    .get('/function', () => 'ok', { scope: () => 'a' })
    .get('/acr', () => 'ok', { acr: 'high' })
    .get('/authorize', () => 'ok', { authorize: () => false })
    .get('/notes/*', () => 'ok')
    .get('/notes/:id', () => 'ok');
  const routes = createRouteTable(app.routes);
  const ids: (string | undefined)[] = [];
  const fetch = wrap(
    (request) => {
      ids.push(requestIdOf(request));
      return app.fetch(request);
    },
    ({ method, url }) => routes.find(method, new URL(url).pathname),
  );
  return {
    get: async (path: string, headers: Record<string, string>) =>
      fetch(new Request(`http://localhost${path}`, { headers })),
    logged: () => readJsonLines(lines.join('')),
    ids,
  };
}

describe('the X-Request-Id of a request', () => {
  for (const [given, kept] of [
    [undefined, null],
    ['given-1', 'given-1'],
    ['a b"c\u00e9<d>', 'abcd'],
    ['a'.repeat(100), 'a'.repeat(64)],
    ['"";', null],
  ] as const)
    test.each(['info', 'debug'])(
      `that brings ${given} is ${kept} at %s, where one is made for null at debug`,
      async (level) => {
        const { get, ids, logged } = createObserved(level, undefined);
        const { headers } = await get('/plain', given ? { 'x-request-id': given } : {});
        const id = headers.get('x-request-id');
        expect(headers.get('access-control-expose-headers')).toBe(id && 'X-Request-Id');
        if (kept === null && level === 'debug') expect(id).toMatch(/^[0-9a-f-]{36}$/);
        else expect(id).toBe(kept);
        expect(ids).toEqual([id ?? undefined]);
        if (level === 'debug') expect(logged()).toMatchObject([{ requestId: id }]);
      },
    );
});

test.each([
  ['debug', true, 1],
  ['info', true, 1],
  ['info', false, 0],
])(
  'the route of a request is looked up once at most: at %s, with metrics %p: %i',
  async (level, hasMetrics, lookups) => {
    const { wrap } = createObservation(recordLog(level).log, hasMetrics ? createTestMetrics().metrics : undefined);
    let asked = 0;
    const fetch = wrap(
      () => new Response(),
      () => `/route-${++asked}`,
    );
    await fetch(new Request('http://localhost/'));
    expect(asked).toBe(lookups);
  },
);

test('the log and the counts name the route of each of many URLs', async () => {
  const { metrics, scrape } = createTestMetrics();
  const { get, logged } = createObserved('debug', metrics);
  for (let query = 0; query < 200; query += 1) await get(`/notes/1?${query}`, {});
  const counted = (await scrape()).match(/^protected_api_http_requests_total.*$/gm);
  expect(counted).toEqual(['protected_api_http_requests_total{route="/notes/:id",status="401"} 200']);
  expect(new Set(logged().map(({ route }) => route))).toEqual(new Set(['/notes/:id']));
});

describe('a request has one outcome, in the log and in the metrics', () => {
  const long = { sub: 's'.repeat(129), client_id: 'c'.repeat(129), email: 'e@example.test' };
  const token = (claims = {}) => bearer(tokenOf({ claims: { ...long, ...claims } }));
  const known = { sub: 's'.repeat(128), client_id: 'c'.repeat(128) };
  test.each([
    ['/plain', token, 200, 'accepted', known],
    ['/plain', () => ({}), 401, 'credentials_missing', {}],
    ['/plain', () => token({ exp: 1 }), 401, 'token_expired', {}],
    ['/scoped', token, 403, 'scope_insufficient', known],
    ['/function', token, 403, 'scope_insufficient', known],
    ['/acr', token, 401, 'authentication_insufficient', known],
    ['/authorize', () => token({ scope: 'a' }), 403, 'access_denied', known],
  ])('%s with %p: %d %s', async (path, headers, status, outcome, client) => {
    const { metrics, outcomes } = createTestMetrics();
    const { get, logged } = createObserved('debug', metrics);
    expect((await get(path, headers())).status).toBe(status);
    expect(await outcomes()).toEqual([[outcome, 1]]);
    const [time, requestId, durationMs] = [expect.any(String), expect.any(String), expect.any(Number)];
    const request = { level: 'debug', msg: 'Request', method: 'GET', route: path };
    expect(logged()).toEqual([
      { ...request, severity: expect.any(String), time, requestId, durationMs, status, outcome, ...client },
    ]);
  });
});

test('the line of a request has the URL that its proof should have named', async () => {
  const { log, lines } = recordLog('debug');
  const { wrap, onRejected } = createObservation(log, undefined);
  const publicUrl = 'https://api.example.test';
  const app = new Elysia()
    .use(resourceServer(createGuard({ ...offline(), dpop: 'on', publicUrl, onRejected })))
    .get('/plain', () => 'ok');
  const token = tokenOf({ claims: { cnf: bound } });
  for (const url of ['http://localhost/plain', `${publicUrl}/plain`])
    await wrap(app.fetch, () => '/plain')(new Request('http://localhost/plain', { headers: proven(token, url) }));
  const logged = readJsonLines(lines.join('')).map(({ outcome, expected }) => [outcome, expected]);
  expect(logged).toEqual([
    ['proof_url', `${publicUrl}/plain`],
    [undefined, undefined],
  ]);
});
