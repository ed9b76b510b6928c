import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { freePort, run, runToEnd, until, untilItAnswers } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';

/** The first line of each request to the proxy, which answers none. */
let proxied: string[];
let proxy: Server;
let environment: Record<string, string>;

beforeAll(async () => {
  await executableForm.command();
  proxied = [];
  proxy = createServer((socket) => {
    socket.once('data', (chunk) => {
      proxied.push(chunk.toString().split('\r\n')[0] ?? '');
      socket.destroy();
    });
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  environment = Object.fromEntries(names.map((name) => [name, url]));
}, executableForm.startTimeoutMs);
afterAll(() => void proxy.close());

test('requests to loopback bypass a proxy in the environment', async () => {
  const port = String(await freePort());
  const command = await executableForm.command();
  const service = run([...command, '--dev'], { PORT: port, ...environment });
  await untilItAnswers(`http://127.0.0.1:${port}`, service);
  await until(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).ok, 'keys are held');
  expect(await runToEnd([...command, '--healthcheck'], { PORT: port, ...environment })).toMatchObject({ status: 0 });
  service.signal('SIGTERM');
  expect((await service.finished).status).toBe(0);
  expect(proxied).toEqual([]);
});

test('requests to other hosts do', async () => {
  const settings = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'x', PORT: '0' };
  const service = run(await executableForm.command(), { ...settings, ...environment });
  await until(() => proxied.length > 0, 'a fetch through the proxy');
  service.signal('SIGTERM');
  expect((await service.finished).status).toBe(0);
  expect(proxied[0]).toBe('CONNECT issuer.example.test:443 HTTP/1.1');
});
