import { describe, expect, test } from 'bun:test';
import { freePort, until, untilReachable } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE } from '../support/mint.ts';
import { haproxy, nginx, startLoad } from './proxies.ts';

/** Sends eight requests at a time, and returns their statuses and the longest wait. */
async function sendEight(url: string) {
  const startedAtMs = performance.now();
  const send = async () => (await fetch(url, { keepalive: false })).status;
  const statuses = await Promise.all(Array.from({ length: 8 }, send));
  return { statuses: new Set(statuses), waitedMs: performance.now() - startedAtMs };
}

describe.concurrent.each([
  { ...haproxy, statuses: [200, 504], noticedMs: 8000 },
  { ...nginx, statuses: [200], noticedMs: 12_000 },
])('behind $name, when one of two instances', ({ start, statuses, noticedMs }) => {
  test('is killed, no request gets a 503; hangs, none waits for more than 12 s; resumes, it serves again', async () => {
    await using issuer = await startIssuer();
    const settings = { ISSUER: issuer.url, AUDIENCE, LOG_LEVEL: 'debug' };
    const left = await sourceForm.start(settings);
    const killed = await sourceForm.start(settings);
    const port = await freePort();
    const proxy = await start(`127.0.0.1:${port}`, `127.0.0.1:${left.port}`, `127.0.0.1:${killed.port}`);
    const url = `http://127.0.0.1:${port}/api/public`;
    await untilReachable(url, proxy, ({ ok }) => ok);

    const load = startLoad(url);
    const seen = ({ output }: typeof left) => output().split('/api/public').length;
    const untilItServes = async (instance: typeof left) => {
      const before = seen(instance);
      await until(() => seen(instance) > before + 100, 'requests at an instance');
    };
    await untilItServes(killed);
    killed.process.signal('SIGKILL');
    const before = load.requests();
    await until(() => load.requests() > before + 1500, '1500 requests');
    const failures = await load.stop();
    expect(failures.filter((failure) => failure.startsWith('503'))).toEqual([]);
    // Those that it was responding to.
    expect(failures.length).toBeLessThan(16);

    const resumed = await sourceForm.start({ ...settings, PORT: String(killed.port) });
    const again = startLoad(url);
    await untilItServes(resumed);
    expect(await again.stop()).toEqual([]);
    resumed.process.signal('SIGSTOP');
    const first = await sendEight(url);
    const second = await sendEight(url);
    resumed.process.signal('SIGCONT');
    // HAProxy sends no request twice. It notices that the instance hangs, and nginx does not.
    expect(statuses).toEqual(expect.arrayContaining([...first.statuses]));
    expect(second.statuses).toEqual(new Set([200]));
    expect([first.waitedMs < 12_000, second.waitedMs < noticedMs]).toEqual([true, true]);
    const last = startLoad(url);
    await untilItServes(resumed);
    expect(await last.stop()).toEqual([]);
    proxy.signal('SIGTERM');
    await Promise.all([proxy.finished, left.close(), resumed.close()]);
  });
});
