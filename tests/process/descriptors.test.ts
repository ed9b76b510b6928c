import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type Environment, freePort, run, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';
import { open } from '../support/raw-http.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);
beforeAll(async () => void (await executableForm.command()), executableForm.startTimeoutMs);

async function start(limit: number, more: Environment = {}) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x', HOST: '127.0.0.1', PORT: String(port), ...more };
  const script = `ulimit -n ${limit}; exec "$@"`;
  const service = run(['bash', '-c', script, 'bash', ...(await executableForm.command())], settings);
  await untilItAnswers(origin, service);
  const isLive = () =>
    fetch(`${origin}/livez`, { keepalive: false, signal: AbortSignal.timeout(500) }).then(
      ({ ok }) => ok,
      () => false,
    );
  return { port, service, isLive };
}

test('a service without free descriptors recovers once connections are closed', async () => {
  const { port, service, isLive } = await start(64);
  const silent = await Promise.all(Array.from({ length: 120 }, () => open(port)));
  await until(async () => !(await isLive()), 'no descriptor left');
  for (const socket of silent) socket.destroy();
  await until(isLive, 'an answer');
  service.signal('SIGTERM');
  expect(await service.finished).toMatchObject({ status: 0, stderr: '' });
});

test('silent connections that use all descriptors do not delay the shutdown until its time limit', async () => {
  const { port, service, isLive } = await start(64, { SHUTDOWN_TIMEOUT_SECONDS: '600' });
  const silent = await Promise.all(Array.from({ length: 120 }, () => open(port)));
  await until(async () => !(await isLive()), 'no descriptor left');
  service.signal('SIGTERM');
  expect(await service.finished).toMatchObject({ status: 0, stderr: '' });
  for (const socket of silent) socket.destroy();
});
