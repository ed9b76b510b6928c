import { expect, setDefaultTimeout, test } from 'bun:test';
import fc from 'fast-check';
import { createProofVerifier } from '../../src/auth/proof/proof.ts';
import { createMemoryReplayStore } from '../../src/auth/proof/replay-store.ts';
import { rejections } from '../../src/auth/rejections.ts';
import { anyProof, makeProof, proofKey, thumbprintOf, useVerified } from '../support/proof.ts';
import { holds, propertyTimeoutMs, tokens } from './arbitraries.ts';
import { decideOnProof } from './proof-oracle.ts';
import { buildProof, proofPlans } from './proof-plans.ts';

setDefaultTimeout(propertyTimeoutMs);

const names = ['algorithm', 'key', 'key_mismatch', 'method', 'signature', 'time', 'token_hash', 'id', 'url'];
const expected = ['accepted', ...names.map((name) => `proof_${name}`)];
test('the service and an independent verifier agree on proofs', () =>
  holds('proofs', proofPlans, tokens / 5, expected, async (plan) => {
    const { proof, world } = buildProof(plan);
    const now = () => world.nowSeconds * 1000;
    const verify = createProofVerifier({ ...anyProof, ...world, now, replayStore: createMemoryReplayStore({ now }) });
    const show = async () => {
      const { method, path, token, thumbprint } = world;
      const presented = { method, url: `http://127.0.0.1:3010${path}?query`, token, proof };
      return (await useVerified(verify({}, presented, thumbprint))) ?? 'accepted';
    };
    const verdict = await show();
    const error = verdict === 'accepted' ? verdict : rejections[verdict].error;
    const wanted = decideOnProof(proof, world);
    if (error !== wanted) throw new Error(`${verdict} where the contract has ${wanted}: ${proof}`);
    if (verdict === 'accepted') expect(await show()).toBe('proof_replayed');
    return verdict;
  }));

test('no order of uses, pauses and clock changes lets a proof be accepted twice', async () => {
  const publicUrl = 'https://api.example.test';
  const target = { url: `${publicUrl}/`, token: 'header.payload.signature' };
  const startSeconds = 1_900_000_000;
  // The last proofs are dated as far ahead as allowed.
  const proofs = [-60, 0, 1, 60, 120].map((seconds) => makeProof({ ...target, nowSeconds: startSeconds + seconds }));
  const use = fc.record({
    proof: fc.constantFrom(...proofs),
    pausedCall: fc.constantFrom(3, 4, 5, 6),
    pauseMs: fc.constantFrom(0, 0, 0, 31_000, 151_000),
  });
  const moves = [1, 999, 30_000, 60_000, 90_000, 120_000, 150_000, -1000, -60_000, -151_000];
  const steps = fc.array(fc.oneof({ weight: 3, arbitrary: use }, { weight: 1, arbitrary: fc.constantFrom(...moves) }), {
    minLength: 2,
    maxLength: 20,
  });
  // A store that accepts nothing would pass.
  await holds('orders of uses', steps, tokens / 20, ['1', '2'], async (order) => {
    let nowMs = startSeconds * 1000;
    const replayStore = createMemoryReplayStore({ now: () => nowMs });
    const accepted: string[] = [];
    for (const step of order) {
      if (typeof step === 'number') {
        nowMs += step;
        continue;
      }
      // Two parallel uses: the process is paused before the first of them is marked, or before the second.
      let calls = 0;
      const now = () => {
        calls += 1;
        if (calls === step.pausedCall) nowMs += step.pauseMs;
        return nowMs;
      };
      const verify = createProofVerifier({ ...anyProof, publicUrl, replayStore, now });
      const show = async () => {
        const presented = { method: 'GET', url: target.url, token: target.token, proof: step.proof };
        const reason = await useVerified(verify({}, presented, thumbprintOf(proofKey())));
        if (reason === undefined) accepted.push(step.proof);
      };
      await Promise.all([show(), show()]);
    }
    expect(accepted).toEqual([...new Set(accepted)]);
    return String(accepted.length);
  });
});
