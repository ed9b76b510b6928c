import { describe, expect, test } from 'bun:test';
import { generateKeyPair } from 'jose';
import { Refusal, refuse } from '../../../src/auth/refusals.ts';
import type { Claims } from '../../../src/auth/token/claims.ts';
import type { VerifiedToken, VerifierOptions } from '../../../src/auth/token/verifier.ts';
import { crowdedKeySet } from '../../http/table/key-set.ts';
import { faultsBeforeKeys, tokenFaults } from '../../http/table/token-faults.ts';
import { createIssuers } from '../../support/issuers.ts';
import { AUDIENCE, mintToken, signingKeys } from '../../support/mint.ts';
import { tokenTextOf } from '../../support/token-rows.ts';

const issuer = 'https://issuer.example.test/';
const frozenSeconds = 2_000_000_000;

function setUp(options: Partial<VerifierOptions> = {}) {
  const keys = { [issuer]: signingKeys() };
  const { verifier, verify: outcomeOf } = createIssuers(keys, ['RS256'], { now: () => fixture.now * 1000, ...options });
  const fixture = { ...verifier, outcomeOf, now: frozenSeconds };
  return fixture;
}

const mint = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  mintToken(issuer, { header, claims: { iat: frozenSeconds, exp: frozenSeconds + 300, ...claims } });

describe('createVerifier()', () => {
  test('returns the same object for a token while it is cached, but not for a similar token (CVE-2026-35039)', async () => {
    const fixture = setUp();
    for (const sub of ['alice', 'bob']) {
      const token = mint({ sub, jti: 'the same' });
      const first = await fixture.verify(token);
      expect(first).toMatchObject({ claims: { sub } });
      expect(fixture.verify(`${token}`)).toBe(first);
      expect(fixture.verify(`${token},${token}`)).toBe(refuse('token_malformed'));
      for (const other of [`${token}A`, `${token}.`, `A${token}`, token.slice(0, -1), token.toLowerCase()])
        expect(await fixture.verify(other)).toBeInstanceOf(Refusal);
    }
    expect(fixture.state().cacheHits).toBe(2);
  });

  const [exp, nbf] = [{ exp: 1000 }, { nbf: 1000, exp: 2000 }];
  type Times = Readonly<Record<string, number | undefined>>;
  const times: readonly (readonly [claims: Times, at: number, tolerance: number, want: string])[] = [
    [exp, 999, 0, 'accepted'],
    [exp, 999.5, 0, 'accepted'],
    [exp, 1000, 0, 'token_expired'],
    [exp, 1000.5, 0, 'token_expired'],
    // CVE-2026-107719.
    [{ ...exp, iat: undefined }, 1000, 0, 'token_expired'],
    [{ exp: 1000.25 }, 1000.5, 0, 'token_expired'],
    [exp, 1029, 30, 'accepted'],
    [exp, 1030, 30, 'token_expired'],
    [nbf, 999, 0, 'token_not_yet_valid'],
    [nbf, 1000, 0, 'accepted'],
    [{ ...nbf, nbf: 1000.5 }, 1000.4, 0, 'token_not_yet_valid'],
    [{ ...nbf, nbf: 1000.5 }, 1000.9, 0, 'accepted'],
    [nbf, 970, 30, 'accepted'],
    [nbf, 969, 30, 'token_not_yet_valid'],
  ];
  for (const [claims, at, tolerance, want] of times)
    for (const cached of [false, true])
      test(`${JSON.stringify(claims)} at ${at} give or take ${tolerance}, ${cached ? 'remembered' : 'new'}: ${want}`, async () => {
        const fixture = setUp({ clockToleranceSeconds: tolerance });
        const token = mint({ iat: 1, ...claims });
        if (cached) {
          fixture.now = claims.nbf === undefined ? 999 : 1001;
          expect(await fixture.outcomeOf(token)).toBe('accepted');
        }
        fixture.now = at;
        expect(await fixture.outcomeOf(token)).toBe(want);
        expect(fixture.state().cacheHits).toBe(cached ? 1 : 0);
      });

  test('keeps a good token in a full cache, and replaces one that has expired', async () => {
    const fixture = setUp({ tokenCacheSize: 1, random: () => 0.99 });
    const [first, second] = [mint({ exp: frozenSeconds + 1 }), mint({ jti: 'second' })];
    await fixture.verify(first);
    await fixture.verify(second);
    expect(fixture.verify(first)).not.toBeInstanceOf(Promise);
    fixture.now += 1;
    await fixture.verify(second);
    expect(fixture.verify(second)).not.toBeInstanceOf(Promise);
  });

  for (const tokenCacheSize of [0, 1])
    test(`caches at most ${tokenCacheSize} tokens, and freezes the claims deeply`, async () => {
      const { verify, state } = setUp({ tokenCacheSize });
      const { claims } = (await verify(mint({ org: { roles: ['admin'] } }))) as VerifiedToken;
      await verify(mint({ jti: 'other' }));
      expect(state().cacheEntries).toBe(tokenCacheSize);
      const { org } = claims as Claims & { org: { roles: unknown } };
      expect([claims, org, org.roles].filter(Object.isFrozen)).toBeArrayOfSize(3);
    });

  test('treats a defective key set or an unsuitable key neither as an outage nor as an invalid token', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const key = { algorithm: 'RS256', identity: 'private', cryptoKey: privateKey, isCurrent: true } as const;
    for (const find of [() => Promise.reject(new TypeError('a defect')), () => [key]]) {
      const { verify } = setUp({ keySets: new Map([[issuer, { find, isCurrent: () => true }]]) });
      await expect(Promise.resolve(verify(mint()))).rejects.toBeInstanceOf(TypeError);
    }
  });

  // Bound tokens are left to the check of the binding.
  for (const { name, reason, token } of tokenFaults.filter((fault) => fault.reason !== 'token_bound')) {
    const isBeforeKeys = faultsBeforeKeys.some((fault) => fault.name === name && fault.reason === reason);
    test(`refuses a token with ${name}: ${reason}${isBeforeKeys ? ', at once, without a key lookup' : ''}`, async () => {
      const { verifier, states } = createIssuers({ [issuer]: crowdedKeySet() });
      const verdict = verifier.verify(tokenTextOf(token, issuer));
      expect(isBeforeKeys ? verdict : await verdict).toBe(refuse(reason));
      expect(states[issuer]?.fetches).toBe(isBeforeKeys ? 0 : 1);
      expect(verifier.state().cacheEntries).toBe(0);
    });
  }

  const [azp, tid] = [{ audienceClaim: 'azp' }, { requiredClaims: { tid: 't' } }];
  const typed = { tokenType: 'at+jwt' } as const;
  for (const [name, options, claims, want, header = { typ: 'at+jwt' }] of [
    ['the claim that is used in place of aud', azp, { aud: undefined, azp: AUDIENCE }, 'accepted'],
    ['another claim than that', azp, { aud: undefined, client_id: AUDIENCE }, 'audience_mismatch'],
    ['that claim and another aud', azp, { aud: 'other', azp: AUDIENCE }, 'audience_mismatch'],
    ['that claim beside an aud of null', azp, { aud: null, azp: AUDIENCE }, 'audience_mismatch'],
    ['that claim beside an empty aud', azp, { aud: [], azp: AUDIENCE }, 'audience_mismatch'],
    ['a required claim', tid, { tid: 't' }, 'accepted'],
    ['another value of the claim', tid, { tid: 'T' }, 'required_claim_mismatch'],
    ['a list with it', tid, { tid: ['t'] }, 'required_claim_mismatch'],
    ['no required claim, expired', tid, { exp: 1 }, 'required_claim_mismatch'],
    ['one of two required claims', { requiredClaims: { tid: 't', org: 'o' } }, { tid: 't' }, 'required_claim_mismatch'],
    ['the required typ', typed, {}, 'accepted'],
    ['the required typ in full, in other letters', typed, {}, 'accepted', { typ: 'Application/AT+JWT' }],
    ['no typ', typed, {}, 'type_unsupported', { typ: undefined }],
    ['the typ of any JWT', typed, {}, 'type_unsupported', { typ: 'JWT' }],
    ['the typ of any JWT in full', typed, {}, 'type_unsupported', { typ: 'application/jwt' }],
  ] as const)
    test(`${want === 'accepted' ? 'accepts' : 'refuses'} ${name}`, async () =>
      expect(await setUp(options).outcomeOf(mint(claims, header))).toBe(want));
});
