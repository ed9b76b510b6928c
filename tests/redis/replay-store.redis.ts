import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type AddressInfo, connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { RedisReplayStore } from '../../src/redis/replay-store.ts';
import { faultOf, type StoreEvent, type StoreFailure } from '../../src/redis/store-failure.ts';
import { until } from '../support/child-process.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const lifetimeMs = 90_000;
const forgotten = 'failed: forgotten';
const { signal } = new AbortController();

describe('RedisReplayStore', async () => {
  const server = await startRedis();
  let store: RedisReplayStore;
  let events: StoreEvent[];
  let nowMs = 0;
  const rejections: unknown[] = [];
  const note = (reason: unknown) => rejections.push(reason);

  /** Opens a store that replaces the last one, like a process that starts. */
  const open = (url = server.url) => {
    store?.stop();
    store = new RedisReplayStore({ url, onEvent: (event) => events.push(event), now: () => nowMs });
    store.start();
  };
  /** By default with a proof that was created just after the connection. */
  const use = (key: string, issuedAtMs = 1) =>
    store
      .markUsed(key, lifetimeMs, issuedAtMs, { signal })
      .catch((error: unknown) => `failed: ${faultOf(error).failure}`);
  const connected = () => until(() => store.isConnected, 'the connection');
  const connect = (url?: string) => {
    open(url);
    return connected();
  };
  /** Connects like a process that starts when the server is two seconds old. */
  const connectLater = async ({ command, url }: RedisServer) => {
    const uptimeSeconds = async () => /uptime_in_seconds:(\d+)/.exec(String(await command('INFO', 'server')))?.[1];
    await until(async () => Number(await uptimeSeconds()) >= 2, 'an older server');
    await connect(url);
  };
  const lost = () => until(() => events.some(({ type }) => type === 'failed'), 'the end of the connection');

  const expectOutage = (failure: StoreFailure) => {
    expect(store.isConnected).toBe(false);
    expect(events).toContainEqual(expect.objectContaining({ type: 'failed', failure }));
  };

  const countSets = async () =>
    Number(/cmdstat_set:calls=(\d+)/.exec(String(await server.command('INFO', 'commandstats')))?.[1]);
  /** What a connected store rejects is over when no proof from that time is valid. A new connection ends it, too. */
  const expectEnd = async (endMs: number) => {
    const isOver = () => events.some(({ type }) => type === 'recovered' || type === 'connected');
    events = [];
    nowMs = endMs - 1;
    const sets = await countSets();
    await until(async () => (await countSets()) >= sets + 3, 'two checks');
    const isEarly = events.some(({ type }) => type === 'recovered');
    nowMs = endMs;
    await until(isOver, 'the end');
    nowMs = 0;
    expect(isEarly).toBe(false);
  };

  process.on('unhandledRejection', note);
  beforeEach(async () => {
    events = [];
    await connect();
  });
  afterEach(() => {
    store.stop();
    expect(rejections).toEqual([]);
  });
  afterAll(async () => {
    process.off('unhandledRejection', note);
    await server.kill();
  });

  test('lets one of many callers use a key for the given time, with two commands per call', async () => {
    await server.command('CONFIG', 'RESETSTAT');
    const uses = await Promise.all(Array.from({ length: 1000 }, () => use('a')));
    expect(uses.filter((isFirst) => isFirst === true)).toHaveLength(1);
    expect(uses.filter((isFirst) => isFirst === false)).toHaveLength(999);
    expect(Number(await server.command('PTTL', 'dpop:a'))).toBeWithin(lifetimeMs - 60_000, lifetimeMs + 1);
    const sets = await countSets();
    // This includes the checks of the store itself, twice a second, over the same connection.
    expect(sets).toBeWithin(2000, 2200);
    await until(async () => (await countSets()) >= sets + 2, 'two checks');
    expect(events).toHaveLength(1);
  });

  const config = (...settings: readonly string[]) => server.command('CONFIG', 'SET', ...settings);
  test.each<[name: string, failure: StoreFailure, begin: () => unknown, end: () => unknown]>([
    ['hangs', 'timeout', () => server.signal('SIGSTOP'), () => server.signal('SIGCONT')],
    ['is full', 'full', () => config('maxmemory', '1'), () => config('maxmemory', '0')],
  ])(
    'rejects at once while the server %s, and continues with the same data afterwards',
    async (name, failure, begin, end) => {
      expect(await use(`before it ${name}`)).toBe(true);
      await begin();
      // A check that was under way may have ended the connection first.
      expect(await use(`while it ${name}`)).toMatch(new RegExp(`^failed: (?:${failure}|connection)$`));
      expectOutage(failure);
      await end();
      await connected();
      expect(await use(`before it ${name}`)).toBe(false);
      expect(await use(`after it ${name}`)).toBe(true);
    },
  );

  test('treats proofs from before the return of a server that lost its data as possibly used', async () => {
    expect(await use('used')).toBe(true);
    const pending = Array.from({ length: 100 }, (_, index) => use(`pending ${index}`));
    await server.kill();
    await Promise.all(pending);
    await lost();
    expect(await use('away')).toBe('failed: connection');
    await server.start();
    await connected();
    expect(await use('used', 0)).toBe(forgotten);
    expect(await use('made since')).toBe(true);
    expect(await use('made since')).toBe(false);
  });

  test('treats proofs from before a loss of data as possibly used, from the first request on', async () => {
    expect(await use('used')).toBe(true);
    nowMs = 1000;
    await server.command('FLUSHALL');
    // A check may have noticed it first, and have ended the connection.
    expect(await use('used')).toMatch(/^failed: (?:forgotten|connection)$/);
    await connected();
    for (const issuedAtMs of [1, 1000]) expect(await use('used', issuedAtMs)).toBe(forgotten);
    expect(await use('made since', 1001)).toBe(true);
    // As long as a proof that is created now and valid like the first one, which was created at 1.
    await expectEnd(1000 + lifetimeMs + 999);
  });

  describe('over a connection that changes what the server replies', () => {
    let rewrite = (reply: string) => reply;
    let relay: Server;
    const clients = new Set<Socket>();
    const listen = (port = 0) => new Promise<void>((done) => relay.listen(port, '127.0.0.1', done));
    beforeEach(async () => {
      rewrite = (reply) => reply;
      relay = createServer((client) => {
        clients.add(client);
        const upstream = connectSocket(server.port, '127.0.0.1');
        client.on('data', (chunk) => upstream.write(chunk)).on('close', () => upstream.destroy());
        upstream.on('data', (chunk) => client.write(rewrite(chunk.toString('latin1')), 'latin1'));
        upstream.on('close', () => client.destroy());
      });
      await listen();
      await connect(`redis://127.0.0.1:${(relay.address() as AddressInfo).port}`);
    });
    afterEach(() => void relay.close());

    test.each([
      ['one reply is lost', /^[^\r]*\r\n/],
      ['two replies are lost', /^[^\r]*\r\n\$\d+\r\n\d+\r\n/],
    ])('takes none for that of another request when %s', async (name, lostReplies) => {
      expect(await use(name)).toBe(true);
      rewrite = (replies) => replies.replace(lostReplies, '');
      const keys = [name, ...Array.from({ length: 50 }, (_, index) => `${name} ${index}`)];
      const uses = await Promise.all(keys.map((key) => use(key)));
      expect(uses.filter((result) => result === true)).toEqual([]);
    });

    test('treats proofs from before a loss of data during a disconnection as possibly used', async () => {
      const { port } = relay.address() as AddressInfo;
      expect(await use('used before')).toBe(true);
      await Promise.all([new Promise((done) => relay.close(done)), ...[...clients].map((client) => client.destroy())]);
      await lost();
      await server.command('FLUSHALL');
      nowMs = 1000;
      await listen(port);
      await connected();
      expect(await use('used before', 1000)).toBe(forgotten);
      nowMs = 0;
    });

    test('accepts only OK and null as a result', async () => {
      rewrite = (replies) => replies.replace('+OK', '+NO');
      expect(await use('changed')).toBe('failed: connection');
    });

    test('notices at once when it ends', async () => {
      // Without the timer of the checks, which would notice it too.
      const { setTimeout } = globalThis;
      const noChecks = (run: () => void, ms: number) => (ms === 500 ? undefined : setTimeout(run, ms));
      globalThis.setTimeout = noChecks as typeof setTimeout;
      await connect();
      globalThis.setTimeout = setTimeout;
      await server.command('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
      await lost();
    });
  });

  test('keeps its data when only the connection breaks', async () => {
    await connectLater(server);
    expect(await use('kept')).toBe(true);
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
    await lost();
    await connected();
    expect(await use('kept', -1000)).toBe(false);
    expect(await use('older', -1000)).toBe(true);
  });

  test('treats proofs from before the start of the server as possibly used, even in a process that starts later', async () => {
    const young = await startRedis();
    await connect(young.url);
    // The age is in whole seconds, so the start may be up to a second later than it was.
    expect(await use('older', -60_000)).toBe(forgotten);
    expect(events.at(-1)).toEqual({ type: 'failed', failure: 'forgotten', failures: 1 });
    expect(await use('made since')).toBe(true);
    await connectLater(young);
    expect(await use('made since its start', -1000)).toBe(true);
    expect(await use('older', -60_000)).toBe(forgotten);
    await young.kill();
  });

  test('trusts no proof from before the connection if the server does not tell its age', async () => {
    await connectLater(server);
    const rights = ['~*', '+@write', '+@connection', '-info'];
    await server.command('ACL', 'SETUSER', 'writer', 'on', '>secret', ...rights);
    await connect(`redis://writer:secret@127.0.0.1:${server.port}`);
    expect(await use('before', 0)).toBe(forgotten);
    expect(await use('after')).toBe(true);
  });

  test('rejects calls while 20,000 commands are in flight, and accepts calls again after the replies', async () => {
    // So that no machine is fast enough to reply, or too slow.
    server.signal('SIGSTOP');
    const uses = Array.from({ length: 20_001 }, (_, index) => use(`many ${index}`));
    expect(await uses.at(-1)).toBe('failed: overloaded');
    expect(store.isConnected).toBe(true);
    const results = await Promise.all(uses);
    server.signal('SIGCONT');
    expect(results.filter((result) => result === 'failed: overloaded')).toHaveLength(1);
    const failures = events.flatMap((event) => (event.type === 'failed' ? [event.failure] : []));
    expect(failures).toEqual(['overloaded', 'timeout']);
    await connected();
    expect(await use('again')).toBe(true);
  });

  test('reports a server that evicts keys', async () => {
    await config('maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
    await connect();
    await config('maxmemory', '0', 'maxmemory-policy', 'noeviction');
    expect(events.map((event) => event.type === 'connected' && event.evicts)).toEqual([false, true]);
  });

  test.each<[name: string, url: () => string, failure: StoreFailure]>([
    ['an account that may only read', () => `redis://reader:secret@127.0.0.1:${server.port}`, 'refused'],
    ['a URL that the client rejects', () => 'redis://127.0.0.1/no-number', 'connection'],
  ])('takes %s for an outage', async (_name, url, failure) => {
    await server.command('ACL', 'SETUSER', 'reader', 'on', '>secret', '~*', '+@read', '+hello', '+info');
    open(url());
    await lost();
    expectOutage(failure);
    expect(await use('a')).toBe('failed: connection');
  });

  test('connects to a server that starts later, with a password', async () => {
    const late = await startRedis(
      ['--requirepass', 'p@ss/word'],
      (port) => `redis://:p%40ss%2Fword@127.0.0.1:${port}/2`,
    );
    await late.kill();
    open(late.url);
    await until(() => events.at(-1)?.type === 'failed', 'the failed attempt');
    await late.start();
    await connected();
    expect(await use('late')).toBe(true);
    await late.kill();
  });
});
