import { describe, expect, test } from 'bun:test';
import { createBindingCheck } from '../../../src/auth/proof/binding.ts';
import { createMemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';
import type { Scheme } from '../../../src/auth/proof/schemes.ts';
import { makeProof, proofKey, thumbprintOf } from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/api/private`;
const token = 'header.payload.signature';
const bound = { jkt: thumbprintOf(proofKey()) };
const claimsWith = (cnf?: unknown) => ({ iss: '', aud: '', exp: 0, ...(cnf !== undefined && { cnf }) });

describe('createBindingCheck()', () => {
  test('checks nothing when DPoP is off', () => {
    expect(createBindingCheck({ dpop: 'off', publicUrl })).toBeUndefined();
  });

  const rows: readonly (readonly [scheme: Scheme, cnf: unknown, want: string | undefined])[] = [
    ['Bearer', undefined, undefined],
    ['Bearer', bound, 'token_bound'],
    ['Bearer', null, 'token_bound'],
    ['DPoP', undefined, 'token_unbound'],
    ['DPoP', null, 'token_unbound'],
    ['DPoP', { jkt: 1 }, 'token_unbound'],
    ['DPoP', { 'x5t#S256': 'x' }, 'token_certificate_bound'],
    ['DPoP', { ...bound, 'x5t#S256': 'x' }, 'token_certificate_bound'],
    ['DPoP', bound, 'proof_missing'],
  ];
  for (const [scheme, cnf, want] of rows) {
    test(`returns ${want} for ${scheme} and cnf ${JSON.stringify(cnf)}`, async () => {
      const check = createBindingCheck({ dpop: 'on', publicUrl });
      const refusal = await check?.(new Request(url), { scheme, token }, claimsWith(cnf));
      expect(refusal?.reason).toBe(want as undefined);
    });
  }

  test('remembers used proofs by the same clock that it judges them by', async () => {
    let nowSeconds = 1_900_000_000;
    const now = () => nowSeconds * 1000;
    const check = createBindingCheck({ dpop: 'on', publicUrl, replayStore: createMemoryReplayStore({ now }), now });
    const outcomes: unknown[] = [];
    for (const seconds of [0, 1, 600]) {
      nowSeconds += seconds;
      const dpop = makeProof({ url, token, nowSeconds }, { claims: { jti: 'same' } });
      const request = new Request(url, { headers: { dpop } });
      outcomes.push((await check?.(request, { scheme: 'DPoP', token }, claimsWith(bound)))?.reason);
    }
    expect(outcomes).toEqual([undefined, 'proof_replayed', undefined]);
  });
});
