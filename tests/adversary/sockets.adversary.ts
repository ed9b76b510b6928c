import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { exchange } from '../support/raw-http.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';
import { hosts, lines, type WireAttack, wireAttacks } from './wire-attacks.ts';

// The server takes up to 12 seconds to notice a connection that came and went without a word, and stopping waits for it.
setDefaultTimeout(120_000);

/** What a path is answered with without a token; a Host that is none may be answered with 400 instead. */
const statusByPath: Readonly<Record<string, number>> = {
  '/api/public': 200,
  '/api/private': 401,
  '/zz/api/public': 404,
  '/aaaaaa/api/private': 404,
  '/aaaaaaaaaaa/api/public': 404,
  '/api/private?/api/public': 401,
};
const START = ['GET /api/private HTTP/1.1', 'Host: service.test'];
const bare = lines(...START);
const withToken = () => lines(...START, `Authorization: Bearer ${mintToken(issuer.url)}`);
const GUARDED = /Hello from a private endpoint/;

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
});
afterAll(() => issuer.close());

/** The service keeps serving: it accepts a valid token, and rejects a request without one. */
async function expectServing(service: ServiceProcess): Promise<void> {
  const [good, none] = [{ authorization: `Bearer ${mintToken(issuer.url)}` }, {}].map((headers) =>
    fetch(`${service.origin}/api/private`, { headers, keepalive: false }),
  );
  expect((await good)?.status).toBe(200);
  expect((await none)?.status).toBe(401);
}

function useService(environment: Record<string, string>): () => ServiceProcess {
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await startServiceProcess({ ISSUER: issuer.url, AUDIENCE, ...environment });
  });
  afterAll(async () => {
    expect(service.output()).not.toMatch(/eyJ[\w-]{20,}/);
    expect(await service.stop()).toBe(0);
  });
  return () => service;
}

describe('over a raw socket, the service', () => {
  const service = useService({});
  afterEach(() => expectServing(service()));

  async function attack({ bytes, statuses, isClosed }: WireAttack): Promise<void> {
    const answer = await exchange(service().port, bytes(mintToken(issuer.url)));
    const isAllowed = statuses.some((allowed) => Bun.deepEquals(allowed, answer.statuses));
    expect({ ...answer, isAllowed }).toMatchObject({ isAllowed: true });
    if (isClosed) expect(answer).toMatchObject({ isClosed: true });
  }

  for (const [kind, rows] of Object.entries(wireAttacks)) {
    describe(`faces ${kind}`, () => {
      for (const row of rows) test(`${row.name} (${row.rule})`, () => attack(row));
    });
  }

  for (const path of ['/api/private', '/api/private-scoped']) {
    test(`does not serve ${path} without a token in any of these ways`, async () => {
      const answers = Object.values(wireAttacks)
        .flat()
        .map(async ({ name, bytes }) => {
          const { text } = await exchange(service().port, bytes('').replaceAll('/api/private', path));
          return { name, isIn: GUARDED.test(text) };
        });
      expect((await Promise.all(answers)).filter(({ isIn }) => isIn)).toEqual([]);
    });
  }

  test('handles pipelined requests separately: each needs its own token', async () => {
    const good = withToken();
    await exchange(service().port, good);
    const wanted = Array.from({ length: 200 }, (_, at) => (at % 2 === 0 ? 200 : 401));
    const { statuses } = await exchange(service().port, (good + bare).repeat(100));
    // A connection may be ended early (the server closes one on which a request comes while another is being answered).
    expect(statuses).toEqual(wanted.slice(0, statuses.length));
    expect(statuses.length).toBeGreaterThan(0);
  });

  test('accepts a request byte by byte', async () => {
    const request = withToken();
    expect((await exchange(service().port, ...request.slice(0, 60), request.slice(60))).statuses).toEqual([200]);
    expect((await exchange(service().port, ...bare)).statuses).toEqual([401]);
  });
});

for (const [how, environment] of [
  ['as it is by default', {}],
  ['with metrics and a log line for each request', { METRICS_PORT: '0', LOG_LEVEL: 'debug' }],
] as const) {
  describe(`with any Host, the service ${how}`, () => {
    const service = useService(environment);
    const send = (path: string, host: string | undefined, version = '1.1') =>
      exchange(service().port, lines(`GET ${path} HTTP/${version}`, ...(host === undefined ? [] : [`Host: ${host}`])));

    for (const host of [...hosts, undefined]) {
      test(`answers based on the path only, or rejects: Host ${JSON.stringify(host) ?? 'missing, as HTTP/1.0 may'}`, async () => {
        const version = host === undefined ? '1.0' : '1.1';
        const answers = Object.entries(statusByPath).map(async ([path, status]) => {
          const { statuses } = await send(path, host, version);
          return { path, statuses, isRight: statuses.length === 1 && [status, 400].includes(statuses[0] ?? 0) };
        });
        expect((await Promise.all(answers)).filter(({ isRight }) => !isRight)).toEqual([]);
      });
    }
  });
}
