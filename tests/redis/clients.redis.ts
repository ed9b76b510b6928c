import { afterAll, describe, expect, test } from 'bun:test';
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from 'node:net';
import { RedisClient as BunClient } from 'bun';
import IORedis from 'ioredis';
import { redisReplayStore } from 'protected-api/redis';
import { createClient } from 'redis';
import { until } from '../support/child-process.ts';
import { startRedis } from '../support/redis-server.ts';

const server = await startRedis();
afterAll(() => server.kill());

/** Clients as their pages create them: each reconnects, and waits for a connection for ever. */
const clients = {
  async 'node-redis'(url: string) {
    const client = createClient({ url });
    client.on('error', () => {});
    await client.connect();
    return { client, close: () => client.destroy() };
  },
  async ioredis(url: string) {
    const client = new IORedis(url);
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  /** It says nothing of a command that was under way when its connection ended. */
  async 'ioredis that resends nothing'(url: string) {
    const client = new IORedis(url, { autoResendUnfulfilledCommands: false });
    client.on('error', () => {});
    return { client, close: () => client.disconnect() };
  },
  async Bun(url: string) {
    const client = new BunClient(url);
    return { client, close: () => client.close() };
  },
};

describe.each(Object.entries(clients))('redisReplayStore() with %s', (name, connect) => {
  test('accepts each proof once, also from another process, and says so while Redis hangs and after it lost its data', async () => {
    const [first, second] = [await connect(server.url), await connect(server.url)];
    const stores = [redisReplayStore(first.client), redisReplayStore(second.client)];
    const use = async (key: string, at = 0, issuedAtMs = Date.now() + 1000) => {
      const { signal } = new AbortController();
      const used = stores[at]?.markUsed(`${name} ${key}`, 90_000, issuedAtMs, { signal });
      return used?.then(String, (error: Error & { code: string }) => error.code);
    };
    for (const at of [0, 1]) await until(async () => (await use(crypto.randomUUID(), at)) === 'true', 'the connection');
    const uses = await Promise.all(Array.from({ length: 200 }, (_, index) => use('a', index % 2)));
    const countOf = (outcome: string) => uses.filter((each) => each === outcome).length;
    // On a busy machine, a reply may come later than the store waits for it.
    const late = countOf('timeout');
    expect(countOf('true') + countOf('false') + late).toBe(200);
    expect([late > 0 ? 0 : 1, 1]).toContain(countOf('true'));

    server.signal('SIGSTOP');
    const before = performance.now();
    expect(await use('hanging')).toBe('timeout');
    expect(performance.now() - before).toBeLessThan(10_000);
    server.signal('SIGCONT');
    await until(async () => (await use('a')) === 'false', 'the same data');

    // A client may send a command again, whose first reply was lost with the connection.
    const keys = Array.from({ length: 100 }, (_, index) => `resent ${index}`);
    const useAll = () => Promise.all(keys.map((key) => use(key)));
    const early = useAll();
    await server.command('CLIENT', 'KILL', 'TYPE', 'normal').catch(() => {});
    const rounds = [await early, await useAll()];
    await until(async () => (await use(crypto.randomUUID())) === 'true', 'the next connection');
    rounds.push(await useAll());
    for (const index of keys.keys()) {
      const accepted = rounds.filter((round) => round[index] === 'true').length;
      // Whether the first use was marked or not, nobody is accepted after it.
      expect(accepted).toBeLessThanOrEqual(1);
    }

    const old = Date.now();
    await server.kill();
    expect(await use('down')).not.toBe('true');
    await server.start();
    await until(async () => (await use(crypto.randomUUID())) === 'true', 'new proofs');
    expect(await use('a', 0, old - 1)).toBe('forgotten');
    first.close();
    second.close();
  });

  test('accepts no proof again that another process used just before a failover, which lost it', async () => {
    const primary = await startRedis();
    const replica = await startRedis(['--replicaof', `127.0.0.1 ${primary.port}`]);
    let { port } = primary;
    const open = new Set<Socket>();
    const relay = createServer((inner) => {
      const outer = connectSocket(port, '127.0.0.1');
      inner.pipe(outer).pipe(inner);
      for (const socket of [inner, outer]) open.add(socket.on('error', () => {}));
    });
    await new Promise<void>((done) => relay.listen(0, '127.0.0.1', done));
    const { client, close } = await connect(`redis://127.0.0.1:${(relay.address() as AddressInfo).port}`);
    const store = redisReplayStore(client);
    const { signal } = new AbortController();
    const use = (key: string, issuedAtMs: number) =>
      store.markUsed(key, 90_000, issuedAtMs, { signal }).catch((error: Error & { code: string }) => error.code);
    // This process has marked one proof, which the replica has, and then does nothing.
    await until(async () => (await use(crypto.randomUUID(), Date.now() + 1000)) === true, 'the connection');
    const isReplicated = async () => String(await replica.command('KEYS', 'dpop:*')).includes('dpop:check:');
    await until(isReplicated, 'the replica');
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await primary.command('SET', 'dpop:lost', '', 'PX', '90000');

    const issuedAtMs = Date.now();
    port = replica.port;
    for (const socket of open) socket.destroy();
    await primary.kill();
    // Bun's client does not say that it has connected again.
    await Bun.sleep(1100);
    await until(async () => ['forgotten', true].includes(await use('lost', issuedAtMs)), 'the next connection');
    expect(await use('lost', issuedAtMs)).toBe('forgotten');
    close();
    relay.close();
    await replica.kill();
  });
});
