import { afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { until } from '../support/child-process.ts';
import { open, pour } from '../support/raw-http.ts';
import { attackedService, expectServing } from './attacked-service.ts';

/**
 * The limit of memory growth under each attack, in megabytes: far above noise, and far below the bytes that are sent.
 */
const MAX_GROWTH_MB = 80;
const POURED_BYTES = 64 * 1024 * 1024;
const PARALLEL = 50;

const GET = 'GET /api/private HTTP/1.1\r\nHost: a.test\r\n';
const POST = 'POST /api/private HTTP/1.1\r\nHost: a.test\r\n';
const letters = (bytes: number) => 'a'.repeat(bytes);

async function sendSlowly(socket: Socket): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    socket.write('a');
    await Bun.sleep(50);
  }
}
const sendWithoutReading = (socket: Socket) => socket.pause().write(`${GET}\r\n`.repeat(100));

/** How many connections there are, what each sends at first, and what it does then. */
type Connections = readonly [name: string, count: number, greeting: string, act?: (socket: Socket) => unknown];
const connections: readonly Connections[] = [
  ['say nothing', 1000, ''],
  ['stop within the request line', 1000, 'GET /api/pri'],
  ['stop within a header', 1000, `${GET}Authorization: Bearer eyJ`],
  ['stop within the body', 1000, `${POST}Content-Length: 60000\r\n\r\nx`],
  ['stop within a chunk', 1000, `${POST}Transfer-Encoding: chunked\r\n\r\nfff\r\nx`],
  ['got a response and stay', 1000, `${GET}\r\n`],
  ['send one byte at a time', 200, `${GET}X-Slow: `, sendSlowly],
  ['do not read their responses', 200, '', sendWithoutReading],
];

describe('under load from hostile connections, the service', async () => {
  const attacked = await attackedService();
  const port = () => attacked.service.port;
  const processFolder = () => `/proc/${attacked.service.process.pid}`;
  const residentMb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${processFolder()}/status`, 'utf8'))?.[1]) / 1024;
  const descriptors = () => readdirSync(`${processFolder()}/fd`).length;

  async function serveOthers(): Promise<void> {
    for (let round = 0; round < 5; round += 1) await expectServing(attacked);
  }

  let startMb = 0;
  beforeAll(async () => {
    // The memory for the first requests is not growth.
    for (let warmUp = 0; warmUp < 20; warmUp += 1) await serveOthers();
    startMb = residentMb();
  });
  afterEach(() =>
    // Further requests let the runtime collect the garbage of an attack. A leak stays.
    until(async () => {
      await serveOthers();
      return residentMb() - startMb < MAX_GROWTH_MB;
    }, `growth falls below ${MAX_GROWTH_MB} MB`),
  );

  for (const [name, count, greeting, act] of connections)
    test(`serves other clients during ${count} connections that ${name}`, async () => {
      const before = descriptors();
      const sockets: Socket[] = [];
      while (sockets.length < count)
        sockets.push(...(await Promise.all(Array.from({ length: PARALLEL }, () => open(port())))));
      for (const socket of sockets) socket.resume().write(greeting);
      await Promise.all(sockets.map((socket) => act?.(socket)));
      await serveOthers();
      expect(residentMb() - startMb).toBeLessThan(MAX_GROWTH_MB);
      for (const socket of sockets) socket.destroy();
      // A few more may belong to the requests that check whether others are served.
      await until(() => descriptors() <= before + 10, 'the descriptors are given back');
    });

  for (const [name, start, piece] of [
    ['a request line without end', 'GET /', letters(1024)],
    ['a header without end', `${GET}X: `, letters(1024)],
    ['headers without end', GET, `X: ${letters(60)}\r\n`.repeat(16)],
    ['an Authorization without end', `${GET}Authorization: Bearer`, ' '.repeat(1024)],
  ] as const)
    test(`cuts ${name} off`, async () => {
      // Counts bytes that have left the client. The kernel buffers megabytes of them.
      expect(await pour(port(), start, piece, POURED_BYTES)).toBeLessThan(POURED_BYTES);
    });

  for (const [name, start, piece] of [
    ['a body without end', `${POST}Content-Length: 999999999\r\n\r\n`, letters(65_536)],
    ['chunks without end', `${POST}Transfer-Encoding: chunked\r\n\r\n`, `4000\r\n${letters(0x4000)}\r\n`],
  ] as const)
    test(`keeps nothing of ${name}`, async () => {
      const before = residentMb();
      await pour(port(), start, piece, POURED_BYTES);
      expect(residentMb() - before).toBeLessThan(40);
    });

  test('survives 2000 connections that are reset in the middle of a request', async () => {
    const token = attacked.mint();
    const reset = async (at: number) => {
      const socket = await open(port());
      socket.write(`${GET}Authorization: Bearer ${token}\r\n${at % 2 ? '\r\n' : ''}`);
      socket.resetAndDestroy();
    };
    for (let round = 0; round < 2000 / PARALLEL; round += 1)
      await Promise.all(Array.from({ length: PARALLEL }, (_, at) => reset(at)));
  });
});
