import { compactVerify, importJWK } from 'jose';
import { createProofVerifier } from '../src/auth/proof/proof.ts';
import { createMemoryReplayStore, type ReplayStore, usualLifetimeMs } from '../src/auth/proof/replay-store.ts';
import { createRedisReplayStore } from '../src/redis/replay-store.ts';
import { makeProof, proofKey, publicJwk, thumbprintOf } from '../tests/support/proof.ts';
import { measureSteps, type Step } from './harness/loop.ts';
import { describeMachine, writeSection } from './harness/machine.ts';
import { freePort, pinSelf } from './harness/server-process.ts';

const publicUrl = 'https://api.example.com';
const path = '/api/private';
const token = 'x'.repeat(800);
/** As many as the load of the other benchmarks has connections. */
const inFlight = 64;

/** Starts a redis-server for the benchmark alone, on the other core, as a fleet has it elsewhere. */
async function startStore() {
  const port = await freePort();
  const command = ['taskset', '-c', '1', 'redis-server', '--port', String(port), '--save', '', '--appendonly', 'no'];
  const child = Bun.spawn(command, { stdout: 'ignore', stderr: 'ignore' });
  process.on('exit', () => child.kill());
  const store = createRedisReplayStore({ url: `redis://127.0.0.1:${port}`, usualLifetimeMs });
  store.start();
  while (!store.state().isConnected) await Bun.sleep(10);
  // A server that came after the first attempt may have lost what it knew: proofs have to be newer than that.
  await Bun.sleep(1100);
  return store;
}

async function stepsOf(algorithm: string, redis: ReplayStore): Promise<Step[]> {
  const key = proofKey(algorithm);
  const joseKey = await importJWK(publicJwk(key), algorithm);
  const thumbprint = thumbprintOf(key);
  const target = { url: publicUrl + path, token };
  const verifyWith = (replayStore: ReplayStore) => {
    const verify = createProofVerifier({ publicUrl, replayStore });
    return async (proof: string) => {
      const request = { method: 'GET', url: `http://127.0.0.1:3010${path}`, headers: new Headers({ dpop: proof }) };
      if (await verify(request, token, thumbprint)) throw new Error(`Cannot get a proof accepted: ${algorithm}`);
    };
  };
  const step = (label: string, run: (proof: string) => unknown): Step => ({
    label: `${algorithm}: ${label}`,
    prepare: () =>
      run.bind(undefined, makeProof({ ...target, nowSeconds: Math.floor(Date.now() / 1000) }, { algorithm })),
    inFlight,
  });
  return [
    step('signature alone (jose compactVerify)', (proof) => compactVerify(proof, joseKey)),
    step('proof, used ones in memory', verifyWith(createMemoryReplayStore())),
    step('proof, used ones in Redis on loopback', verifyWith(redis)),
  ];
}

const machine = describeMachine();
const redis = await startStore();
pinSelf(0);
const steps = [...(await stepsOf('ES256', redis)), ...(await stepsOf('EdDSA', redis))];
const { page } = await measureSteps(steps);
redis.stop();
await writeSection(
  'dpop',
  `## What a DPoP proof costs (\`bun run bench:dpop\`)

${machine}
- Method: mitata, in one process on one core; CPU time of all threads. ${inFlight} proofs in flight, each accepted once; redis-server is another process.

${page}`,
);
process.exit();
