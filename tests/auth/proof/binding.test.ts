import { describe, expect, test } from 'bun:test';
import { type BindingOptions, createBindingCheck } from '../../../src/auth/proof/binding.ts';
import { createMemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';
import type { Scheme } from '../../../src/auth/schemes.ts';
import { certificate } from '../../support/certificates.ts';
import { makeProof, proofKey, thumbprintOf } from '../../support/proof.ts';

const publicUrl = 'https://api.example.test';
const url = `${publicUrl}/api/private`;
const token = 'header.payload.signature';
const bound = { jkt: thumbprintOf(proofKey()) };
const claimsWith = (cnf?: unknown) => ({ iss: '', aud: '', exp: 0, ...(cnf !== undefined && { cnf }) });

describe('createBindingCheck()', () => {
  const held = certificate('a');
  const certified = { 'x5t#S256': held.thumbprint };
  const both = { ...bound, ...certified };

  /** One outcome without, one with the option `clientCertificate`. No request has a proof. */
  const rows: readonly (readonly [
    scheme: Scheme,
    cnf: unknown,
    without: string | undefined,
    withIt?: string | null,
  ])[] = [
    ['Bearer', undefined, undefined],
    ['Bearer', bound, 'token_bound'],
    ['Bearer', null, 'token_bound'],
    ['Bearer', {}, 'token_bound'],
    ['Bearer', [certified], 'token_bound'],
    ['Bearer', certified, 'token_bound', null],
    ['Bearer', { 'x5t#S256': certificate('b').thumbprint }, 'token_bound', 'certificate_mismatch'],
    ['Bearer', { 'x5t#S256': 1 }, 'token_bound', 'certificate_mismatch'],
    ['Bearer', both, 'token_bound'],
    ['Bearer', { ...certified, kid: 'x' }, 'token_bound', 'token_confirmation_unsupported'],
    ['Bearer', { jwk: {} }, 'token_bound'],
    ['DPoP', undefined, 'token_unbound'],
    ['DPoP', null, 'token_unbound'],
    ['DPoP', { jkt: 1 }, 'token_unbound'],
    ['DPoP', { ...bound, kid: 'x' }, 'token_confirmation_unsupported'],
    ['DPoP', { kid: 'x' }, 'token_confirmation_unsupported'],
    ['DPoP', certified, 'token_certificate_bound', 'token_unbound'],
    ['DPoP', both, 'token_certificate_bound', 'proof_missing'],
    ['DPoP', { ...both, 'x5t#S256': 'x' }, 'token_certificate_bound', 'certificate_mismatch'],
    ['DPoP', bound, 'proof_missing'],
  ];
  const judge = async (options: Partial<BindingOptions>, scheme: Scheme, cnf: unknown, headers = {}) => {
    const check = createBindingCheck({ dpop: 'on', publicUrl, ...options });
    const refusal = await check?.(new Request(url, { headers }), { scheme, token }, claimsWith(cnf));
    return refusal?.reason as string | undefined;
  };
  const clientCertificate = () => held.der;
  for (const [scheme, cnf, without, withIt = without ?? null] of rows) {
    test(`returns ${without}, with a certificate ${withIt}, for ${scheme} and cnf ${JSON.stringify(cnf)}`, async () => {
      expect((await judge({}, scheme, cnf)) ?? null).toBe(without ?? null);
      expect((await judge({ clientCertificate }, scheme, cnf)) ?? null).toBe(withIt);
      if (scheme === 'Bearer') {
        expect((await judge({ dpop: 'off', clientCertificate }, scheme, cnf)) ?? null).toBe(withIt);
        expect(await judge({ dpop: 'required', clientCertificate }, scheme, cnf)).toBe('dpop_required');
      }
    });
  }

  test('lets all guards of a process without a store of their own share one', async () => {
    const headers = { dpop: makeProof({ url, token, nowSeconds: Math.floor(Date.now() / 1000) }) };
    expect(await judge({}, 'DPoP', bound, headers)).toBeUndefined();
    expect(await judge({}, 'DPoP', bound, headers)).toBe('proof_replayed');
  });

  test('leaves bound tokens to the verifier without DPoP and certificates', () => {
    expect(createBindingCheck({ dpop: 'off', publicUrl })).toBeUndefined();
  });

  test('accepts a token that is bound to both with both, and uses no proof without the certificate', async () => {
    const headers = { dpop: makeProof({ url, token, nowSeconds: Math.floor(Date.now() / 1000) }) };
    expect(await judge({ clientCertificate: () => undefined }, 'DPoP', both, headers)).toBe('certificate_missing');
    expect(await judge({ clientCertificate }, 'DPoP', both, headers)).toBeUndefined();
    expect(await judge({ clientCertificate }, 'DPoP', both, headers)).toBe('proof_replayed');
  });

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
