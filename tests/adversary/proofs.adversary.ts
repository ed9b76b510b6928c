import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createProofVerifier } from '../../src/auth/proof/proof.ts';
import { createMemoryReplayStore } from '../../src/auth/proof/replay-store.ts';
import { refusals } from '../../src/auth/refusals.ts';
import { judgeProof } from './proof-oracle.ts';
import { buildProof, proofPlans } from './proof-plans.ts';
import { propertyTimeoutMs, tokens } from './run.ts';

const numRuns = tokens / 5;

test(
  'the service and an independent verifier agree on proofs',
  async () => {
    const counts = new Map<string, number>();
    const property = fc.asyncProperty(proofPlans, async (plan) => {
      const { proof, world } = buildProof(plan);
      const now = () => world.nowSeconds * 1000;
      const verify = createProofVerifier({ ...world, now, replayStore: createMemoryReplayStore({ now }) });
      const show = async () => {
        const headers = { get: () => proof } as unknown as Headers;
        const request = { method: world.method, url: `http://127.0.0.1:3010${world.path}?query`, headers };
        return (await verify(request, world.token, world.thumbprint))?.reason ?? 'accepted';
      };

      const verdict = await show();
      const { error }: { status?: number; error?: string } =
        verdict === 'accepted' ? { error: verdict } : refusals[verdict];
      const wanted = judgeProof(proof, world);
      if (error !== wanted) throw new Error(`${verdict} where the contract has ${wanted}: ${proof}`);
      if (verdict === 'accepted') expect(await show()).toBe('proof_replayed');
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
    });
    await fc.assert(property, { numRuns });
    console.log(
      `proofs: ${numRuns} inputs: ${[...counts].map(([verdict, count]) => `${verdict} ${count}`).join(', ')}`,
    );
    // A generator that never gets through, or never fails in some way, would hold anything.
    const always = [
      'accepted',
      'proof_algorithm',
      'proof_key',
      'proof_key_mismatch',
      'proof_method',
      'proof_signature',
    ];
    for (const verdict of [...always, 'proof_time', 'proof_token_hash', 'proof_id', 'proof_url'])
      expect([...counts.keys()]).toContain(verdict);
  },
  propertyTimeoutMs,
);
