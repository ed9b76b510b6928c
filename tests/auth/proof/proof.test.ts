import { describe, expect, test } from 'bun:test';
import { createProofVerifier } from '../../../src/auth/proof/proof.ts';
import { createMemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';
import type { RejectionReason, ReplayStore, ReplayStoreEvent } from '../../../src/auth/types.ts';
import { anyProof, makeProof, proofKey, sha256, thumbprintOf, useVerified } from '../../support/proof.ts';
import { type Change, now, otherKey, path, proofRows, publicUrl, target } from './proof-rows.ts';

const { nowSeconds, token } = target;

async function outcomeOf(change: Change): Promise<RejectionReason | 'accepted'> {
  const { method = 'GET', requested: url = `http://127.0.0.1:3010${path}` } = change;
  const { key = proofKey(change.algorithm), thumbprint = thumbprintOf(key) } = change;
  const replayStore = createMemoryReplayStore({ now });
  const verify = createProofVerifier({ ...anyProof, publicUrl, replayStore, now, ...change });
  const presented = { method, url, token, proof: new Headers({ dpop: makeProof(target, change) }).get('dpop') };
  return (await useVerified(verify({}, presented, thumbprint))) ?? 'accepted';
}

describe('createProofVerifier()', () => {
  for (const [want, rows] of Object.entries(proofRows))
    for (const [name, change] of rows)
      test(`${want}: ${name}`, async () => {
        const replayStore = createMemoryReplayStore({ now });
        expect(await outcomeOf({ ...change, replayStore })).toBe(want as RejectionReason);
        expect(replayStore.state().entries).toBe(want === 'accepted' ? 1 : 0);
      });

  test('verifies a proof again if its verification has failed', async () => {
    let calls = 0;
    const clock = () => (++calls === 1 ? JSON.parse('') : now());
    const verify = createProofVerifier({ ...anyProof, publicUrl, replayStore: undefined, now: clock });
    const presented = { method: 'GET', url: target.url, token, proof: makeProof(target, {}) };
    await expect(verify({}, presented, thumbprintOf(proofKey()))).rejects.toThrow(SyntaxError);
    expect(await verify({}, presented, thumbprintOf(proofKey()))).toMatchObject({ nextNonce: undefined });
  });

  test('rejects a used proof: the same jti of the same key, regardless of the rest of the proof', async () => {
    const replayStore = createMemoryReplayStore({ now });
    const claims = { jti: 'same' };
    expect(await outcomeOf({ replayStore, claims })).toBe('accepted');
    expect(await outcomeOf({ replayStore, claims })).toBe('proof_replayed');
    expect(await outcomeOf({ replayStore, claims, key: otherKey })).toBe('accepted');
    const later = { ...claims, iat: nowSeconds - 1, htm: 'POST' };
    expect(await outcomeOf({ replayStore, claims: later, method: 'POST' })).toBe('proof_replayed');
  });

  test.each([
    ['the process was paused', 151_000],
    ['the clock was set forward', 86_400_000],
    ['the clock was set back', -86_400_000],
  ])('rejects a proof that is out of time when it would be marked, because %s', async (_, laterMs) => {
    const times = [now(), now(), now() + laterMs, now() + laterMs];
    const replayStore = createMemoryReplayStore();
    expect(await outcomeOf({ replayStore, now: () => times.shift() ?? 0 })).toBe('proof_time');
    expect(replayStore.state().entries).toBe(0);
  });

  test('rejects a proof that is out of its own window when it is used, although a verifier with another has used it', async () => {
    let laterMs = 0;
    const common = { ...anyProof, publicUrl, replayStore: createMemoryReplayStore(), now: () => now() + laterMs };
    const request = {};
    const presented = { method: 'GET', url: target.url, token, proof: makeProof(target, {}) };
    const verifiers = [300, 60].map((dpopProofMaxAgeSeconds) =>
      createProofVerifier({ ...common, dpopProofMaxAgeSeconds }),
    );
    const [long, short] = verifiers.map((verify) => verify(request, { ...presented }, thumbprintOf(proofKey())));
    expect(await useVerified(long ?? Promise.reject())).toBeUndefined();
    await short;
    laterMs = 61_000;
    expect(await useVerified(short ?? Promise.reject())).toBe('proof_time');
    expect(await useVerified(long ?? Promise.reject())).toBeUndefined();
  });

  test('checks the time in the same turn in which it marks the proof', async () => {
    let turn = 0;
    const turns: number[] = [];
    const clock = () => {
      turns.push(++turn);
      queueMicrotask(() => turn++);
      return now();
    };
    const markUsed = () => turns.push(turn) > 0;
    expect(await outcomeOf({ now: clock, replayStore: { markUsed } })).toBe('accepted');
    expect(turns.at(-1)).toBe(turns.at(-2) as number);
  });

  test.each<[string, () => unknown, cause: string]>([
    ['rejects', () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNREFUSED' })), 'ECONNREFUSED'],
    ['rejects with what is no error', () => Promise.reject('secret'), 'a value of the type string'],
    ['resolves to something else', () => Promise.resolve('OK'), 'TypeError'],
    ['returns nothing', () => undefined, 'TypeError'],
    ['throws', () => JSON.parse(''), 'SyntaxError'],
    ['is full', () => createMemoryReplayStore({ maxEntries: 0 }).markUsed('a', 1), expect.stringMatching(/is full$/)],
  ])('cannot decide about proofs while the store %s, and says so once, and when it is over', async (_, fail, cause) => {
    const events: ReplayStoreEvent[] = [];
    const uses = [fail, fail, () => true, () => true];
    const replayStore = { markUsed: () => (uses.shift() as () => boolean)() };
    const onReplayStoreEvent = (event: ReplayStoreEvent) => Promise.reject(events.push(event));
    const verify = createProofVerifier({ ...anyProof, publicUrl, replayStore, now, onReplayStoreEvent });
    for (const reason of ['replay_unknown', 'replay_unknown', undefined, undefined]) {
      const presented = { method: 'GET', url: publicUrl + path, token, proof: makeProof(target) };
      expect<unknown>(await useVerified(verify({}, presented, thumbprintOf(proofKey())))).toBe(reason);
    }
    const recovered = { type: 'recovered', failures: 2 } as const;
    expect(events).toEqual([{ type: 'failed', cause }, recovered]);
  });

  test('passes to the store a hash, the rest of the time window, and when the proof was created', async () => {
    const seen: unknown[] = [];
    const replayStore: ReplayStore = { markUsed: (...use) => seen.push(use.slice(0, 3)) > 0 };
    for (const iat of [nowSeconds - 60, nowSeconds + 0.0005, nowSeconds + 60])
      await outcomeOf({ replayStore, claims: { iat, jti: 'secret' } });
    const hash = sha256(`${thumbprintOf(proofKey())}.secret`);
    const want = Object.entries({ 30000: -60_000, 90001: 0, 150000: 60_000 });
    expect(seen).toEqual(want.map(([lifetimeMs, ageMs]) => [hash, Number(lifetimeMs), now() + ageMs]));
  });
});
