import { afterEach, describe, expect, test } from 'bun:test';
import { exchange } from '../support/raw-http.ts';
import { attackedService, expectServing } from './attacked-service.ts';
import { hosts, lines, nameOf, wireAttacks } from './wire-attacks.ts';

/** The status of a path without a token; for an invalid Host it may be 400 instead. */
const statusByPath: Readonly<Record<string, number>> = {
  '/api/public': 200,
  '/api/private': 401,
  '/zz/api/public': 404,
  '/aaaaaa/api/private': 404,
  '/aaaaaaaaaaa/api/public': 404,
  '/api/private?/api/public': 401,
};

describe('over a raw socket, the service', async () => {
  const attacked = await attackedService();
  const send = (request: string, token = attacked.mint()) =>
    exchange(attacked.service.port, request.replaceAll('TOKEN', token));
  afterEach(() => expectServing(attacked));

  for (const [kind, { rule, requests, statuses, isClosed }] of Object.entries(wireAttacks))
    for (const request of requests)
      test(`faces ${kind} (${rule}): ${nameOf(request)}`, async () => {
        const got = await send(request);
        expect(statuses).toContainEqual(got.statuses);
        expect(got.isClosed, got.text).toBe(isClosed ?? got.isClosed);
      });

  for (const path of ['/api/private', '/api/private-scoped'])
    test(`does not serve ${path} without a token in any of these ways`, async () => {
      const requests = Object.values(wireAttacks).flatMap((one) => one.requests);
      const texts = requests.map(async (request) => (await send(request.replaceAll('/api/private', path), '')).text);
      expect((await Promise.all(texts)).filter((text) => text.includes('Hello from a private endpoint'))).toEqual([]);
    });

  test('handles pipelined requests separately: each needs its own token', async () => {
    const start = ['GET /api/private HTTP/1.1', 'Host: service.test'];
    const pair = lines(...start, 'Authorization: Bearer TOKEN') + lines(...start);
    const wanted = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? 200 : 401));
    const { statuses } = await send(pair.repeat(100));
    // A connection may be ended early (the server closes one on which a request comes while another is being served).
    expect(statuses).toEqual(wanted.slice(0, statuses.length));
    expect(statuses.length).toBeGreaterThan(0);
  });
});

for (const [how, environment] of [
  ['as it is by default', {}],
  ['with metrics and a log line for each request', { METRICS_PORT: '0', LOG_LEVEL: 'debug' }],
] as const)
  describe(`with any Host, the service ${how}`, async () => {
    const attacked = await attackedService(environment);

    for (const host of [...hosts, undefined])
      test.concurrent(`responds based on the path only, or rejects: Host ${JSON.stringify(host)}`, async () => {
        const [version, ...headers] = host === undefined ? ['1.0'] : ['1.1', `Host: ${host}`];
        const checks = Object.entries(statusByPath).map(async ([path, status]) => {
          const request = lines(`GET ${path} HTTP/${version}`, ...headers);
          const { statuses } = await exchange(attacked.service.port, request);
          expect([[status], [400]], path).toContainEqual([...statuses]);
        });
        await Promise.all(checks);
      });
  });
