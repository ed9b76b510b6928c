import { afterAll, describe, expect, test } from 'bun:test';
import { until } from '../support/child-process.ts';
import { type Service, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, mintToken, nowSeconds } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { bound, makeProof } from '../support/proof.ts';
import { startRedis } from '../support/redis-server.ts';

const PUBLIC_URL = 'https://api.example.test';
const PATH = '/api/private';
const ROUNDS = isNight ? 200 : 40;
/** Leaves the processor to the tested processes. */
const PAUSE_MS = 10;

const range = (length: number) => Array.from({ length }, (_, index) => index);

const count = <Value>(values: readonly Value[]) =>
  Object.fromEntries([...Map.groupBy(values, String)].map(([value, all]) => [value, all.length]));

describe('two processes and one Redis', async () => {
  const [server, issuer] = [await startRedis(), await startIssuer()];
  const exp = nowSeconds() + 3600;
  const token = mintToken(issuer.url, { claims: { cnf: bound, exp } });
  const plain = mintToken(issuer.url, { claims: { exp } });
  const settings = { ISSUER: issuer.url, AUDIENCE, DPOP: 'on', PUBLIC_URL, REDIS_URL: server.url };
  const fleet: Service[] = [await sourceForm.start(settings), await sourceForm.start(settings)];

  const newProof = () => makeProof({ url: PUBLIC_URL + PATH, token });
  const statusOf = async (service: Service, headers: Record<string, string>) => {
    const response = await service.fetch(PATH, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  const show = (service: Service, dpop: string) => statusOf(service, { authorization: `DPoP ${token}`, dpop });
  const showAll = (proof: string) => Promise.all(fleet.map((service) => show(service, proof)));
  const untilAccepted = (service: Service) => until(async () => (await show(service, newProof())) === 200, 'the store');
  // Proofs from before the start of the server get a 503.
  for (const service of fleet) await untilAccepted(service);

  afterAll(async () => {
    for (const service of fleet) expect(await service.close()).toBe(0);
    await issuer.close();
    await server.kill();
  });

  test(`accept each of ${50 * ROUNDS} proofs at most once, although both processes receive each one at the same time`, async () => {
    const statuses: string[] = [];
    for (const _ of range(ROUNDS)) {
      const pairs = await Promise.all(range(50).map(() => showAll(newProof())));
      statuses.push(...pairs.map((pair) => pair.toSorted().join()));
    }
    const counts = count(statuses);
    // On a busy machine, the store may take longer than its limit: a process that does not know rejects the proof.
    expect(Object.keys(counts).filter((pair) => !/^200,401$|,503$/.test(pair))).toEqual([]);
    expect(counts['200,401']).toBeGreaterThan(25 * ROUNDS);
  });

  const room = (maxmemory: string) =>
    server.command('CONFIG', 'SET', 'maxmemory', maxmemory, 'maxmemory-policy', 'noeviction');
  test.each<[name: string, begin: () => unknown, end: () => unknown]>([
    ['is killed and started again', () => server.kill(), () => server.start()],
    ['hangs', () => server.signal('SIGSTOP'), () => server.signal('SIGCONT')],
    ['is full', () => room('1'), () => room('0')],
  ])('accept no proof twice and refuse no plain token when it %s', async (_name, begin, end) => {
    const accepted: string[] = [];
    const twice: string[] = [];
    const refused: number[] = [];
    let plainTokens = 0;
    let isOver = false;
    // Repeatedly sends a new proof to both, a used one to one of them, and a plain token.
    const work = async (worker: number) => {
      const service = fleet[worker % fleet.length] as Service;
      while (!isOver) {
        const proof = newProof();
        const statuses = await showAll(proof);
        if (statuses.includes(200)) accepted.push(proof);
        if (statuses.every((status) => status === 200)) twice.push(proof);
        const used = accepted[Math.floor(Math.random() * accepted.length)];
        if (used && (await show(service, used)) === 200) twice.push(used);
        const status = await statusOf(service, bearer(plain));
        if (status !== 200) refused.push(status);
        plainTokens += 1;
        await Bun.sleep(PAUSE_MS);
      }
    };
    const workers = range(8).map(work);
    const untilMore = (counted: () => number, what: string) => {
      const before = counted();
      return until(() => counted() > before + 100, what);
    };
    await untilMore(() => accepted.length, 'accepted proofs before the outage');
    await begin();
    await until(async () => String(await showAll(newProof())) === '503,503', 'the outage');
    await untilMore(() => plainTokens, 'plain tokens during the outage');
    await end();
    for (const service of fleet) await untilAccepted(service);
    await untilMore(() => accepted.length, 'accepted proofs after the outage');
    isOver = true;
    await Promise.all(workers);
    expect({ twice, refused }).toEqual({ twice: [], refused: [] });
  });
});
