import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { freePort, untilReachable } from '../support/child-process.ts';
import { fixtureFor, startedFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { listen, rawRequest } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { haproxy, nginx, nginxServers, startCaddy, startNginx } from './proxies.ts';

/** Starts a proxy in front of two servers, each of which reads a request to /lost and closes the connection. */
function behind({ start }: typeof nginx) {
  const seen: string[] = [];
  return startedFor(
    async () => {
      const create = () =>
        createServer(({ url = '', method = '', headers, socket }, response) => {
          if (url !== '/readyz') seen.push(`${method} ${headers.host}`);
          if (url === '/lost') socket.destroy();
          else response.end('ok');
        });
      const servers = [create(), create()] as const;
      const [one, two] = await Promise.all(servers.map(async (server) => `127.0.0.1:${await listen(server)}`));
      const frontend = `127.0.0.1:${await freePort()}`;
      const proxy = await start(frontend, one ?? '', two);
      await untilReachable(`http://${frontend}/readyz`, proxy, ({ ok }) => ok);
      return { origin: `http://${frontend}`, servers, proxy, seen };
    },
    ({ servers, proxy }) => {
      for (const server of servers) server.close();
      proxy.signal('SIGTERM');
      return proxy.finished;
    },
  );
}

describe.each([
  { proxy: nginx, plain: 2 },
  { proxy: haproxy, plain: 1 },
])('behind $proxy.name, a request that gets no response', ({ proxy, plain }) => {
  const started = behind(proxy);

  test.each([
    ['with a proof is sent once', 'GET', ['DPoP: a.b.c'], 1],
    ['with a proof and a body is sent once', 'POST', ['DPoP: a.b.c', 'Content-Length: 0'], 1],
    [`without one is sent ${plain} times`, 'GET', [], plain],
  ])('%s', async (_name, method, lines, times) => {
    const { origin, seen } = started();
    // More than once, because a proxy that marks a server as failed would send the next ones to the other.
    for (const _ of [1, 2, 3]) {
      seen.splice(0);
      const { status } = await rawRequest(origin, [
        `${method} /lost HTTP/1.1`,
        'Host: a',
        'Connection: close',
        ...lines,
      ]);
      expect([status, seen]).toEqual([502, Array(times).fill(`${method} a`)]);
    }
  });

  test('makes no other request with a proof fail', async () => {
    const { origin } = started();
    const send = async (path: string) =>
      (await fetch(origin + path, { headers: { DPoP: 'a' }, keepalive: false })).status;
    for (const _ of [1, 2, 3]) expect([await send('/lost'), await send('/')]).toEqual([502, 200]);
  });

  test('because a server is down goes to the other, with a proof too', async () => {
    const { origin, servers, seen } = started();
    servers[0].close().closeAllConnections();
    for (const method of ['GET', 'POST']) {
      seen.splice(0);
      const send = async () => (await fetch(origin, { method, headers: { DPoP: 'a' }, keepalive: false })).status;
      expect(await Promise.all(Array.from({ length: 20 }, send))).toEqual(Array(20).fill(200));
      expect(seen).toHaveLength(20);
    }
  });
});

describe.each([haproxy, nginx])('behind $name, the service', ({ start }) => {
  const fixture = fixtureFor(sourceForm);
  const started = startedFor(
    async () => {
      const frontend = `127.0.0.1:${await freePort()}`;
      const proxy = await start(frontend, `127.0.0.1:${fixture().service.port}`);
      await untilReachable(`http://${frontend}/readyz`, proxy, ({ ok }) => ok);
      return { origin: `http://${frontend}`, proxy };
    },
    ({ proxy }) => {
      proxy.signal('SIGTERM');
      return proxy.finished;
    },
  );

  test('responds to a probe by HTTP/1.0 without a Host', async () =>
    expect((await rawRequest(started().origin, ['GET /livez HTTP/1.0'])).status).toBe(200));

  test.each([8170, 8193, 15_000])('itself rejects a token of %i characters', async (length) => {
    const lines = [
      'GET /api/private HTTP/1.1',
      'Host: a',
      'Connection: close',
      `Authorization: Bearer ${'a'.repeat(length)}`,
      // As much as a browser sends.
      `Cookie: ${'a'.repeat(700)}`,
    ];
    const response = await rawRequest(started().origin, lines);
    expect(await response.json()).toMatchObject({ code: 'invalid_header' });
    expect(response.status).toBe(401);
  });
});

test('nginx as its file suggests FRONTEND serves the API, not the page that nginx is installed with', async () => {
  const template = await readText('deploy/nginx/protected-api.conf.template');
  const [, options = ''] = /such as\n# "80( [^"]*)"/.exec(template) ?? [];
  const frontend = `127.0.0.1:${await freePort()}`;
  const api = createServer((_, response) => response.end('api'));
  const installed = `server { listen ${frontend}; server_name localhost; return 200 "installed"; }`;
  const servers = await nginxServers(`${frontend}${options}`, `127.0.0.1:${await listen(api)}`);
  const proxy = startNginx(installed + servers);
  await untilReachable(`http://${frontend}`, proxy);
  const response = await rawRequest(`http://${frontend}`, ['GET / HTTP/1.1', 'Host: api.test', 'Connection: close']);
  expect(await response.text()).toBe('api');
  api.close();
  proxy.signal('SIGTERM');
  await proxy.finished;
});

test.each([
  ['repeats a GET with a proof on a kept connection', '', 2],
  ['with the line of the page does not', 'keepalive off', 1],
])('Caddy %s', async (_name, option, times) => {
  const seen: string[] = [];
  const server = createServer(({ url = '', socket }, response) => {
    seen.push(url);
    if (url === '/lost') socket.destroy();
    else response.end('ok');
  });
  const frontend = `http://127.0.0.1:${await freePort()}`;
  const transport = `transport http {\n${option}\n}`;
  const proxy = startCaddy(`${frontend} {\nreverse_proxy 127.0.0.1:${await listen(server)} {\n${transport}\n}\n}\n`);
  await untilReachable(`${frontend}/kept`, proxy, ({ ok }) => ok);
  expect((await fetch(`${frontend}/lost`, { headers: { DPoP: 'a.b.c' } })).status).toBe(502);
  expect(seen.filter((url) => url === '/lost')).toHaveLength(times);
  if (option) expect(await readText('docs/deploy.md')).toContain(`\`${option}\``);
  server.close();
  proxy.signal('SIGTERM');
  await proxy.finished;
});
