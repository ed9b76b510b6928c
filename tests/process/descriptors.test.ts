import { describe, expect, test } from 'bun:test';
import { run, until } from '../support/child-process.ts';
import { executableForm, startService } from '../support/forms.ts';
import { open } from '../support/raw-http.ts';

const command = await executableForm.command();

/** Starts a service that may have 64 descriptors, and opens connections until it has none left. */
async function exhaust() {
  const script = ['bash', '-c', 'ulimit -n 64; exec "$@"', 'bash', ...command];
  const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x', SHUTDOWN_TIMEOUT_SECONDS: '600' };
  const service = await startService((environment) => run(script, environment), settings);
  const isLive = async () => {
    const response = service.fetch('/livez', { signal: AbortSignal.timeout(500) });
    return response.then(({ ok }) => ok).catch(() => false);
  };
  const silent = await Promise.all(Array.from({ length: 120 }, () => open(service.port)));
  await until(async () => !(await isLive()), 'no descriptor left');
  return { service, isLive, free: () => silent.map((socket) => socket.destroy()) };
}

describe.concurrent('a service without free descriptors', () => {
  test('recovers once connections are closed', async () => {
    const { service, isLive, free } = await exhaust();
    free();
    await until(isLive, 'a response');
    service.process.signal('SIGTERM');
    expect(await service.process.finished).toMatchObject({ status: 0, stderr: '' });
  });

  test('shuts down long before its time limit', async () => {
    const { service, free } = await exhaust();
    service.process.signal('SIGTERM');
    expect(await service.process.finished).toMatchObject({ status: 0, stderr: '' });
    free();
  });
});
