import { afterAll, beforeEach, expect, test } from 'bun:test';
import { runToEnd, until } from '../support/child-process.ts';
import { executableForm } from '../support/forms.ts';

/** The first line of each request to the proxy, which serves none. */
const proxied: (string | undefined)[] = [];
const proxy = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    data(socket, bytes) {
      proxied.push(bytes.toString().split('\r\n')[0]);
      socket.end();
    },
  },
});
beforeEach(() => void proxied.splice(0));
afterAll(() => proxy.stop(true));

const command = await executableForm.command();
const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
const environment = Object.fromEntries(names.map((name) => [name, `http://user:secret@127.0.0.1:${proxy.port}`]));

test('requests to loopback bypass a proxy in the environment', async () => {
  const { port, fetch, close } = await executableForm.start(environment, ['--dev']);
  await until(async () => (await fetch('/readyz')).ok, 'keys are held');
  const check = await runToEnd([...command, '--healthcheck'], { PORT: String(port), ...environment });
  expect({ ...check, stopped: await close(), proxied }).toMatchObject({ status: 0, stopped: 0, proxied: [] });
});

test('requests to other hosts do not', async () => {
  const settings = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'x' };
  const { close, output } = await executableForm.start({ ...settings, ...environment });
  await until(() => output().includes('Cannot fetch the key set'), 'a fetch through the proxy');
  expect(await close()).toBe(0);
  expect(proxied[0]).toBe('CONNECT issuer.example.test:443 HTTP/1.1');
  // The line of the start, and that of the fault, name the proxy, and none its password.
  expect(output()).toContain(`"proxies":["127.0.0.1:${proxy.port}"],"msg":"Listening"`);
  expect(output()).toMatch(new RegExp(`"failure":"network",.*"proxy":"127.0.0.1:${proxy.port}".*"msg":"Cannot fetch`));
  expect(output()).not.toContain('secret');
});
