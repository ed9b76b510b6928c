import { afterAll, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { freePort, type RunningProcess, untilReachable } from '../support/child-process.ts';
import { listen, rawRequest } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { haproxy, nginx, startHaproxy, startNginx } from './proxies.ts';

/** What an API behind the proxy gets: a proof names the path as the client wrote it. */
const server = createServer(({ url = '' }, response) => {
  response.setHeader('content-length', url.length).end(url);
});
const address = `127.0.0.1:${await listen(server)}`;
const processes: RunningProcess[] = [];
afterAll(() => {
  server.close();
  for (const { signal } of processes) signal('SIGTERM');
});

const paths =
  `/users/ada%40example.com /a%3Ab /a%2Cb /a%2Bb /a%20b /a%2Fb /a%3Fb /a%23b /a%25b /caf%C3%A9 /a%7Eb /%61 /a@b
  /a:b /a,b /a+b /a;b=c /a&b=c /(a) /a'b /a*b /a!$b /a%3bb /a%5Bb%5D?c=%40 /a/./b`.split(/\s+/);

const page = await readText('docs/guides/dpop.md');
const blocks = (language: string) => page.split(`\`\`\`${language}\n`).slice(1);
const blocksOf = (language: string) => blocks(language).map((text) => text.slice(0, text.indexOf('```')).trim());

type Row = readonly [name: string, prefix: string, passed: string, (frontend: string) => unknown];
const proxies: readonly Row[] = [
  [haproxy.name, '', '', (frontend) => haproxy.start(frontend, address)],
  [nginx.name, '', '', (frontend) => nginx.start(frontend, address)],
  ...blocksOf('nginx').map((text, index): Row => {
    const block = text.replaceAll('127.0.0.1:3010', address);
    const start = (frontend: string) => startNginx(`server { listen ${frontend};\n${block}\n}`);
    return [`nginx as block ${index + 1} of dpop.md configures it`, '/v1', index === 0 ? '/v1' : '', start];
  }),
  ...blocksOf('haproxy').map((rules): Row => {
    const start = (frontend: string) => startHaproxy(frontend, [address, address], '', rules);
    return ['HAProxy as dpop.md configures it', '/v1', '', start];
  }),
];

test.each(proxies)('%s passes the path on as it was sent', async (_, prefix, passed, start) => {
  const frontend = `127.0.0.1:${await freePort()}`;
  const proxy = (await start(frontend)) as RunningProcess;
  processes.push(proxy);
  await untilReachable(`http://${frontend}`, proxy);
  const send = async (path: string, ...lines: readonly string[]) => {
    const request = [`GET ${prefix}${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines];
    return (await rawRequest(`http://${frontend}`, request)).text();
  };
  for (const lines of [[], ['DPoP: a']])
    for (const path of paths) expect(await send(path, ...lines)).toBe(passed + path);
});
