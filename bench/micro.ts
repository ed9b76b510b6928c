import { readFileSync } from 'node:fs';
import { compactVerify, importJWK, importSPKI, jwtVerify } from 'jose';
import { measure } from 'mitata';
import { median } from 'simple-statistics';
import { checkOptions } from '../src/auth/options/check-options.ts';
import { createProofVerifier } from '../src/auth/proof/proof.ts';
import { createMemoryReplayStore } from '../src/auth/proof/replay-store.ts';
import { createTrusts } from '../src/auth/token/trust.ts';
import { createVerifier } from '../src/auth/token/verifier.ts';
import type { ReplayStore } from '../src/auth/types.ts';
import { RedisReplayStore } from '../src/redis/replay-store.ts';
import { until } from '../tests/support/child-process.ts';
import { nowSeconds } from '../tests/support/mint.ts';
import { makeProof, proofKey, publicJwk, thumbprintOf } from '../tests/support/proof.ts';
import { startRedis } from '../tests/support/redis-server.ts';
import { describeMachine, table, writeSection } from './harness/machine.ts';
import { pinSelf } from './harness/server-process.ts';
import { audience, issuer, prepareTokens } from './harness/tokens.ts';

/** A step that is repeated, many at once: `prepare` makes what it takes, outside of the measured part. */
interface Step {
  readonly label: string;
  readonly prepare: () => () => unknown;
}

/** As many at once as the load of the servers has connections. */
const inFlight = 64;
const machine = describeMachine();
const tokens = prepareTokens();
// Redis on the other core, as a fleet has it elsewhere.
pinSelf(1);
const redis = await startRedis();
// One core for the code and the threads of WebCrypto alike, as a server has it.
pinSelf(0);

/** CPU time of all threads in nanoseconds: what else runs on the machine matters less to it. */
function cpuNanoseconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

/** Returns the quartiles of a step, in microseconds. */
async function measureStep({ prepare }: Step) {
  const generator = function* () {
    yield {
      0: () => Array.from({ length: inFlight }, prepare),
      bench: (runs: (() => unknown)[]) => Promise.all(runs.map((run) => run())),
    };
  };
  // mitata's types know only functions that take nothing.
  const stats = await measure(generator as never, { now: cpuNanoseconds });
  return [stats.p25, stats.p50, stats.p75].map((nanoseconds) => nanoseconds / inFlight / 1000);
}

const key = await importSPKI(readFileSync(tokens.publicKeyFile, 'utf8'), 'RS256');
const found = [{ cryptoKey: key, algorithm: 'RS256', identity: '', isCurrent: true }] as const;
const keySets = new Map([[issuer, { find: () => found, isCurrent: () => true }]]);
const options = checkOptions({ issuer, audience });
const trusts = createTrusts(new Map([[issuer, options]]), keySets);
const verifier = createVerifier({ ...options, trusts, tokenCacheSize: 0 });
const { many } = tokens.lists;
let used = 0;
const tokenStep = (label: string, run: (token: string) => unknown): Step => ({
  label,
  prepare: () => run.bind(undefined, many[used++ % many.length] ?? ''),
});

async function proofSteps(algorithm: string, shared: ReplayStore): Promise<Step[]> {
  const publicUrl = 'https://api.example.com';
  const key = proofKey(algorithm);
  const joseKey = await importJWK(publicJwk(key), algorithm);
  const verifyWith = (replayStore: ReplayStore) => {
    const verify = createProofVerifier({ publicUrl, replayStore });
    return async (proof: string) => {
      const presented = { method: 'GET', url: 'http://127.0.0.1:3010/', token: tokens.first, proof };
      const refusal = await verify({}, presented, thumbprintOf(key));
      if (refusal) throw new Error(`Cannot get a proof accepted: ${refusal.reason}`);
    };
  };
  const make = () => makeProof({ url: `${publicUrl}/`, token: tokens.first, nowSeconds: nowSeconds() }, { algorithm });
  const withRedis = verifyWith(shared);
  // A server that has just started may have lost what it knew: proofs have to be newer than that.
  await until(async () => (await withRedis(make()).catch(String)) === undefined, 'the store accepts a proof');
  const step = (label: string, run: (proof: string) => unknown): Step => ({
    label: `${algorithm} proof: ${label}`,
    prepare: () => run.bind(undefined, make()),
  });
  return [
    step('signature alone (jose compactVerify)', (proof) => compactVerify(proof, joseKey)),
    step('used ones in memory', verifyWith(createMemoryReplayStore())),
    step('used ones in Redis on loopback', withRedis),
  ];
}

const store = new RedisReplayStore({ url: redis.url });
store.start();
const steps: Step[] = [
  tokenStep('jose compactVerify', (token) => compactVerify(token, key)),
  tokenStep('jose jwtVerify, with issuer and audience', (token) => jwtVerify(token, key, { issuer, audience })),
  tokenStep('verifier without cache', verifier.verify),
  ...(await proofSteps('ES256', store)),
  ...(await proofSteps('EdDSA', store)),
];
// In turns, because the machine changes from second to second. The first is left out: the compiler is at work.
const turns: number[][][] = [];
for (let turn = 0; turn < 6; turn++) {
  const measured: number[][] = [];
  for (const step of steps) measured.push(await measureStep(step));
  if (turn > 0) turns.push(measured);
}
const medianOf = (of: (turn: number[][]) => number | undefined) => median(turns.map((turn) => of(turn) ?? 0));
const rows = steps.map(({ label }, index) => [
  label,
  ...[0, 1, 2].map((quartile) => medianOf((turn) => turn[index]?.[quartile]).toFixed(2)),
]);
const toJose = (index: number) => medianOf((turn) => (turn[index]?.[1] ?? 0) / (turn[0]?.[1] ?? 0)).toFixed(2);

store.stop();
await redis.kill();
await writeSection(
  'micro',
  `## Single steps (\`bun run bench:micro\`)

${machine}
- Method: mitata, in one process on one core, with ${inFlight} in flight; CPU time of all threads. Tokens and proofs are made before, and each proof is accepted once; medians of five turns; redis-server is another process.

${table(['CPU time, µs', 'lower quartile', 'median', 'upper quartile'], rows)}

Every token new, verifier without cache / compactVerify: ${toJose(2)}. Goal: at most 1.10. jwtVerify, which checks claims too: ${toJose(1)}.`,
);
process.exit();
