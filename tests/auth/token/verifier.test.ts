import { describe, expect, test } from 'bun:test';
import { generateKeyPair } from 'jose';
import { Refusal, refuse } from '../../../src/auth/refusals.ts';
import type { Verdict, VerifierOptions } from '../../../src/auth/token/verifier.ts';
import { crowdedKeySet } from '../../http/table/key-set.ts';
import { faultsBeforeKeys, tokenFaults, tokenTextOf } from '../../http/table/token-faults.ts';
import { createIssuers } from '../../support/issuers.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../../support/mint.ts';

const issuer = 'https://issuer.example.test/';
const frozenSeconds = 2_000_000_000;

function setUp(options: Partial<VerifierOptions> = {}) {
  const keys = { [issuer]: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] };
  const { verifier } = createIssuers(keys, ['RS256'], { now: () => fixture.now * 1000, ...options });
  const fixture = { ...verifier, now: frozenSeconds };
  return fixture;
}

const mint = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  mintToken(issuer, { header, claims: { iat: frozenSeconds, exp: frozenSeconds + 300, ...claims } });

const refusalOf = (verdict: Verdict) => (verdict instanceof Refusal ? verdict.reason : 'accepted');

describe('createVerifier()', () => {
  test('verifies a token once, then returns the same object at once while it is cached', async () => {
    const fixture = setUp();
    const token = mint();
    const first = await fixture.verify(token);
    expect(fixture.verify(`${token}`)).toBe(first);
    expect(fixture.state().cacheHits).toBe(1);
  });

  const [exp, nbf] = [{ exp: 1000 }, { nbf: 1000, exp: 2000 }];
  const times: readonly (readonly [
    claims: { exp: number; nbf?: number; iat?: undefined },
    at: number,
    tolerance: number,
    want: string,
  ])[] = [
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
  for (const [claims, at, tolerance, want] of times) {
    for (const cached of [false, true]) {
      test(`${JSON.stringify(claims)} at ${at} give or take ${tolerance}, ${cached ? 'remembered' : 'new'}: ${want}`, async () => {
        const fixture = setUp({ clockToleranceSeconds: tolerance });
        const token = mint({ iat: 1, ...claims });
        if (cached) {
          fixture.now = claims.nbf === undefined ? 999 : 1001;
          expect(refusalOf(await fixture.verify(token))).toBe('accepted');
        }
        fixture.now = at;
        expect(refusalOf(await fixture.verify(token))).toBe(want);
        expect(fixture.state().cacheHits).toBe(cached ? 1 : 0);
      });
    }
  }

  test('accepts no token that only resembles a cached one (CVE-2026-35039)', async () => {
    const { verify } = setUp();
    const token = mint();
    await verify(token);
    const letters = 'AQgw_';
    for (const [at, letter] of [...token].entries()) {
      const other = letters.charAt((letters.indexOf(letter) + 1) % letters.length);
      expect({ at, verdict: await verify(token.slice(0, at) + other + token.slice(at + 1)) }).toEqual({
        at,
        verdict: expect.any(Refusal),
      });
    }
    for (const other of [
      `${token}A`,
      `${token}.`,
      `A${token}`,
      token.slice(0, -1),
      token.slice(1),
      token.toLowerCase(),
    ])
      expect(await verify(other)).toBeInstanceOf(Refusal);
  });

  test('gives each of two cached tokens its own claims (CVE-2026-35039)', async () => {
    const fixture = setUp();
    for (const sub of ['alice', 'bob', 'alice', 'bob'])
      expect(await fixture.verify(mint({ sub, jti: 'the same' }))).toMatchObject({ claims: { sub } });
    expect(fixture.state().cacheHits).toBe(2);
  });

  test('caches no rejected tokens', async () => {
    const { verify, state } = setUp();
    await verify(mint({ exp: frozenSeconds - 1 }));
    await verify(mint({ aud: 'other' }));
    await verify(mintToken(issuer, { key: rsaKey('stranger') }));
    await verify('garbage');
    expect(state().cacheEntries).toBe(0);
  });

  test('caches at most tokenCacheSize tokens, and none if it is 0', async () => {
    for (const tokenCacheSize of [0, 2]) {
      const { verify, state } = setUp({ tokenCacheSize });
      for (const jti of ['a', 'b', 'c']) await verify(mint({ jti }));
      expect(state().cacheEntries).toBe(tokenCacheSize);
    }
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

  for (const tokenCacheSize of [0, 1]) {
    test(`freezes the claims deeply with a cache of ${tokenCacheSize}`, async () => {
      const { verify } = setUp({ tokenCacheSize });
      const verdict = await verify(mint({ org: { roles: ['admin'] } }));
      if (verdict instanceof Refusal) throw new Error(verdict.reason);
      const { org } = verdict.claims as { org?: { roles: string[] } };
      expect(() => org?.roles.push('root')).toThrow(TypeError);
      expect(() => Object.assign(verdict.claims, { scope: 'all' })).toThrow(TypeError);
    });
  }

  test('treats a defective key set or an unsuitable key neither as an outage nor as an invalid token', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const key = { algorithm: 'RS256', identity: 'private', cryptoKey: privateKey, isCurrent: true } as const;
    const defective = () => {
      throw new TypeError('a defect');
    };
    for (const find of [defective, () => [key]]) {
      const { verify } = setUp({ keySets: new Map([[issuer, { find, isCurrent: () => true }]]) });
      await expect(Promise.resolve(verify(mint()))).rejects.toBeInstanceOf(TypeError);
    }
  });

  for (const { name, reason, token } of tokenFaults) {
    const isBeforeKeys = faultsBeforeKeys.some((fault) => fault.name === name && fault.reason === reason);
    test(`refuses a token with ${name}: ${reason}${isBeforeKeys ? ', at once and without asking for a key' : ''}`, async () => {
      const { verifier, states } = createIssuers({ [issuer]: crowdedKeySet() });
      const verdict = verifier.verify(tokenTextOf(token, issuer));
      expect(isBeforeKeys ? verdict : await verdict).toBe(refuse(reason));
      expect(states[issuer]?.fetches).toBe(isBeforeKeys ? 0 : 1);
    });
  }

  test('refuses a token with white space inside, which no header has', async () => {
    expect(setUp().verify(mint().replace('.', '.\n'))).toBe(refuse('token_malformed'));
  });

  for (const [name, options, overrides, want] of [
    ['the claim that is used in place of aud', { audienceClaim: 'azp' }, { aud: undefined, azp: AUDIENCE }, 'accepted'],
    ['another claim than that', { audienceClaim: 'azp' }, { aud: undefined, client_id: AUDIENCE }, 'audience_mismatch'],
    ['that claim and another aud', { audienceClaim: 'azp' }, { aud: 'other', azp: AUDIENCE }, 'audience_mismatch'],
    ['that claim beside an aud of null', { audienceClaim: 'azp' }, { aud: null, azp: AUDIENCE }, 'audience_mismatch'],
    ['that claim beside an empty aud', { audienceClaim: 'azp' }, { aud: [], azp: AUDIENCE }, 'audience_mismatch'],
    ['a required claim', { requiredClaims: { tid: 't' } }, { tid: 't' }, 'accepted'],
    ['another value of it', { requiredClaims: { tid: 't' } }, { tid: 'T' }, 'required_claim_mismatch'],
    ['a list with it', { requiredClaims: { tid: 't' } }, { tid: ['t'] }, 'required_claim_mismatch'],
    ['no required claim', { requiredClaims: { tid: 't' } }, {}, 'required_claim_mismatch'],
    ['one of two required claims', { requiredClaims: { tid: 't', org: 'o' } }, { tid: 't' }, 'required_claim_mismatch'],
    ['no required claim, expired', { requiredClaims: { tid: 't' } }, { exp: 1 }, 'required_claim_mismatch'],
  ] as const) {
    test(`${want === 'accepted' ? 'accepts' : 'refuses'} ${name}`, async () => {
      const { verify } = setUp(options);
      expect(refusalOf(await verify(mint(overrides)))).toBe(want);
    });
  }

  for (const [tokenType, typ, want] of [
    ['jwt', undefined, 'accepted'],
    ['jwt', 'application/jwt', 'accepted'],
    ['jwt', 'at+jwt', 'accepted'],
    ['at+jwt', 'at+jwt', 'accepted'],
    ['at+jwt', 'Application/AT+JWT', 'accepted'],
    ['at+jwt', undefined, 'type_unsupported'],
    ['at+jwt', 'JWT', 'type_unsupported'],
    ['at+jwt', 'application/jwt', 'type_unsupported'],
  ] as const) {
    test(`${want === 'accepted' ? 'accepts' : 'refuses'} the typ ${typ} with the token type ${tokenType}`, async () => {
      const { verify } = setUp({ tokenType });
      expect(refusalOf(await verify(mint({}, { typ })))).toBe(want);
    });
  }
});
