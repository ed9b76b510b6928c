import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Socket } from 'node:net';
import { until } from '../support/child-process.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';
import { open, pour, statusesIn } from '../support/raw-http.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

// The server takes up to 12 seconds to notice a connection that came and went without a word, and stopping waits for it.
setDefaultTimeout(120_000);

const CONNECTIONS = 1000;
/** The limit of memory growth under each attack, in megabytes: far above noise, and far below the bytes that are sent. */
const MAX_GROWTH_MB = 80;
/** A request during an attack is answered before a time limit ends the attack. */
const MAX_ANSWER_MS = 60_000;
const PARALLEL = 50;

const GET = 'GET /api/private HTTP/1.1\r\nHost: a.test\r\n';
const POST = 'POST /api/private HTTP/1.1\r\nHost: a.test\r\n';
const blank = (bytes: number) => ' '.repeat(bytes);
const letters = (bytes: number) => 'a'.repeat(bytes);

describe('under load from hostile connections, the service', () => {
  let issuer: Issuer;
  let service: ServiceProcess;
  let startMb = 0;
  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    service = await startServiceProcess({ ISSUER: issuer.url, AUDIENCE });
    // What a process takes for its first requests is no growth.
    for (let warmUp = 0; warmUp < 20; warmUp += 1) await expectServing();
    startMb = service.residentMb();
  });
  afterAll(async () => {
    expect(service.output()).not.toContain('"level":"error"');
    expect(await service.stop()).toBe(0);
    await issuer.close();
  });

  async function ask(headers: Record<string, string>): Promise<number> {
    const signal = AbortSignal.timeout(MAX_ANSWER_MS);
    return (await fetch(`${service.origin}/api/private`, { headers, keepalive: false, signal })).status;
  }

  /** Other clients are served during the attack. */
  async function expectServing(): Promise<void> {
    const token = mintToken(issuer.url);
    for (let round = 0; round < 5; round += 1) {
      expect(await ask({ authorization: `Bearer ${token}` })).toBe(200);
      expect(await ask({})).toBe(401);
    }
  }
  afterEach(async () => {
    // Further requests let the runtime collect what an attack has left. A leak stays.
    await until(async () => {
      await expectServing();
      return service.residentMb() - startMb < MAX_GROWTH_MB;
    }, `growth falls below ${MAX_GROWTH_MB} MB`);
  });

  /** Holds connections open while `during` runs, then leaves without a word. */
  async function withConnections(
    count: number,
    greeting: string,
    during: (sockets: readonly Socket[]) => Promise<void>,
  ) {
    const before = service.descriptors();
    const sockets: Socket[] = [];
    while (sockets.length < count) {
      sockets.push(...(await Promise.all(Array.from({ length: Math.min(PARALLEL, count) }, () => open(service.port)))));
    }
    for (const socket of sockets) socket.resume().write(greeting);
    await during(sockets);
    for (const socket of sockets) socket.destroy();
    // A few more may be the connections of the requests that hold that others are served.
    await until(() => service.descriptors() <= before + 10, 'the descriptors are given back');
  }

  for (const [name, greeting] of [
    ['say nothing', ''],
    ['stop within the request line', 'GET /api/pri'],
    ['stop within a header', `${GET}Authorization: Bearer eyJ`],
    ['stop within the body', `${POST}Content-Length: 60000\r\n\r\nx`],
    ['stop within a chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nfff\r\nx`],
    ['were answered and stay', `${GET}\r\n`],
  ] as const) {
    test(`serves other clients during ${CONNECTIONS} connections that ${name}`, async () => {
      await withConnections(CONNECTIONS, greeting, async () => {
        await expectServing();
        expect(service.residentMb() - startMb).toBeLessThan(MAX_GROWTH_MB);
      });
    });
  }

  test('serves other clients during 200 connections that send one byte at a time', async () => {
    const head = `${GET}X-Slow: `;
    await withConnections(200, head, async (sockets) => {
      for (let round = 0; round < 20; round += 1) {
        for (const socket of sockets) socket.write('a');
        await Bun.sleep(50);
      }
      await expectServing();
    });
  });

  test('serves other clients during 200 connections that do not read their responses', async () => {
    const request = `${GET}\r\n`;
    await withConnections(200, '', async (sockets) => {
      for (const socket of sockets) socket.pause().write(request.repeat(100));
      await expectServing();
    });
  });

  for (const [name, start, piece] of [
    ['a request line without end', 'GET /', letters(1024)],
    ['a header without end', `${GET}X: `, letters(1024)],
    ['headers without end', GET, `X: ${letters(60)}\r\n`.repeat(16)],
    ['an Authorization without end', `${GET}Authorization: Bearer`, blank(1024)],
  ] as const) {
    test(`cuts ${name} off`, async () => {
      // Counts bytes that have left the client. The kernel buffers megabytes of them.
      const maxBytes = 64 * 1024 * 1024;
      expect(await pour(service.port, start, piece, maxBytes)).toBeLessThan(maxBytes);
    });
  }

  for (const [name, start, piece] of [
    ['a body without end', `${POST}Content-Length: 999999999\r\n\r\n`, letters(65_536)],
    ['chunks without end', `${POST}Transfer-Encoding: chunked\r\n\r\n`, `4000\r\n${letters(0x4000)}\r\n`],
  ] as const) {
    test(`keeps nothing of ${name}`, async () => {
      const before = service.residentMb();
      await pour(service.port, start, piece, 64 * 1024 * 1024);
      expect(service.residentMb() - before).toBeLessThan(40);
    });
  }

  test('outlives 2000 connections that are reset in the middle of a request', async () => {
    const token = mintToken(issuer.url);
    for (let round = 0; round < 2000 / PARALLEL; round += 1) {
      await Promise.all(
        Array.from({ length: PARALLEL }, async (_, at) => {
          const socket = await open(service.port);
          socket.write(`${GET}Authorization: Bearer ${token}\r\n${at % 2 ? '\r\n' : ''}`);
          socket.resetAndDestroy();
        }),
      );
    }
  });

  test('answers 5000 pipelined requests without a token, none of them with the message', async () => {
    const socket = await open(service.port);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.write(`${GET}\r\n`.repeat(5000));
    socket.write('GET /api/public HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n');
    await until(() => socket.closed || text.includes('public endpoint'), 'the last answer comes');
    socket.destroy();
    const statuses = statusesIn(text);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    expect(statuses.filter((status) => status === 401).length).toBeGreaterThan(0);
  });
});
