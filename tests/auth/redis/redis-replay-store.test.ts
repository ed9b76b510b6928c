import { beforeEach, describe, expect, test } from 'bun:test';
import { createGuard } from 'protected-api';
import { type RedisClient, redisReplayStore } from 'protected-api/redis';
import { createTestIssuer } from 'protected-api/testing';

/*
 * What the store makes of the replies of a server, whichever client brings them. Real clients and a real server are in
 * tests/redis.
 */

type Reply = string | null;

/** The part of Redis that the store uses, in memory, and its faults. */
function createServer() {
  const server = {
    data: new Map<string, string>(),
    expiriesMs: new Map<string, number>(),
    nowMs: 0,
    commands: [] as string[],
    uptimeSeconds: 3600,
    runId: 'a1',
    policy: 'noeviction',
    /** What happens instead of a reply, while it is set. */
    fault: undefined as (() => Promise<never>) | undefined,
    async run(command: string, ...args: string[]): Promise<Reply> {
      server.commands.push([command, ...args].join(' '));
      if (server.fault) return server.fault();
      if (command === 'INFO')
        return `run_id:${server.runId}\r\nuptime_in_seconds:${server.uptimeSeconds}\r\nmaxmemory:100\r\nmaxmemory_policy:${server.policy}`;
      const [key = '', value = '', ...conditions] = args;
      const isLive = (server.expiriesMs.get(key) ?? 0) > server.nowMs;
      const old = (isLive ? server.data.get(key) : undefined) ?? null;
      const has = (word: string) => conditions.includes(word);
      const isSet = !(has('NX') && old !== null) && !(has('XX') && old === null);
      if (isSet) {
        server.data.set(key, value);
        server.expiriesMs.set(key, server.nowMs + Number(conditions[conditions.indexOf('PX') + 1]));
      }
      return has('GET') ? old : isSet ? 'OK' : null;
    },
  };
  return server;
}

type Server = ReturnType<typeof createServer>;
const clients = {
  'node-redis': ({ run }) => ({ sendCommand: ([command = '', ...args]) => run(command, ...args) }),
  ioredis: ({ run }) =>
    Object.assign({ sendCommand: () => Promise.reject(new Error('takes an object')) }, { call: run }),
  Bun: ({ run }) => ({ send: (command, args) => run(command, ...args) }),
} satisfies Readonly<Record<string, (server: Server) => RedisClient>>;

const lifetimeMs = 90_000;
const given = { signal: new AbortController().signal };

describe('redisReplayStore()', () => {
  let server: Server;
  let nowMs: number;
  let store: ReturnType<typeof redisReplayStore>;
  const use = async (key: string, issuedAtMs = nowMs) => {
    try {
      return await store.markUsed(key, lifetimeMs, issuedAtMs, given);
    } catch (error) {
      return (error as Error & { code: string }).code;
    }
  };

  beforeEach(() => {
    server = createServer();
    nowMs = 1.9e12;
    store = redisReplayStore(clients.Bun(server), { now: () => nowMs });
  });

  test('lets one of many callers use a key, and any caller another one', async () => {
    expect(await Promise.all(['a', 'a', 'b', 'a'].map((key) => use(key)))).toEqual([true, false, true, false]);
    expect(server.commands.filter((text) => text.startsWith('SET dpop:a '))).toEqual(
      Array(3).fill(`SET dpop:a  NX PX ${lifetimeMs}`),
    );
    // Nothing but one marker is written besides.
    expect([...server.data.keys()].filter((key) => key.startsWith('dpop:check:'))).toHaveLength(1);
  });

  test.each<[string, (server: Server) => unknown, first: unknown, later: unknown]>([
    ['was emptied', ({ data }) => data.clear(), 'forgotten', 'forgotten'],
    [
      'was replaced by one that has less',
      (each) => {
        for (const key of each.data.keys()) each.data.set(key, '0');
        each.runId = 'b2';
      },
      'connection',
      'forgotten',
    ],
    [
      'evicted the marker',
      ({ data }) => [...data.keys()].map((key) => key.includes('check') && data.delete(key)),
      'forgotten',
      'forgotten',
    ],
  ])(
    'rejects what may have been used before a server that %s, and accepts what was made since',
    async (_name, lose, first, later) => {
      const old = nowMs;
      expect(await use('a')).toBe(true);
      lose(server);
      nowMs += 1000;
      expect([await use('b'), await use('a', old)]).toEqual([first, later] as never);
      nowMs += 1;
      expect([await use('c'), await use('c')]).toEqual([true, false]);
    },
  );

  test('uses the first proof after hours without one', async () => {
    const hoursMs = 8 * 3_600_000;
    expect(await use('a')).toBe(true);
    server.nowMs += hoursMs;
    nowMs += hoursMs;
    expect([await use('b', nowMs - 1000), await use('b')]).toEqual([true, false]);
  });

  test('rejects proofs from before the start of the server that it meets first', async () => {
    server.uptimeSeconds = 10;
    expect([await use('a', nowMs - 10_000), await use('b', nowMs - 9999)]).toEqual(['forgotten', true]);
  });

  test.each<[string, () => Promise<never>, string]>([
    ['is full', () => Promise.reject(new Error("OOM command not allowed when used memory > 'maxmemory'.")), 'OOM'],
    [
      'is a replica',
      () => Promise.reject(new Error("READONLY You can't write against a read only replica.")),
      'READONLY',
    ],
    [
      'cannot be reached',
      () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNREFUSED' })),
      'ECONNREFUSED',
    ],
    ['never replies, because its client waits for a connection', () => new Promise(() => {}), 'timeout'],
  ])('cannot tell while the server %s, and goes on with the same data afterwards', async (_name, fault, code) => {
    expect(await use('before')).toBe(true);
    server.fault = fault;
    expect([await use('during'), await store.check().catch((error) => error.code)]).toEqual([code, code]);
    server.fault = undefined;
    expect([await use('before'), await use('after'), await store.check()]).toEqual([false, true, { evicts: false }]);
  });

  test('check() says whether the server evicts, and writes nothing but the marker', async () => {
    server.policy = 'allkeys-lru';
    expect(await store.check()).toEqual({ evicts: true });
    expect(server.data.size).toBe(1);
  });

  test('lets at most 20,000 calls wait', async () => {
    server.fault = () => new Promise(() => {});
    const waiting = Array.from({ length: 20_000 }, () => use('a'));
    expect(await use('b')).toBe('overloaded');
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['timeout']));
  });
});

test.each(Object.entries(clients))('a guard accepts a proof once with a client of %s', async (_, connect) => {
  const issuer = await createTestIssuer();
  const url = 'https://api.example.test/me';
  const replayStore = redisReplayStore(connect(createServer()));
  const guard = createGuard({ ...issuer.options, dpop: 'on', publicUrl: 'https://api.example.test', replayStore });
  const token = await issuer.token({}, { boundTo: 'dpop' });
  const dpop = await issuer.proof({ method: 'GET', url }, token);
  const send = async () => {
    const result = await guard.check(new Request(url, { headers: { authorization: `DPoP ${token}`, dpop } }));
    return result instanceof Response ? result.status : 200;
  };
  expect([await send(), await send()]).toEqual([200, 401]);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a URL', 'redis://localhost'],
  ['a client for HTTP', { set() {} }],
  ['a cluster of ioredis', { isCluster: true, call() {} }],
  ['a cluster of node-redis', { slots: [], sendCommand() {} }],
])('redisReplayStore() takes no client that is %s', (_, client) =>
  expect(() => redisReplayStore(client as RedisClient)).toThrow(
    'expected a client of node-redis, ioredis or Bun with one connection, not a pool or a cluster',
  ),
);
