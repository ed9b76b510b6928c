import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { hosts, lines, nameOf, wireAttacks } from '../adversary/wire-attacks.ts';
import { freePort, type RunningProcess, until } from '../support/child-process.ts';
import { type ServiceProcess, sourceForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { exchange, open } from '../support/raw-http.ts';
import { createCanary, type Sighting } from './canary.ts';
import { haproxy, nginx } from './proxies.ts';
import { startRelay } from './relay.ts';

setDefaultTimeout(60_000);

const CANARIES = 3;
/** A canary that takes longer has waited for the request of another client. Normally it takes milliseconds. */
const MAX_CANARY_MS = 3_000;
const GUARDED = /Hello from a private endpoint/;

/** More shapes than for the service without a proxy: an incomplete request of one client stays on a connection that others use. */
const unfinished: Readonly<Record<string, string>> = {
  'half a header': 'GET /api/private HTTP/1.1\r\nHost: service.example.test\r\nX: ',
  'half a body': `${lines('POST /api/public HTTP/1.1', 'Host: service.example.test', 'Content-Length: 100')}half`,
  'half a chunk': `${lines('POST /api/public HTTP/1.1', 'Host: service.example.test', 'Transfer-Encoding: chunked')}64\r\nhalf`,
  'a body that was announced and not sent': lines(
    'POST /api/public HTTP/1.1',
    'Host: service.example.test',
    'Expect: 100-continue',
    'Content-Length: 100',
  ),
  'a request whose answer nobody waits for': lines('GET /api/private HTTP/1.1', 'Host: service.example.test'),
};

let issuer: Issuer;
let service: ServiceProcess;
beforeAll(async () => {
  issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  service = await sourceForm.start({ ISSUER: issuer.url, AUDIENCE });
});
afterAll(async () => {
  await service.close();
  await issuer.close();
});

for (const { name, start } of [haproxy, nginx]) {
  describe(`behind ${name}, no honest client is lost, delayed or given another's answer`, () => {
    let relay: Awaited<ReturnType<typeof startRelay>>;
    let proxy: RunningProcess;
    let port: number;
    let canaries: readonly ReturnType<typeof createCanary>[];
    let asked = 0;

    beforeAll(async () => {
      relay = await startRelay(service.port);
      port = await freePort();
      proxy = await start(`127.0.0.1:${port}`, `127.0.0.1:${relay.port}`);
      const isUp = () =>
        fetch(`http://127.0.0.1:${port}/readyz`, { keepalive: false }).then(
          ({ ok }) => ok,
          () => false,
        );
      await until(isUp, `the proxy: ${proxy.stderr()}`);
      const authorization = `Authorization: Bearer ${mintToken(issuer.url)}`;
      canaries = Array.from({ length: CANARIES }, (_, at) => createCanary(port, `canary${at}`, [authorization]));
    });

    afterAll(async () => {
      for (const canary of canaries) canary.close();
      proxy.signal('SIGTERM');
      await proxy.finished;
      relay.close();
    });

    async function expectCanaries(): Promise<void> {
      asked += CANARIES;
      const sightings = await Promise.all(canaries.map((canary) => canary.ask('/api/private')));
      const isGood = ({ status, isOwn, body, elapsedMs }: Sighting) =>
        status === 200 && isOwn && GUARDED.test(body) && elapsedMs < MAX_CANARY_MS;
      expect(sightings.filter((sighting) => !isGood(sighting))).toEqual([]);
    }

    /** Canaries before, while and after something is sent: the proxy hands its connections from one to the other. */
    async function expectCanariesAround(send: () => Promise<unknown>): Promise<void> {
      await expectCanaries();
      const sent = send();
      await expectCanaries();
      await sent;
      await expectCanaries();
      await expectCanaries();
    }

    for (const [kind, { requests }] of Object.entries(wireAttacks)) {
      for (const request of requests) {
        test(`${kind}: ${nameOf(request)}`, async () => {
          const token = mintToken(issuer.url);
          await expectCanariesAround(() => exchange(port, request.replaceAll('TOKEN', token)));
          const { text } = await exchange(port, request.replaceAll('TOKEN', ''));
          expect(text).not.toMatch(GUARDED);
          await expectCanaries();
        });
      }
    }

    for (const host of hosts) {
      test(`the Host ${JSON.stringify(host)}`, () =>
        expectCanariesAround(() => exchange(port, lines('GET /api/private HTTP/1.1', `Host: ${host}`))));
    }

    test('many CONNECT requests', () =>
      expectCanariesAround(async () => {
        const tunnels = Array.from({ length: 20 }, () => exchange(port, lines('CONNECT h:80 HTTP/1.1', 'Host: h:80')));
        await Promise.all(tunnels);
      }));

    for (const [shape, bytes] of Object.entries(unfinished)) {
      test(`unfinished: ${shape}`, async () => {
        const sockets = await Promise.all(Array.from({ length: 5 }, () => open(port)));
        for (const socket of sockets) socket.write(bytes);
        await expectCanaries();
        for (const socket of sockets) socket.destroy();
        await expectCanaries();
        await expectCanaries();
      });
    }

    test('and the proxy did share its connections', () => {
      expect(relay.connections()).toBeLessThan(asked / 2);
    });
  });
}
