import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { freePort, until } from '../support/child-process.ts';
import { bearer } from '../support/fixture.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, SIGNING_KID } from '../support/mint.ts';
import { makeProof, proofKey, thumbprintOf } from '../support/proof.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

const PUBLIC_URL = 'https://api.example.test';
const PATH = '/api/private';
/** A run of several minutes in place of one. */
const isLong = process.env.REDIS_LONG === 'true';
const PROOFS = 10_000;
const maxRecoveryMs = 2000;
/** Leaves the processor to what is tested. */
const PAUSE_MS = 10;
const testTimeoutMs = 300_000;

const range = (length: number) => Array.from({ length }, (_, index) => index);

/** Runs so many tasks, some at once. */
async function inParallel<Result>(count: number, width: number, task: (index: number) => Promise<Result>) {
  const results: Result[] = [];
  let next = 0;
  const work = async () => {
    while (next < count) {
      const index = next++;
      results[index] = await task(index);
    }
  };
  await Promise.all(range(width).map(work));
  return results;
}

const count = <Value>(values: readonly Value[]) =>
  Object.fromEntries([...Map.groupBy(values, String)].map(([value, all]) => [value, all.length]));

describe('two processes and one Redis', () => {
  let server: RedisServer;
  let issuer: Issuer;
  let token: string;
  let plain: string;
  const fleet: (Service & { readonly metricsUrl: string })[] = [];

  beforeAll(async () => {
    server = await startRedis();
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
    token = mintToken(issuer.url, { claims: { cnf: { jkt: thumbprintOf(proofKey()) }, exp: nowSeconds() + 3600 } });
    plain = mintToken(issuer.url, { claims: { exp: nowSeconds() + 3600 } });
    for (const _ of range(2)) fleet.push(await startService());
    // Proofs from before the start of the server are answered with 503.
    for (const service of fleet) await until(async () => (await show(service, newProof())) === 200, 'the store');
  }, testTimeoutMs);
  afterAll(async () => {
    for (const service of fleet) expect(await service.close()).toBe(0);
    await issuer.close();
    await server.kill();
  }, testTimeoutMs);

  const startService = async () => {
    const METRICS_PORT = String(await freePort());
    const settings = { ISSUER: issuer.url, AUDIENCE, DPOP: 'on', PUBLIC_URL, REDIS_URL: server.url, METRICS_PORT };
    const service = await sourceForm.start(settings);
    return { ...service, metricsUrl: `http://127.0.0.1:${METRICS_PORT}/metrics` };
  };
  const newProof = () => makeProof({ url: PUBLIC_URL + PATH, token, nowSeconds: nowSeconds() });
  const show = async (service: Service, proof: string) => {
    const response = await service.fetch(PATH, { headers: { authorization: `DPoP ${token}`, dpop: proof } });
    await response.arrayBuffer();
    return response.status;
  };
  const metric = async ({ metricsUrl }: { metricsUrl: string }, name: string) => {
    const text = await (await fetch(metricsUrl)).text();
    return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
  };

  test(
    `accept ${PROOFS} proofs once each that are sent to both at once`,
    async () => {
      const statuses = await inParallel(PROOFS, 50, async () => {
        const proof = newProof();
        return Promise.all(fleet.map((service) => show(service, proof)));
      });
      expect(count(statuses.map((pair) => pair.toSorted()))).toEqual({ '200,401': PROOFS });
    },
    testTimeoutMs,
  );

  interface Outage {
    readonly name: string;
    readonly begin: () => unknown;
    readonly end: () => unknown;
    readonly seconds: number;
  }
  const outages: readonly Outage[] = [
    {
      name: 'is killed and started again after 2 s',
      begin: () => server.kill(),
      end: () => server.start(),
      seconds: 2,
    },
    { name: 'hangs for 5 s', begin: () => server.signal('SIGSTOP'), end: () => server.signal('SIGCONT'), seconds: 5 },
    {
      name: 'is full for 3 s',
      begin: () => server.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction'),
      end: () => server.command('CONFIG', 'SET', 'maxmemory', '0'),
      seconds: 3,
    },
    ...(isLong
      ? [
          {
            name: 'is killed and started again after 60 s',
            begin: () => server.kill(),
            end: () => server.start(),
            seconds: 60,
          },
        ]
      : []),
  ];

  for (const { name, begin, end, seconds } of outages) {
    test(
      `accept no proof twice and refuse no plain token when it ${name}`,
      async () => {
        const accepted: string[] = [];
        const twice: string[] = [];
        const refused: number[] = [];
        let isOver = false;
        // Shows a new proof to both, a used one to one of them, and a plain token, over and over.
        const work = async (_: unknown, worker: number) => {
          while (!isOver) {
            const proof = newProof();
            const statuses = await Promise.all(fleet.map((service) => show(service, proof)));
            if (statuses.includes(200)) accepted.push(proof);
            if (statuses.every((status) => status === 200)) twice.push(proof);
            const used = accepted[Math.floor(Math.random() * accepted.length)];
            const service = fleet[worker % fleet.length];
            if (service && used && (await show(service, used)) === 200) twice.push(used);
            const response = await service?.fetch(PATH, { headers: bearer(plain) });
            if (response?.status !== 200) refused.push(response?.status ?? 0);
            await Bun.sleep(PAUSE_MS);
          }
        };
        const workers = range(8).map(work);
        await Bun.sleep(500);
        const before = await Promise.all(fleet.map((service) => metric(service, 'process_resident_memory_bytes')));
        await begin();
        await Bun.sleep(seconds * 1000);
        expect(await Promise.all(fleet.map((service) => show(service, newProof())))).toEqual([503, 503]);
        await end();
        const returnedAt = performance.now();
        for (const service of fleet)
          await until(async () => (await show(service, newProof())) === 200, 'recovery', maxRecoveryMs);
        console.log(`${name}: recovered ${(performance.now() - returnedAt).toFixed(0)} ms after its return`);
        await Bun.sleep(1000);
        isOver = true;
        await Promise.all(workers);

        expect({ twice, refused }).toEqual({ twice: [], refused: [] });
        expect(accepted.length).toBeGreaterThan(100);
        for (const [index, service] of fleet.entries()) {
          const grownBy = (await metric(service, 'process_resident_memory_bytes')) - (before[index] ?? 0);
          expect(grownBy / 2 ** 20).toBeLessThan(64);
        }
      },
      testTimeoutMs,
    );
  }

  test(
    'accept no used proof in a process that starts after the server lost its data',
    async () => {
      const proofs = range(20).map(newProof);
      const first = await Promise.all(proofs.map((proof, index) => show(fleet[index % 2] as Service, proof)));
      expect(count(first)).toEqual({ 200: 20 });
      await server.kill();
      await server.start();
      const late = await startService();
      await until(async () => (await metric(late, 'replay_store_up')) === 1, 'the store');
      expect(count(await Promise.all(proofs.map((proof) => show(late, proof))))).toEqual({ 503: 20 });
      await until(async () => (await show(late, newProof())) === 200, 'a new proof', maxRecoveryMs);
      expect(await metric(late, 'replay_store_failures_total\\{failure="forgotten"\\}')).toBeGreaterThanOrEqual(20);
      expect(await late.close()).toBe(0);
    },
    testTimeoutMs,
  );
});
