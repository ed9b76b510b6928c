import { describe, expect, test } from 'bun:test';
import { generateKeyPair } from 'jose';
import { checkOptions } from '../../../src/auth/options/check-options.ts';
import { createTrusts } from '../../../src/auth/token/trust.ts';
import { createVerifier } from '../../../src/auth/token/verifier.ts';
import type { GuardOptions } from '../../../src/auth/types.ts';
import { isPromise } from '../../../src/auth/values/promises.ts';
import { createTimeLimit } from '../../../src/auth/values/time-limit.ts';
import { createChecker, ISSUER, offline, publishedBy, tokenOf } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { crowdedKeySet, publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, bearer, mintToken, SIGNING_KID } from '../../support/mint.ts';
import { acceptedByKeys, acceptedTokens, tokenFaults, tokenTextOf } from '../../support/token-faults.ts';

const frozenSeconds = 2_000_000_000;

/** Returns a guard with its own time, whose random numbers admit no new token to a full cache. */
function setUp(options: Partial<GuardOptions> = {}) {
  const time = { now: frozenSeconds };
  const check = createChecker(options, { now: () => time.now * 1000, random: () => 0.99 });
  const outcomeOf = async (token: string) => (await check(token)).reason ?? 'accepted';
  return { time, check, outcomeOf, state: check.core.state };
}

const mint = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  tokenOf({ header, claims: { iat: frozenSeconds, exp: frozenSeconds + 300, ...claims } });

describe('createGuard().check()', () => {
  test('returns the same claims for a token while it is cached, but not for a similar token (CVE-2026-35039)', async () => {
    const { check, outcomeOf, state } = setUp();
    const claimsOf = async (token: string) => ((await check(token)).result as { claims?: unknown }).claims;
    for (const sub of ['alice', 'bob']) {
      const token = mint({ sub, jti: 'the same' });
      const first = await claimsOf(token);
      expect(first).toMatchObject({ sub });
      expect(await claimsOf(token)).toBe(first);
      for (const other of [`${token},${token}`, `${token}A`, `${token}.`, `A${token}`, token.slice(0, -1)])
        expect(await outcomeOf(other)).not.toBe('accepted');
    }
    expect(state().cacheHits).toBe(2);
  });

  test.each([
    [100, 'token_expired'],
    [-100, 'token_not_yet_valid'],
  ])(
    'names the same of two faults of time, %p seconds later, whether a token is cached or new',
    async (later, want) => {
      const token = mint({ exp: frozenSeconds + 60, nbf: frozenSeconds });
      const [cached, other] = [setUp({ maxTokenAgeSeconds: 60 }), setUp({ maxTokenAgeSeconds: 60 })];
      expect(await cached.outcomeOf(token)).toBe('accepted');
      for (const { time } of [cached, other]) time.now += later;
      expect([await cached.outcomeOf(token), await other.outcomeOf(token)]).toEqual([want, want]);
      expect([cached, other].map(({ state }) => state().cacheHits)).toEqual([1, 0]);
    },
  );

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
  const issued = { iat: 900, exp: 5000 };
  const ages: typeof times = [
    [issued, 1000, 0, 'accepted'],
    [issued, 1000.5, 0, 'token_too_old'],
    [issued, 1030, 30, 'accepted'],
    [issued, 1031, 30, 'token_too_old'],
    [{ ...issued, exp: 1001 }, 1001, 0, 'token_expired'],
  ];
  const limits = [...times.map((row) => [...row, undefined] as const), ...ages.map((row) => [...row, 100] as const)];
  for (const [claims, at, tolerance, want, maxTokenAgeSeconds] of limits)
    for (const cached of [false, true])
      test(`${JSON.stringify(claims)} at ${at} give or take ${tolerance}, no older than ${maxTokenAgeSeconds}, ${cached ? 'remembered' : 'new'}: ${want}`, async () => {
        const { time, outcomeOf, state } = setUp({ clockToleranceSeconds: tolerance, maxTokenAgeSeconds });
        const token = mint({ iat: 1, ...claims });
        if (cached) {
          time.now = claims.nbf === undefined ? 999 : 1001;
          expect(await outcomeOf(token)).toBe('accepted');
        }
        time.now = at;
        expect(await outcomeOf(token)).toBe(want);
        expect(state().cacheHits).toBe(cached ? 1 : 0);
      });

  test.each([
    ['no iat', undefined, 'token_too_old'],
    ['iat in milliseconds', 1_000_000, 'token_too_old'],
    ['iat as far ahead as it may be old', 1100, 'accepted'],
    ['iat further ahead', 1101, 'token_too_old'],
  ])('no older than 100 seconds, %s: %p is %s', async (_, iat, want) => {
    const { time, outcomeOf } = setUp({ maxTokenAgeSeconds: 100 });
    time.now = 1000;
    expect(await outcomeOf(mint({ iat, exp: 5000 }))).toBe(want);
  });

  test('keeps a good token in a full cache, and replaces one that has expired', async () => {
    const { time, outcomeOf, state } = setUp({ tokenCacheSize: 1 });
    const [first, second] = [mint({ exp: frozenSeconds + 1 }), mint({ jti: 'second' })];
    for (const token of [first, second, first]) expect(await outcomeOf(token)).toBe('accepted');
    expect(state()).toMatchObject({ cacheEntries: 1, cacheHits: 1 });
    time.now += 1;
    for (const token of [second, second]) expect(await outcomeOf(token)).toBe('accepted');
    expect(state()).toMatchObject({ cacheEntries: 1, cacheHits: 2 });
  });

  for (const tokenCacheSize of [0, 1])
    test(`freezes the claims deeply, with a cache of ${tokenCacheSize}`, async () => {
      const { result } = await setUp({ tokenCacheSize }).check(mint({ org: { roles: ['admin'] } }));
      const { claims } = result as unknown as { claims: { org: { roles: unknown } } };
      expect([claims, claims.org, claims.org.roles].filter(Object.isFrozen)).toBeArrayOfSize(3);
    });

  // Bound tokens are verified first, and then cached.
  for (const { name, reason, token, isBeforeKeys } of tokenFaults)
    test(`rejects a token with ${name}: ${reason}${isBeforeKeys ? ', at once, without a key lookup' : ''}`, async () => {
      const { options, asked } = publishedBy({ [ISSUER]: crowdedKeySet() });
      const check = createChecker(options);
      const { decide, readRequirements, state } = check.core;
      const text = tokenTextOf(token, ISSUER);
      const decision = decide(new Request(ISSUER, { headers: bearer(text) }), readRequirements({}));
      expect(isPromise(decision)).toBe(!isBeforeKeys);
      expect((await check(text)).reason).toBe(reason);
      // The fetch for the first request was due, and an unknown kid or a bad signature causes one more.
      const isAboutKeys = reason === 'key_unknown' || reason === 'signature_invalid';
      expect(asked).toBeArrayOfSize(isBeforeKeys ? 0 : isAboutKeys ? 2 : 1);
      expect(state().cacheEntries).toBe(reason === 'token_bound' ? 1 : 0);
    });

  test.each([...acceptedTokens, ...acceptedByKeys])('accepts a token with %s', async (_, token) => {
    const check = createChecker(publishedBy({ [ISSUER]: crowdedKeySet() }).options);
    expect((await check(tokenTextOf(token, ISSUER))).reason).toBeUndefined();
  });

  const [azp, tid] = [{ audienceClaim: 'azp' }, { requiredClaims: { tid: 't' } }];
  const typed = { tokenType: 'at+jwt' } as const;
  for (const [name, options, claims, want, header = { typ: 'at+jwt' }] of [
    ['the claim that is used in place of aud', azp, { aud: undefined, azp: AUDIENCE }, 'accepted'],
    ['another claim than that', azp, { aud: undefined, client_id: AUDIENCE }, 'audience_mismatch'],
    ['that claim and another aud', azp, { aud: 'other', azp: AUDIENCE }, 'audience_mismatch'],
    ['that claim beside an empty aud', azp, { aud: [], azp: AUDIENCE }, 'audience_mismatch'],
    ['a required claim', tid, { tid: 't' }, 'accepted'],
    ['another value of the claim', tid, { tid: 'T' }, 'required_claim_mismatch'],
    ['no required claim, expired', tid, { exp: 1 }, 'required_claim_mismatch'],
    ['one of two required claims', { requiredClaims: { tid: 't', org: 'o' } }, { tid: 't' }, 'required_claim_mismatch'],
    ['the required typ', typed, {}, 'accepted'],
    ['the required typ in full, in other letters', typed, {}, 'accepted', { typ: 'Application/AT+JWT' }],
    ['no typ', typed, {}, 'type_unsupported', { typ: undefined }],
    ['the typ of any JWT', typed, {}, 'type_unsupported', { typ: 'JWT' }],
    ['the typ of any JWT in full', typed, {}, 'type_unsupported', { typ: 'application/jwt' }],
  ] as const)
    test(`${want === 'accepted' ? 'accepts' : 'rejects'} ${name}`, async () =>
      expect(await setUp(options).outcomeOf(mint(claims, header))).toBe(want));
});

const A = 'https://a.example.test/';
const B = 'https://b.example.test';
const keyOf = (name: string, kid = SIGNING_KID) => publish(rsaKey(name), kid);
const signedBy = (name: string, kid = SIGNING_KID, issuer = A) =>
  mintToken(issuer, { header: { kid }, key: rsaKey(name) });

/** Returns a guard for both issuers, and what A publishes from the next fetch on. */
function setUpBoth(ofA: string, ofB: string) {
  const keys: Record<string, readonly unknown[] | Error> = { [A]: [keyOf(ofA)], [B]: [keyOf(ofB)] };
  const clock = createFrozenClock();
  const { options, asked } = publishedBy(keys);
  const check = createChecker({ ...options, jwksMaxStaleSeconds: 600 }, { clock, random: () => 0 });
  const outcomeOf = async (token: string) => (await check(token)).reason ?? 'accepted';
  const republish = (published: readonly unknown[] | Error) => Object.assign(keys, { [A]: published });
  return { clock, outcomeOf, asked, republish, state: check.core.state };
}

describe('createGuard().check() with several issuers', () => {
  const strangers: readonly unknown[] = [
    ...['https://c.example.test/', A.slice(0, -1), `${B}/`, A.toUpperCase(), ` ${A}`, '', '__proto__'],
    ...[undefined, null, [A], { 0: A }, 7],
  ];
  for (const overrides of [...strangers.map((iss) => ({ claims: { iss, issuer: A } })), { payloadText: `["${A}"]` }])
    test(`rejects ${JSON.stringify(overrides)} with any signature, without a fetch`, async () => {
      const { outcomeOf, asked } = setUpBoth('a', 'b');
      expect(await outcomeOf(mintToken(A, { key: rsaKey('a'), ...overrides }))).toBe('issuer_mismatch');
      expect(asked).toEqual([]);
    });

  test.each([
    ['drops', keyOf('other', 'other'), 'key_unknown'],
    // CVE-2025-22149.
    ['replaces', keyOf('successor'), 'signature_invalid'],
  ])('forgets a cached token when its own issuer %s the key that the other keeps', async (_, left, outcome) => {
    const { clock, outcomeOf, republish, state } = setUpBoth('shared', 'shared');
    const [token, ofOther] = [signedBy('shared'), signedBy('shared', SIGNING_KID, B)];
    for (const each of [token, ofOther, token]) expect(await outcomeOf(each)).toBe('accepted');
    expect(state().cacheHits).toBe(1);

    republish([left]);
    clock.advance(30_000);
    expect(await outcomeOf(signedBy('shared', 'unknown'))).toBe('key_unknown');
    expect(await outcomeOf(token)).toBe(outcome);
    expect(await outcomeOf(ofOther)).toBe('accepted');
  });

  for (const pass of ['advance', 'pause'] as const)
    test(`rejects a cached token with keys that expired, when time does this: ${pass}`, async () => {
      const { clock, outcomeOf, asked, republish } = setUpBoth('a', 'b');
      const token = signedBy('a');
      expect(await outcomeOf(token)).toBe('accepted');
      republish(new Error('down'));
      for (const outcome of ['accepted', 'keys_unavailable']) {
        clock[pass](600_000);
        expect(await outcomeOf(token)).toBe(outcome);
      }
      expect(asked).not.toContain(B);
    });
});

test('createVerifier() treats a defective key set or an unsuitable key neither as an outage nor as an invalid token', async () => {
  const { privateKey } = await generateKeyPair('RS256');
  const key = { algorithm: 'RS256', identity: 'private', cryptoKey: privateKey, isCurrent: true } as const;
  for (const find of [() => Promise.reject(new TypeError('a defect')), () => [key]]) {
    const keySets = new Map([[ISSUER, { find, isCurrent: () => true, use: () => true, findOthers: async () => [] }]]);
    const options = checkOptions(offline());
    const trusts = createTrusts(new Map([[ISSUER, options]]), keySets);
    const environment = { withinLimit: createTimeLimit(createFrozenClock(), 1), now: Date.now, random: Math.random };
    const { verify } = createVerifier({ ...options, trusts, ...environment });
    await expect(Promise.resolve(verify(tokenOf()))).rejects.toBeInstanceOf(TypeError);
  }
});
