import { parseArgs } from 'node:util';
import { compactVerify, importJWK } from 'jose';
import { createProofVerifier } from '../src/auth/proof/proof.ts';
import { createMemoryReplayStore, type ReplayStore, usualLifetimeMs } from '../src/auth/proof/replay-store.ts';
import { createRedisReplayStore } from '../src/redis/replay-store.ts';
import { makeProof, proofKey, publicJwk, thumbprintOf } from '../tests/support/proof.ts';
import { type CaseName, cases } from './harness/cases.ts';
import { serviceWith } from './harness/contestants.ts';
import { startKeySetServer } from './harness/key-set-server.ts';
import { describeMachine } from './harness/machine.ts';
import type { Measurement } from './harness/measure.ts';
import { table, writeSection } from './harness/results-page.ts';
import { runRound } from './harness/round.ts';
import { freePort, pinSelf } from './harness/server-process.ts';
import { ratios, type Summary, summarize } from './harness/statistics.ts';
import { prepareTokens } from './harness/tokens.ts';
import { createLookup } from './report/goals.ts';

const usage = `Measures what a DPoP proof costs, and what DPoP costs plain tokens; writes a section of bench/results.md
  --rounds N    samples of each figure (10)
  --print       print the section instead of writing it`;

const publicUrl = 'https://api.example.com';
const path = '/api/private';
const token = 'x'.repeat(800);
/** As many as the load of the other benchmarks has connections. */
const atOnce = 64;
const proofsASample = 2000;

interface Candidate {
  readonly label: string;
  readonly run: (proof: string) => Promise<boolean>;
}

async function createCandidates(algorithm: string, redis: ReplayStore): Promise<readonly Candidate[]> {
  const key = proofKey(algorithm);
  const joseKey = await importJWK(publicJwk(key), algorithm);
  const thumbprint = thumbprintOf(key);
  const url = `http://127.0.0.1:3010${path}`;
  const verifyWith = (replayStore: ReplayStore) => {
    const verify = createProofVerifier({ publicUrl, replayStore });
    return async (proof: string) => {
      const request = { method: 'GET', url, headers: new Headers({ dpop: proof }) };
      return (await verify(request, token, thumbprint)) === undefined;
    };
  };
  return [
    { label: 'signature alone (jose compactVerify)', run: (proof) => compactVerify(proof, joseKey).then(() => true) },
    { label: 'proof, used ones in memory', run: verifyWith(createMemoryReplayStore()) },
    { label: 'proof, used ones in Redis on loopback', run: verifyWith(redis) },
  ];
}

/** Returns proofs per second of CPU time, all threads together: what else runs on the machine matters less to it. */
async function sample({ label, run }: Candidate, proofs: readonly string[]): Promise<number> {
  const before = process.cpuUsage();
  for (let from = 0; from < proofs.length; from += atOnce) {
    const verdicts = await Promise.all(proofs.slice(from, from + atOnce).map(run));
    if (!verdicts.every(Boolean)) throw new Error(`Wrong outcome: ${label}`);
  }
  const { user, system } = process.cpuUsage(before);
  return (proofs.length / (user + system)) * 1e6;
}

async function measureProofs(algorithm: string, redis: ReplayStore, rounds: number): Promise<string[][]> {
  const candidates = await createCandidates(algorithm, redis);
  const rates = new Map<string, number[]>();
  // The first round warms up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const candidate of candidates) {
      const target = { url: publicUrl + path, token, nowSeconds: Math.floor(Date.now() / 1000) };
      const proofs = Array.from({ length: proofsASample }, () => makeProof(target, { algorithm }));
      const rate = await sample(candidate, proofs);
      if (round > 0) rates.set(candidate.label, [...(rates.get(candidate.label) ?? []), rate]);
    }
  }
  return candidates.map(({ label }) => [`${algorithm}: ${label}`, ...cells(summarize(rates.get(label) ?? []))]);
}

const cells = ({ median, min, max }: Summary) =>
  [median, min, max].map((rate) => Math.round(rate).toLocaleString('en'));

/** Starts a redis-server for the benchmark alone, on the other core, as a fleet has it elsewhere. */
async function startStore() {
  const port = await freePort();
  const command = ['taskset', '-c', '1', 'redis-server', '--port', String(port), '--save', '', '--appendonly', 'no'];
  const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' });
  const store = createRedisReplayStore({ url: `redis://127.0.0.1:${port}`, usualLifetimeMs });
  store.start();
  while (!store.state().isConnected) await Bun.sleep(10);
  // A server that came after the first attempt may have lost what it knew: proofs have to be newer than that.
  await Bun.sleep(1100);
  return {
    store,
    port,
    async stop() {
      store.stop();
      child.kill();
      await child.exited;
    },
  };
}

const measured: readonly CaseName[] = ['public', 'one token', 'bad signature'];

/** CPU time of the server for a plain token, with DPoP off and on, side by side. */
async function measurePlainTokens(redisPort: number, rounds: number): Promise<string> {
  const tokens = prepareTokens();
  const keySet = startKeySetServer(tokens.jwks);
  const on = { DPOP: 'on', PUBLIC_URL: publicUrl, REDIS_URL: `redis://127.0.0.1:${redisPort}` };
  const servers = [
    serviceWith('off', 'off', measured, {}),
    serviceWith('on', 'on', measured, on),
    serviceWith('again', 'off again', measured, {}),
  ];
  const measurements: Measurement[] = [];
  for (let round = 0; round < rounds; round += 1)
    measurements.push(...(await runRound(round, servers, cases, { tokens, keySet, answers: '' }, 1)));
  await keySet.stop();
  const lookup = createLookup(measurements);
  const percent = ({ median, min, max }: Summary) =>
    [median, min, max].map((ratio) => `${((ratio - 1) * 100).toFixed(1)} %`).join(' / ');
  const rows = measured.map((caseName) => {
    const [off = [], on = [], again = []] = servers.map(({ name }) => lookup(name, caseName, 'cpuMicroseconds'));
    const medians = [off, on].map((values) => summarize(values).median.toFixed(2));
    return [caseName, ...medians, percent(summarize(ratios(on, off))), percent(summarize(ratios(again, off)))];
  });
  const ratio = (one: string) => `${one} / off: median / lowest / highest`;
  return table(['', 'off, µs', 'on, µs', ratio('on'), ratio('off again')], rows);
}

async function main(): Promise<void> {
  const options = {
    rounds: { type: 'string', default: '10' },
    print: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) return console.log(usage);
  const rounds = Number(values.rounds);
  const machine = describeMachine();
  const redis = await startStore();
  pinSelf(0);
  const rows: string[][] = [];
  for (const algorithm of ['ES256', 'EdDSA']) rows.push(...(await measureProofs(algorithm, redis.store, rounds)));
  pinSelf(1);
  const plain = await measurePlainTokens(redis.port, rounds);
  await redis.stop();
  const section = `## What a DPoP proof costs (\`bun run bench:dpop\`)

${machine}

Proofs verified per second of CPU time of one process, ${atOnce} at a time, each accepted once; redis-server is another process. ${rounds} samples of ${proofsASample} proofs of each kind, the kinds taking turns.

${table(['Proofs per CPU second', 'median', 'lowest', 'highest'], rows)}

CPU time of the server for a request with a plain Bearer token, without DPoP and with \`DPOP=on\` and Redis. ${rounds} fresh processes of each kind, in slices of 50 ms that take turns. The last column is the method's own spread: the same server twice.

${plain}
`;
  if (values.print) console.log(section);
  else writeSection('dpop', section);
}

await main();
