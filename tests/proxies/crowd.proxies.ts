import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { fixtureFor, serve } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { readText } from '../support/repository.ts';
import { haproxy, nginx, nginxServers, startNginx } from './proxies.ts';

const fixture = fixtureFor(sourceForm);

describe.concurrent('a client that opens 300 connections and never finishes its headers', () => {
  test.each([
    { ...haproxy, rejected: 200 },
    { ...nginx, rejected: 0 },
  ])('takes nothing from others behind $name, where $rejected are rejected', async ({ start, rejected }) => {
    const port = await freePort();
    const proxy = await start(`127.0.0.1:${port}`, `127.0.0.1:${fixture().service.port}`);
    const origin = `http://127.0.0.1:${port}`;
    await untilReachable(`${origin}/readyz`, proxy, ({ ok }) => ok);

    const startedAtMs = performance.now();
    const attack = async () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
      socket.write('GET /api/public HTTP/1.1\r\nHost: a\r\nX-Slow: ');
      socket.resume();
      await new Promise((done) => socket.on('close', done));
      return performance.now() - startedAtMs;
    };
    const lives = Array.from({ length: 300 }, attack);
    for (let asked = 0; asked < 50; asked += 1)
      expect((await fetch(`${origin}/api/public`, { keepalive: false })).status).toBe(200);
    const livesMs = await Promise.all(lives);
    // The rest is cut off after ten seconds. A busy machine is slow to reject.
    expect(livesMs.filter((ms) => ms < 8000)).toHaveLength(rejected);
    expect(livesMs.filter((ms) => ms > 60_000)).toEqual([]);
    proxy.signal('SIGTERM');
    await proxy.finished;
  });
});

const [, ofClients = ''] =
  /"(set_real_ip_from .*?)"/.exec(await readText('deploy/nginx/protected-api.conf.template')) ?? [];

test.each([
  ['as it is', 50, ''],
  ['with the lines for it', 0, ofClients],
])('behind another proxy, nginx %s rejects %i of 150 clients', async (_name, rejected, lines) => {
  let waiting = 0;
  let limited = 0;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const api = serve(async ({ url }) => {
    if (url.endsWith('/ready')) return new Response();
    waiting += 1;
    await released;
    return new Response();
  });
  const frontend = `127.0.0.1:${await freePort()}`;
  const text = await nginxServers(frontend, api.url.host);
  const proxy = startNginx(text.replace(/listen .*/, (line) => `${line} ${lines}`));
  await untilReachable(`http://${frontend}/ready`, proxy);
  const responses = Array.from({ length: 150 }, async (_, index) => {
    const { status } = await fetch(`http://${frontend}/`, { headers: { 'x-forwarded-for': `192.0.2.${index}` } });
    if (status === 429) limited += 1;
  });
  await until(() => waiting + limited >= 150, 'all requests');
  release();
  await Promise.all(responses);
  expect(limited).toBe(rejected);
  proxy.signal('SIGTERM');
  await Promise.all([proxy.finished, api.stop(true)]);
});
