import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { freePort, run, runToEnd, untilItAnswers } from '../support/child-process.ts';
import { expectError } from '../support/expect-error.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { rawRequest } from '../support/raw-http.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);
let command: readonly string[];
beforeAll(async () => {
  command = await executableForm.command();
}, executableForm.startTimeoutMs);

const settings = { ISSUER: 'http://127.0.0.1:9/', AUDIENCE: 'x', HOST: '127.0.0.1' };

async function startOn(environment: Readonly<Record<string, string>>, flags: readonly string[] = []) {
  const service = run([...command, ...flags], environment);
  await untilItAnswers(`http://127.0.0.1:${environment.PORT}`, service);
  return {
    async [Symbol.asyncDispose]() {
      service.signal('SIGTERM');
      await service.finished;
    },
  };
}

const unprivilegedPort = () => Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));

describe('a process that cannot listen ends with 1 and one line:', () => {
  test('its port is taken by another instance', async () => {
    const port = String(await freePort());
    await using _first = await startOn({ ...settings, PORT: port });
    const second = await runToEnd(command, { ...settings, PORT: port });
    expect(second).toEqual({
      status: 1,
      stdout: '',
      stderr: `Cannot listen on 127.0.0.1:${port}: the port is in use\n`,
    });
  });

  test('its metrics port is taken, before it says how to use it', async () => {
    const [port, taken] = [String(await freePort()), String(await freePort())];
    await using _other = await startOn({ ...settings, PORT: taken });
    const { stderr, ...ended } = await runToEnd([...command, '--dev'], { PORT: port, METRICS_PORT: taken });
    expect(ended).toEqual({ status: 1, stdout: '' });
    expect(stderr).toBe(`Cannot listen on 127.0.0.1:${taken}: the port is in use\n`);
  });

  test.skipIf(unprivilegedPort() === 0)('it has no right to its port', async () => {
    const port = String(unprivilegedPort() - 1);
    const isRoot = process.getuid?.() === 0;
    const unprivileged = isRoot ? ['setpriv', '--bounding-set=-net_bind_service', ...command] : command;
    const { status, stderr } = await runToEnd(unprivileged, { ...settings, PORT: port, PATH: process.env.PATH ?? '' });
    expect(stderr).toBe(`Cannot listen on 127.0.0.1:${port}: permission denied\n`);
    expect(status).toBe(1);
  });

  for (const { host, reason } of [
    { host: '203.0.113.1', reason: 'this machine does not have the address' },
    // An empty label: no name server is asked for it.
    { host: 'no..such', reason: 'the host is not known' },
  ]) {
    test(`its host is ${host}`, async () => {
      const { status, stderr } = await runToEnd(command, { ...settings, HOST: host, PORT: '0' });
      expect({ status, stderr }).toEqual({ status: 1, stderr: `Cannot listen on ${host}:0: ${reason}\n` });
    });
  }
});

test('with REUSE_PORT two instances share a port', async () => {
  const shared = { ...settings, PORT: String(await freePort()), REUSE_PORT: 'true' };
  await using _first = await startOn(shared);
  const second = run(command, shared);
  // It ends by itself unless it listens, and its first line is that it does.
  while (!second.stdout().includes('\n')) await Promise.race([second.finished, Bun.sleep(10)]);
  expect(second.stdout()).toContain('"Listening"');
  second.signal('SIGTERM');
  expect((await second.finished).status).toBe(0);
});

test('the embedded issuer listens only on 127.0.0.1 by default', async () => {
  const port = String(await freePort());
  const isReached = (host: string) =>
    fetch(`http://${host}:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  {
    await using _embedded = await startOn({ PORT: port });
    expect(await isReached('127.0.0.2')).toBe(false);
  }
  await using _embedded = await startOn({ PORT: port, HOST: '0.0.0.0' }, ['--dev']);
  expect(await isReached('127.0.0.2')).toBe(true);
});

test('a Content-Length above the limits of Bun is answered by the application', async () => {
  const PORT = String(await freePort());
  await using _service = await startOn({ ...settings, PORT });
  const { response } = await rawRequest(`http://127.0.0.1:${PORT}`, [
    'POST /api/public HTTP/1.1',
    'Host: 127.0.0.1',
    'Connection: close',
    `Content-Length: ${10 ** 12}`,
  ]);
  if (response === undefined) throw new Error('No answer');
  await expectError(response, 413, 'payload_too_large');
});

test('an idle connection is kept longer than by load balancers, but at most twice as long', async () => {
  // Seen where it is handed to Bun, because to wait for it takes longer than the suite.
  const spy = `const { serve } = Bun;
Bun.serve = (options) => {
  process.stderr.write(JSON.stringify({ idleTimeout: options.idleTimeout }) + '\\n');
  return serve(options);
};`;
  const [bun = '', runIt = '', file = ''] = await sourceForm.command();
  const environment = { ...settings, PORT: String(await freePort()) };
  const service = run([bun, runIt, '--preload', './spy.ts', file], environment, { 'spy.ts': spy });
  await untilItAnswers(`http://127.0.0.1:${environment.PORT}`, service);
  service.signal('SIGTERM');
  const { idleTimeout } = JSON.parse((await service.finished).stderr);
  expect(idleTimeout).toBeWithin(61, 121);
});
