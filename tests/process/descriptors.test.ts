import { beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { freePort, run, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);
beforeAll(async () => void (await executableForm.command()), executableForm.startTimeoutMs);

/** Opens connections that send nothing. */
function openSilent(port: number, count: number): Promise<Socket[]> {
  const opened = Array.from({ length: count }, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await new Promise<void>((done) => socket.once('connect', () => done()));
    return socket;
  });
  return Promise.all(opened);
}

async function start(limit: number) {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x', HOST: '127.0.0.1', PORT: String(port) };
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
  const silent = await openSilent(port, 120);
  await until(async () => !(await isLive()), 'no descriptor left');
  for (const socket of silent) socket.destroy();
  await until(isLive, 'an answer');
  service.signal('SIGTERM');
  expect(await service.finished).toMatchObject({ status: 0, stderr: '' });
});

test('silent connections that use all descriptors delay the shutdown by little more than a second', async () => {
  const { port, service, isLive } = await start(64);
  const silent = await openSilent(port, 120);
  await until(async () => !(await isLive()), 'no descriptor left');
  const stoppedAt = performance.now();
  service.signal('SIGTERM');
  expect(await service.finished).toMatchObject({ status: 0, stderr: '' });
  expect(performance.now() - stoppedAt).toBeLessThan(3000);
  for (const socket of silent) socket.destroy();
});
