import { expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { discoverToken } from '../../src/probe/command/fetch-token.ts';
import { overNetwork, type Raw } from '../../src/probe/http/network.ts';
import { createSender } from '../../src/probe/http/sender.ts';
import { serve } from '../support/fixture.ts';
import { listen } from '../support/raw-http.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const get = (url: string) => ({ id: 'control', method: 'GET', url, headers: [] });

/** Sends requests without a network, at a time that passes only while the sender waits. */
async function sendAll(count: number, respond: (at: number) => Partial<Raw>, url: string) {
  let [sent, nowMs] = [0, start];
  const clock = {
    now: () => nowMs,
    async sleep(ms: number) {
      nowMs += ms;
    },
  };
  const network = async () => {
    sent += 1;
    return { status: 200, headers: new Headers(), text: '', ...respond(sent) };
  };
  const sender = createSender({ network, clock });
  for (let left = count; left > 0; left -= 1) await sender.send(get(url));
  return [sent, (nowMs - start) / 1000, sender.stopped()] as const;
}

const status = (value: number) => () => ({ status: value });
const silence = (): never => {
  throw new Error('unreachable');
};
const later = (value: number, after: string) => (at: number) =>
  at === 1 ? { status: value, headers: new Headers({ 'retry-after': after }) } : {};
const other = 'https://api.example.test/';
const own = 'http://127.0.0.1:1/';

type Outcome = readonly [sent: number, seconds: number, stopped?: string];
test.each<[what: string, count: number, respond: (at: number) => Partial<Raw>, url: string, outcome: Outcome]>([
  ['ten a second to another machine', 31, status(200), other, [31, 3]],
  ['no more than 900', 901, status(401), other, [900, 89.9, '900 requests were sent: name fewer targets or rows']],
  ['all at once to this machine', 501, status(401), own, [501, 0]],
  ['until five are server errors', 9, status(502), other, [5, 0.4, '5 server errors: the API may be in trouble']],
  ['more after server errors of this machine', 9, status(502), own, [9, 0]],
  ['until five get no response', 9, silence, own, [5, 0, '5 requests without a response']],
  ['until five are limited', 9, status(429), own, [5, 0, 'The API limits requests (429)']],
  ['again after seconds', 1, later(429, '7'), own, [2, 7]],
  ['again after a date', 1, later(503, new Date(start + 9000).toUTCString()), other, [2, 9]],
  ['again after a date that is past', 1, later(429, new Date(start - 9000).toUTCString()), own, [2, 0]],
  ['no more than half a minute later', 2, later(429, '31'), own, [1, 0, 'The API asks to wait for 31 seconds']],
  ['once if it says nothing of when', 1, later(429, 'soon'), own, [1, 0]],
  ['once if it says less than no time', 1, later(429, '-1'), own, [1, 0]],
])('createSender() sends %s', async (_, count, respond, url, [sent, seconds, stopped]) =>
  expect(await sendAll(count, respond, url)).toEqual([sent, expect.closeTo(seconds, 6), stopped]),
);

/** Responds with a body that never ends: without a pause, or with nothing more after its first piece. */
const endless = (pieces: number) => () => {
  let left = pieces;
  const pull = (to: ReadableStreamDefaultController) => {
    left -= 1;
    return left < 0 ? new Promise<void>(() => {}) : to.enqueue(Buffer.from('x'.repeat(1000)));
  };
  return new Response(new ReadableStream({ pull }));
};
test.each([
  ['without a pause', Number.POSITIVE_INFINITY, 65_536],
  ['after a word', 1, 1000],
])(
  'createSender() reads the beginning of a body that never ends %s',
  async (_, pieces, length) => {
    const server = serve(endless(pieces));
    const senders = [createSender(), createSender({ fetch: endless(pieces) })];
    for (const { status, text } of await Promise.all(senders.map(({ send }) => send(get(server.url.href))))) {
      expect(status).toBe(200);
      expect(text.length).toBeGreaterThanOrEqual(length);
      expect(text.length).toBeLessThan(10 * length);
    }
    await server.stop(true);
    // The server would close the connection after ten seconds.
  },
  9000,
);

test('overNetwork() ends while a proxy rejects to connect again and again', async () => {
  const ended = new AbortController();
  const proxy = createServer().on('connect', (_, socket) => {
    ended.abort();
    socket.destroy();
  });
  process.env.HTTPS_PROXY = `http://127.0.0.1:${await listen(proxy)}`;
  await expect(overNetwork(get('https://api.example.test/'), ended.signal, 1)).rejects.toThrow();
  Reflect.deleteProperty(process.env, 'HTTPS_PROXY');
  proxy.close();
});

/** Switches protocols, though nobody asked for it in the second request. */
const upgraded = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
] as const;
test.each([
  ['reads a response 101 to an upgrade', upgraded, [101]],
  ['reads a rejection of an upgrade', upgraded, [401]],
  ['ends at a response 101 that nobody asked for', [], []],
] as const)('overNetwork() %s', async (_, headers, statuses) => {
  const [status = 101] = statuses;
  const switching = `HTTP/1.1 ${status} X\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`;
  const server = createTcpServer((socket) => {
    socket.once('data', () => socket.write(status === 101 ? switching : 'HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n'));
  });
  const url = `http://127.0.0.1:${await listen(server)}/`;
  const sent = overNetwork({ ...get(url), headers }, new AbortController().signal, 1);
  const found = await sent.then(
    (response) => [response.status],
    () => [],
  );
  expect(found).toEqual([...statuses]);
  server.close();
});

test.each([
  ['another issuer', { issuer: 'https://other.example.test/' }, 'names the issuer https://other.example.test/'],
  ['no token endpoint', { token_endpoint: undefined }, 'names no token_endpoint'],
  [
    'a token endpoint by plain http',
    { token_endpoint: 'http://other.example.test/' },
    'the token endpoint is no https',
  ],
])('discoverToken() sends no secret if the metadata have %s', async (_, change, why) => {
  const secrets: unknown[] = [];
  const server = serve(({ url, headers }) => {
    secrets.push(headers.get('authorization'));
    const { origin, pathname } = new URL(url);
    if (pathname === '/messages') return new Response(null, { status: 401 });
    return Response.json({
      // An API says anything. The issuer is the one that the user named.
      ...{ resource: `${origin}/messages`, authorization_servers: ['https://evil.invalid'] },
      ...{ issuer: origin, token_endpoint: origin },
      ...change,
    });
  });
  const client = { id: 'ci', secret: 'quiet', scope: [], issuer: server.url.origin };
  const found = discoverToken(`${server.url}reports`, client).then(({ token }) => token());
  await expect(found).rejects.toThrow(why);
  expect(new Set(secrets)).toEqual(new Set([null]));
  await server.stop(true);
});
