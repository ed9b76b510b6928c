import { afterAll, expect, test } from 'bun:test';
import { logStoreEvent } from '../../src/observe/guard-log.ts';
import { RedisReplayStore } from '../../src/redis/replay-store.ts';
import { findCause } from '../../src/redis/store-failure.ts';
import { certificate } from '../support/certificates.ts';
import { until } from '../support/child-process.ts';
import { rsaKey } from '../support/keys.ts';
import { readJsonLines, recordLog } from '../support/recorded-log.ts';
import { startRedis } from '../support/redis-server.ts';

const open = await startRedis();
const locked = await startRedis(['--requirepass', 'p%w'], (port) => `redis://:p%25w@127.0.0.1:${port}`);
const key = rsaKey('stranger').export({ format: 'pem', type: 'pkcs8' }).toString();
const tls = { key, cert: certificate('a').pem };
const socket = { data() {} };
const selfSigned = Bun.listen({ hostname: '127.0.0.1', port: 0, tls, socket });
const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket });
const closing = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { ...socket, open: (one) => void one.end() } });
afterAll(async () => {
  for (const server of [selfSigned, silent, closing]) server.stop(true);
  await Promise.all([open.kill(), locked.kill()]);
});

const rows: readonly [name: string, url: string, cause: string | undefined][] = [
  ['a server that works', open.url, undefined],
  ['a server that works with this password', locked.url, undefined],
  ['a closed port', 'redis://127.0.0.1:1', 'ECONNREFUSED'],
  // An empty label, so no name server is queried.
  ['an unknown host', 'redis://no..such', 'ENOTFOUND'],
  ['no password', `redis://127.0.0.1:${locked.port}`, 'NOAUTH'],
  ['a wrong password', `redis://:hunter2@127.0.0.1:${locked.port}`, 'WRONGPASS'],
  ['a wrong user', `redis://ada:hunter2@127.0.0.1:${locked.port}`, 'WRONGPASS'],
  ['a self-signed certificate', `rediss://127.0.0.1:${selfSigned.port}`, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['a server that says nothing', `redis://127.0.0.1:${silent.port}`, 'ETIMEDOUT'],
  ['a server that closes the connection', `redis://127.0.0.1:${closing.port}`, 'ECONNRESET'],
];
test.each(rows)('findCause() of %s', async (_name, url, cause) => expect(await findCause(url, 1000)).toBe(cause));

test('the log names the cause of an outage once, without credentials', async () => {
  const { log, lines } = recordLog('debug');
  const url = `redis://:hunter2@127.0.0.1:${locked.port}`;
  const store = new RedisReplayStore({ url, onEvent: (event) => logStoreEvent(log, event) });
  store.start();
  await until(() => lines.length === 3, 'three attempts');
  store.stop();
  const logged = readJsonLines(lines.join('')).map(({ level, cause }) => [level, cause]);
  expect(logged).toEqual([['warn', 'WRONGPASS'], ...Array(2).fill(['debug', undefined])]);
  expect(lines.join('')).not.toContain('hunter2');
});
