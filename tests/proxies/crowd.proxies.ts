import { describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { freePort, untilReachable } from '../support/child-process.ts';
import { fixtureFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { haproxy, nginx } from './proxies.ts';

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
