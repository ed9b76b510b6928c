import { afterAll, expect, test } from 'bun:test';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { freePort, untilReachable } from '../support/child-process.ts';
import { startHaproxy } from './proxies.ts';

/** The address of each name, for as long as it has one. */
const addresses = new Map<string, string>();

/** Responds to a question about an address (RFC 1035 §4): the question, and an A record if there is one. */
const dns = createSocket('udp4', (query, { port, address }) => {
  const labels: string[] = [];
  let end = 12;
  for (let length = query[end] ?? 0; length > 0; length = query[end] ?? 0) {
    labels.push(query.toString('latin1', end + 1, end + 1 + length));
    end += length + 1;
  }
  const found = addresses.get(labels.join('.'));
  const isAddress = query.readUInt16BE(end + 1) === 1;
  const answer = found && isAddress ? [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...found.split('.').map(Number)] : [];
  const flags = [0x81, found ? 0x80 : 0x83, 0, 1, 0, answer.length > 0 ? 1 : 0, 0, 0, 0, 0];
  dns.send(
    Buffer.concat([query.subarray(0, 2), Buffer.of(...flags), query.subarray(12, end + 5), Buffer.of(...answer)]),
    port,
    address,
  );
});
dns.bind(0, '127.0.0.1');
await once(dns, 'listening');

const port = await freePort();
const instances = ['127.0.0.1', '127.0.0.2'].map((hostname) =>
  Bun.serve({ hostname, port, fetch: () => new Response(hostname) }),
);
const frontend = `127.0.0.1:${await freePort()}`;
const proxy = await startHaproxy(frontend, [`one.test:${port}`, `two.test:${port}`], '', '', (text) =>
  text.replace('parse-resolv-conf', `nameserver own 127.0.0.1:${dns.address().port}\n  timeout resolve 100ms`),
);
afterAll(async () => {
  proxy.signal('SIGTERM');
  dns.close();
  await Promise.all(instances.map((instance) => instance.stop(true)));
});

/** Sends requests until the response is the wanted one, because a look-up and a check come first. */
async function until(wanted: string): Promise<string> {
  let said = '';
  for (let turn = 0; turn < 600 && said !== wanted; turn += 1) {
    const response = await fetch(`http://${frontend}/`);
    said = response.ok ? await response.text() : String(response.status);
    if (said !== wanted) await Bun.sleep(50);
  }
  return said;
}

test('HAProxy starts without a name, finds it once it is there, and follows it to another address', async () => {
  await untilReachable(`http://${frontend}`, proxy);
  expect(await until('503')).toBe('503');
  addresses.set('one.test', '127.0.0.1');
  expect(await until('127.0.0.1')).toBe('127.0.0.1');
  // An instance that is recreated gets another address.
  await instances[0]?.stop(true);
  addresses.set('one.test', '127.0.0.2');
  expect(await until('127.0.0.2')).toBe('127.0.0.2');
});
