import { afterAll, expect, test } from 'bun:test';
import { logStoreEvent } from '../../src/observe/guard-log.ts';
import { RedisReplayStore } from '../../src/redis/replay-store.ts';
import { findCause, type StoreFailure } from '../../src/redis/store-failure.ts';
import { certificate } from '../support/certificates.ts';
import { freePort, until } from '../support/child-process.ts';
import { rsaKey } from '../support/keys.ts';
import { readJsonLines, recordLog } from '../support/recorded-log.ts';
import { startRedis } from '../support/redis-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

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

const allowed = ['ACL', 'SETUSER', 'ada', 'on', '>pw', '+@all'];
const asAda = (port: number) => `redis://ada:pw@127.0.0.1:${port}`;
// By default, the port of the bus is that of clients plus 10,000, which may be taken.
const busPort = String(await freePort());
const nodes = `${temporaryFolder()}/nodes.conf`;
const cluster = ['--cluster-enabled', 'yes', '--cluster-port', busPort, '--cluster-config-file', nodes];

/**
 * States of a server, and what the log then says. The states of a server that works before come from commands to it.
 */
const states: readonly {
  readonly name: string;
  readonly args?: readonly string[];
  readonly commands?: readonly (readonly string[])[];
  readonly urlOf?: (port: number) => string;
  readonly failure: StoreFailure;
  readonly cause: string;
}[] = [
  { name: 'a replica', args: ['--replicaof', `127.0.0.1 ${open.port}`], failure: 'refused', cause: 'READONLY' },
  {
    name: 'no right to SET',
    commands: [[...allowed, '~*', '-set']],
    urlOf: asAda,
    failure: 'refused',
    cause: 'NOPERM',
  },
  { name: 'no right to the keys', commands: [[...allowed, '~a']], urlOf: asAda, failure: 'refused', cause: 'NOPERM' },
  { name: 'a cluster without slots', args: cluster, failure: 'refused', cause: 'CLUSTERDOWN' },
  { name: 'too few replicas', args: ['--min-replicas-to-write', '1'], failure: 'refused', cause: 'NOREPLICAS' },
  { name: 'a full memory', commands: [['CONFIG', 'SET', 'maxmemory', '1']], failure: 'full', cause: 'OOM' },
  {
    name: 'a database that does not exist',
    urlOf: (port) => `redis://127.0.0.1:${port}/99`,
    failure: 'connection',
    cause: 'ERR on SELECT',
  },
  {
    name: 'no HELLO, which the client needs',
    args: ['--rename-command', 'HELLO', ''],
    failure: 'connection',
    cause: 'ERR on HELLO',
  },
  {
    name: 'a wrong password',
    args: ['--requirepass', 'pw'],
    urlOf: (port) => `redis://:hunter2@127.0.0.1:${port}`,
    failure: 'connection',
    cause: 'WRONGPASS',
  },
];

test.each(states)('the log of a store with $name says $cause once, without credentials', async (state) => {
  const { args, commands = [], urlOf = (port) => `redis://127.0.0.1:${port}`, failure, cause } = state;
  const server = await startRedis(args);
  for (const [command = '', ...words] of commands) await server.command(command, ...words);
  const { log, lines } = recordLog('debug');
  const store = new RedisReplayStore({ url: urlOf(server.port), onEvent: (event) => logStoreEvent(log, event) });
  store.start();
  await until(() => lines.length === 3, 'three attempts');
  store.stop();
  await server.kill();
  const logged = readJsonLines(lines.join('')).map((line) => [line.level, line.failure, line.cause]);
  expect(logged).toEqual([['warn', failure, cause], ...Array(2).fill(['debug', failure, undefined])]);
  expect(lines.join('')).not.toMatch(/hunter2|ada|pw/);
});

test('a primary that becomes a replica, and one again, is named READONLY in one line, and not when it is over', async () => {
  const server = await startRedis();
  const { log, lines } = recordLog('info');
  const store = new RedisReplayStore({ url: server.url, onEvent: (event) => logStoreEvent(log, event) });
  store.start();
  const connected = () => until(() => store.isConnected, 'the connection');
  await connected();
  for (const failover of [1, 2]) {
    await server.command('REPLICAOF', '127.0.0.1', String(open.port));
    await until(() => lines.length === 2 * failover, 'the failure');
    await server.command('REPLICAOF', 'NO', 'ONE');
    await connected();
  }
  store.stop();
  await server.kill();
  const [first, ...rest] = readJsonLines(lines.join('')).map((line) => line.cause ?? line.msg);
  const failover = ['READONLY', first];
  expect([first, ...rest]).toEqual(['Connected to the replay store', ...failover, ...failover]);
});

test('the log names a wrong password of a server that was not up at first', async () => {
  const server = await startRedis(['--requirepass', 'pw'], (port) => `redis://:hunter2@127.0.0.1:${port}`);
  await server.kill();
  const { log, lines } = recordLog('info');
  const store = new RedisReplayStore({ url: server.url, onEvent: (event) => logStoreEvent(log, event) });
  store.start();
  await until(() => lines.length === 1, 'the first cause');
  await server.start();
  await until(() => lines.length === 2, 'the second cause');
  store.stop();
  await server.kill();
  expect(readJsonLines(lines.join('')).map(({ cause }) => cause)).toEqual(['ECONNREFUSED', 'WRONGPASS']);
});
