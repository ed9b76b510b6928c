import { describe, expect, test } from 'bun:test';
import { on } from 'node:events';
import type { Socket } from 'node:net';
import { HOST, hosts, lines, nameOf, wireAttacks } from '../adversary/wire-attacks.ts';
import { oneOfEach, tried } from '../http/table/probed.ts';
import { freePort, untilReachable } from '../support/child-process.ts';
import { fixtureFor, startedFor } from '../support/fixture.ts';
import { sourceForm } from '../support/forms.ts';
import { isNight } from '../support/node-versions.ts';
import { exchange, open } from '../support/raw-http.ts';
import { haproxy, nginx, startRelay } from './proxies.ts';

const CANARIES = 3;
/** That others send beside an attack. */
const VICTIMS = isNight ? 10_000 : 2_000;
/**
 * A canary that takes longer is lost behind an unfinished request of another client. Normally it takes milliseconds.
 */
const MAX_WAIT_MS = 60_000;
const GUARDED = /Hello from a private endpoint/;

const get = (...headers: readonly string[]) => lines('GET /api/private HTTP/1.1', HOST, ...headers);
const post = (...headers: readonly string[]) => lines('POST /api/public HTTP/1.1', HOST, ...headers);

/**
 * More shapes than for the service without a proxy: an incomplete request of one client stays on a connection that
 * others use.
 */
const unfinished: Readonly<Record<string, string>> = {
  'half a header': get('X: ').trimEnd(),
  'half a body': `${post('Content-Length: 100')}half`,
  'half a chunk': `${post('Transfer-Encoding: chunked')}64\r\nhalf`,
  'a body that was announced and not sent': post('Expect: 100-continue', 'Content-Length: 100'),
  'a request whose client does not wait for the response': get(),
};

/** Sends an honest request, and returns what comes back until the connection ends or the object in the body does. */
async function ask(socket: Socket, id: string, token: string): Promise<string> {
  socket.write(get(`X-Request-Id: ${id}`, `Authorization: Bearer ${token}`));
  let text = '';
  for await (const [chunk] of on(socket, 'data', { close: ['close'], signal: AbortSignal.timeout(MAX_WAIT_MS) })) {
    text += chunk;
    if (text.endsWith('}')) break;
  }
  return text;
}

const fixture = fixtureFor(sourceForm);

for (const { name, start } of [haproxy, nginx]) {
  describe(`behind ${name}, no honest client is lost, delayed or given the response of another`, () => {
    const sockets = Array<Socket | undefined>(CANARIES).fill(undefined);
    let asked = 0;

    const startProxy = async () => {
      const relay = await startRelay(fixture().service.port);
      const port = await freePort();
      const proxy = await start(`127.0.0.1:${port}`, `127.0.0.1:${relay.port}`);
      await untilReachable(`http://127.0.0.1:${port}/readyz`, proxy, ({ ok }) => ok);
      return { relay, port, proxy };
    };
    const started = startedFor(startProxy, async ({ relay, proxy }) => {
      for (const socket of sockets) socket?.destroy();
      proxy.signal('SIGTERM');
      await proxy.finished;
      relay.close();
    });
    const send = (bytes: string) => exchange(started().port, bytes);

    /** Sends honest requests over kept connections, each with an identifier of its own that the service echoes. */
    async function expectCanaries(): Promise<void> {
      await Promise.all(
        sockets.map(async (kept, at) => {
          const socket = kept?.destroyed === false ? kept : await open(started().port);
          sockets[at] = socket;
          asked += 1;
          const id = `canary-${asked}`;
          const response = await ask(socket, id, fixture().mint());
          expect(response).toMatch(new RegExp(`^HTTP/1.1 200 [^]*x-request-id: ${id}\r\n[^]*${GUARDED.source}`, 'i'));
          if (/^connection: close/im.test(response)) socket.destroy();
        }),
      );
    }

    /** Canaries before, while and after something is sent: the proxy reuses its connections between clients. */
    async function expectCanariesAround(send: () => Promise<unknown>): Promise<void> {
      await expectCanaries();
      const sent = send();
      await expectCanaries();
      await sent;
      await expectCanaries();
      await expectCanaries();
    }

    for (const [kind, { requests }] of Object.entries(wireAttacks))
      for (const request of requests)
        test(`${kind}: ${nameOf(request)}`, async () => {
          const token = fixture().mint();
          await expectCanariesAround(() => send(request.replaceAll('TOKEN', token)));
          const { text } = await send(request.replaceAll('TOKEN', ''));
          expect(text).not.toMatch(GUARDED);
          await expectCanaries();
        });

    for (const host of hosts)
      test(`the Host ${JSON.stringify(host)}`, () =>
        expectCanariesAround(() => send(lines('GET /api/private HTTP/1.1', `Host: ${host}`))));

    test('many CONNECT requests', () =>
      expectCanariesAround(async () => {
        const tunnels = Array.from({ length: 20 }, () => send(lines('CONNECT h:80 HTTP/1.1', 'Host: h:80')));
        await Promise.all(tunnels);
      }));

    for (const [shape, bytes] of Object.entries(unfinished))
      test(`unfinished: ${shape}`, async () => {
        const sockets = await Promise.all(Array.from({ length: 5 }, () => open(started().port)));
        for (const socket of sockets) socket.write(bytes);
        await expectCanaries();
        for (const socket of sockets) socket.destroy();
        await expectCanaries();
        await expectCanaries();
      });

    test('and the proxy did share its connections', () =>
      expect(started().relay.connections()).toBeLessThan(asked / 2));

    test('the API withstands the probe', async () => {
      const origin = `http://127.0.0.1:${started().port}`;
      const only = isNight ? undefined : oneOfEach;
      const { report } = await tried({ ...fixture(), service: { ...fixture().service, origin } }, { only });
      // On a busy machine a health check can be late: then the proxy itself responds with 503 for a moment, and nothing
      // is let in.
      expect(report.inconclusive.filter(({ got }) => !got?.startsWith('503'))).toEqual([]);
      expect(report.passed.length).toBeGreaterThan(only ? only.length : 450);
    });

    // Bun sends a second response to such a request, which a proxy would send to the next client on its connection.
    test(`chunked requests with a trailer, beside ${VICTIMS} requests of others`, async () => {
      let [asked, disturbed, isOver] = [0, 0, false];
      const attack = async (method: string) => {
        const head = lines(`${method} /api/public HTTP/1.1`, 'Host: a', 'Transfer-Encoding: chunked');
        while (!isOver) await send(`${head}1\r\nx\r\n0\r\nX-Trailer: 1\r\n\r\n`);
      };
      const work = async () => {
        while (asked < VICTIMS) {
          const id = `victim-${asked++}`;
          const sent = { headers: { 'X-Request-Id': id } };
          const { status, headers } = await fetch(`http://127.0.0.1:${started().port}/api/public`, sent);
          if (status !== 200 || headers.get('x-request-id') !== id) disturbed += 1;
        }
      };
      const attacks = ['GET', 'HEAD', 'OPTIONS', 'POST'].map(attack);
      await Promise.all(Array.from({ length: 8 }, work));
      isOver = true;
      await Promise.all(attacks);
      expect(disturbed).toBe(0);
    });
  });
}
