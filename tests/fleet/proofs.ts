import { createGuardCore } from '../../src/auth/guard/core.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import { clockDifferenceMs, createMemoryReplayStore } from '../../src/auth/proof/replay-store.ts';
import { ISSUER, offline } from '../support/checked.ts';
import { mintToken } from '../support/mint.ts';
import { bound, makeProof } from '../support/proof.ts';
import { seeded } from '../support/seeded.ts';
import { createWorld } from './world.ts';

/*
 * Instances that share a replay store and the secrets of nonces, and clients with new, used and old proofs. The clocks
 * of the instances differ, processes start anew with the next secret, and the store is slow, down, or replaced by an
 * empty one.
 */

const epochMs = 1_700_000_000_000;
const url = 'https://api.example.test/messages';
const maxAgeSeconds = 60;
const maxSkewMs = 10_000;

interface Proof {
  readonly text: string;
  /** When the nonce was given out; undefined without one. */
  readonly nonceAt: number | undefined;
  readonly isBound: boolean;
  acceptedTimes: number;
}

/** Runs the simulation, and returns which rules were broken. */
export async function simulateProofs(seed: number, minutes = 30) {
  const random = seeded(seed);
  const world = createWorld();
  const token = mintToken(ISSUER, { claims: { cnf: bound, iat: 0, exp: 9e9 } });
  const broken = new Map<string, string>();
  const outcomes = new Map<string, number>();
  let store = { data: createMemoryReplayStore({ now: world.now }), since: Number.NEGATIVE_INFINITY };
  let isStoreDown = false;
  let storeChangedAt = Number.NEGATIVE_INFINITY;
  let generation = 1;

  const markUsed = (key: string, lifetimeMs: number, issuedAtMs: number) =>
    new Promise<boolean>((resolve, reject) => {
      world.schedule(() => {
        const isOlder = issuedAtMs - epochMs < store.since + clockDifferenceMs;
        if (isStoreDown || isOlder) reject(new Error('unknown'));
        else resolve(store.data.markUsed(key, lifetimeMs));
      }, random(100));
    });
  const secretOf = (each: number) => `secret-${each}`.padEnd(32, 'x');

  function createInstance() {
    const skewMs = random(2 * maxSkewMs) - maxSkewMs;
    const reasons = new WeakMap<object, string>();
    const core = createGuardCore(
      {
        ...offline(),
        ...{ dpop: 'required', publicUrl: 'https://api.example.test', dpopProofMaxAgeSeconds: maxAgeSeconds },
        dpopNonceSecret: [secretOf(generation), secretOf(generation - 1)],
        replayStore: { markUsed },
        onReplayStoreEvent() {},
        onRejected: (request, reason) => reasons.set(request, reason),
      },
      { clock: world, now: () => epochMs + world.now() + skewMs, random: () => 0 },
    );
    return { guard: guardOf(core), reasons, generation };
  }
  const instances = [1, 2, 3].map(createInstance);
  const proofs: Proof[] = [];
  let nonce: { readonly text: string; readonly at: number; readonly generation: number } | undefined;

  function nextProof(): Proof {
    const kind = random(10);
    const used = proofs[random(proofs.length + 1)];
    if (kind < 3 && used) return used;
    const claims = kind === 3 ? {} : { nonce: nonce?.text };
    // The clock of a client may say anything: the time of the nonce counts.
    const nowSeconds = random(2_000_000_000);
    const isBound = kind !== 4;
    const other = isBound ? {} : { algorithm: 'ES384' };
    const text = makeProof({ url, token, nowSeconds }, { ...other, claims });
    const proof = { text, nonceAt: 'nonce' in claims ? nonce?.at : undefined, isBound, acceptedTimes: 0 };
    proofs.push(proof);
    return proof;
  }

  async function send(): Promise<void> {
    const at = random(instances.length);
    const { guard, reasons, generation: own } = instances[at] as (typeof instances)[number];
    const proof = nextProof();
    const isUnused = proof.acceptedTimes === 0;
    const known = nonce;
    const sentAt = world.now();
    const request = new Request(url, { headers: { authorization: `DPoP ${token}`, dpop: proof.text } });
    const result = await guard.check(request);
    const now = world.now();
    const outcome = result instanceof Response ? (reasons.get(request) ?? 'unknown') : 'accepted';
    const given = result instanceof Response ? result.headers.get('dpop-nonce') : result.dpopNonce;
    if (given) nonce = { text: given, at: now, generation: own };
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    if (outcome === 'accepted') proof.acceptedTimes += 1;
    const ageMs = proof.nonceAt === undefined ? Number.POSITIVE_INFINITY : sentAt - proof.nonceAt;
    const isRecent = ageMs < 1000 * maxAgeSeconds - 2 * maxSkewMs;
    const isKnown = known !== undefined && Math.abs(own - known.generation) <= 1 && own >= known.generation;
    const isFresh = proof.isBound && isUnused && isRecent && isKnown && proof.nonceAt === known.at;
    // A store that was replaced cannot tell about proofs that are older than it is.
    const isStoreCalm = !isStoreDown && sentAt - storeChangedAt > 1000 * maxAgeSeconds + 2 * clockDifferenceMs;
    const rules: readonly (readonly [rule: string, isBroken: boolean])[] = [
      ['a proof is accepted once', proof.acceptedTimes > 1],
      ['a proof of another key is never accepted', outcome === 'accepted' && !proof.isBound],
      ['a proof needs a recent nonce', outcome === 'accepted' && ageMs > 1000 * maxAgeSeconds + 2 * maxSkewMs],
      ['a good proof is accepted in calm', outcome !== 'accepted' && isFresh && isStoreCalm],
      ['no 401 for a good proof while the store is down', isFresh && !/^(?:accepted|replay_unknown)$/.test(outcome)],
      ['no 503 in calm', outcome === 'replay_unknown' && isStoreCalm],
    ];
    for (const [rule, isBroken] of rules)
      if (isBroken && !broken.has(rule)) broken.set(rule, `seed ${seed}, ${now / 1000} s, ${outcome}: ${rule}`);
  }

  const troubles: readonly (() => void)[] = [
    () => {
      isStoreDown = !isStoreDown;
      storeChangedAt = world.now();
    },
    () => {
      store = { data: createMemoryReplayStore({ now: world.now }), since: world.now() };
      storeChangedAt = world.now();
    },
    () => {
      // The next secret reaches one process after the other.
      if (instances.every((each) => each.generation === generation)) generation += 1;
      const late = instances.findIndex((each) => each.generation < generation);
      instances[Math.max(late, 0)] = createInstance();
    },
  ];
  const repeat = (run: () => unknown, maxMs: number) => {
    world.schedule(() => {
      void run();
      repeat(run, maxMs);
    }, random(maxMs));
  };
  repeat(send, 4000);
  repeat(() => troubles[random(troubles.length)]?.(), 8 * 60_000);
  await world.run(minutes * 60_000);
  return { broken: [...broken.values()], outcomes: Object.fromEntries(outcomes) };
}
