import { describe, expect, test } from 'bun:test';
import { generateKeyPair } from 'jose';
import type { KeySet, VerificationKey } from '../../../src/auth/keys/key-set.ts';
import { Refusal, type RefusalReason, refuse } from '../../../src/auth/refusals.ts';
import { createVerifier, type Verdict, type VerifierOptions } from '../../../src/auth/token/verifier.ts';
import { faultyHeaders } from '../../http/table/token-header.ts';
import { overridesOf } from '../../http/table/token-rows.ts';
import { faultySpellings } from '../../http/table/token-spelling.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../../support/mint.ts';

const issuer = 'https://issuer.example.test/';
const frozenSeconds = 2_000_000_000;

/** A key whose place in the set the test decides. */
async function importVerificationKey(name: string) {
  const jwk = publish(rsaKey(name), name) as Record<string, string>;
  const parameters = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
  const cryptoKey = await crypto.subtle.importKey('jwk', jwk, parameters, false, ['verify']);
  return { algorithm: 'RS256' as const, identity: name, cryptoKey, isCurrent: true };
}

interface Fixture {
  verify(token: string): Verdict | Promise<Verdict>;
  cacheHits(): number;
  cacheEntries(): number;
  readonly key: { isCurrent: boolean };
  now: number;
  /** How often the key set was asked. */
  lookUps: number;
}

type Find = KeySet['find'];

async function setUp({
  extraKeys = [],
  find,
  ...options
}: Partial<VerifierOptions> & { extraKeys?: VerificationKey[]; find?: Find } = {}): Promise<Fixture> {
  const key = await importVerificationKey(SIGNING_KID);
  const findKey: Find = (kid) => {
    fixture.lookUps += 1;
    return kid === SIGNING_KID && key.isCurrent ? [...extraKeys, key] : [];
  };
  const isCurrent = (known: VerificationKey) => known.isCurrent;
  const verifier = createVerifier({
    issuer: [issuer],
    audience: [AUDIENCE],
    audienceClaim: 'aud',
    requiredClaims: {},
    algorithms: ['RS256'],
    keySets: new Map([[issuer, { find: find ?? findKey, isCurrent }]]),
    clockToleranceSeconds: 0,
    tokenCacheSize: 100,
    now: () => fixture.now * 1000,
    ...options,
  });
  const fixture: Fixture = {
    verify: (token) => verifier.verify(token),
    cacheHits: () => verifier.state().cacheHits,
    cacheEntries: () => verifier.state().cacheEntries,
    key,
    now: frozenSeconds,
    lookUps: 0,
  };
  return fixture;
}

const mint = (claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) =>
  mintToken(issuer, { header, claims: { iat: frozenSeconds, exp: frozenSeconds + 300, ...claims } });

const refusalOf = (verdict: Verdict) => (verdict instanceof Refusal ? verdict.reason : 'accepted');

describe('createVerifier()', () => {
  test('verifies a token once, then returns the same object at once while it is cached', async () => {
    const fixture = await setUp();
    const token = mint();
    const first = await fixture.verify(token);
    expect(fixture.verify(`${token}`)).toBe(first);
    expect(fixture.cacheHits()).toBe(1);
    expect(fixture.lookUps).toBe(1);
  });

  const times: readonly {
    name: string;
    claims: Record<string, unknown>;
    at: number;
    tolerance?: number;
    want: string;
  }[] = [
    { name: 'accepts a second before exp', claims: { exp: 1000 }, at: 999, want: 'accepted' },
    { name: 'accepts half a second before exp', claims: { exp: 1000 }, at: 999.5, want: 'accepted' },
    { name: 'refuses at exp', claims: { exp: 1000 }, at: 1000, want: 'token_expired' },
    {
      name: 'refuses a quarter of a second past a fractional exp',
      claims: { exp: 1000.25 },
      at: 1000.5,
      want: 'token_expired',
    },
    { name: 'refuses half a second past exp', claims: { exp: 1000 }, at: 1000.5, want: 'token_expired' },
    { name: 'accepts within the tolerance of exp', claims: { exp: 1000 }, at: 1029, tolerance: 30, want: 'accepted' },
    {
      name: 'refuses at the end of the tolerance of exp',
      claims: { exp: 1000 },
      at: 1030,
      tolerance: 30,
      want: 'token_expired',
    },
    { name: 'refuses a second before nbf', claims: { nbf: 1000, exp: 2000 }, at: 999, want: 'token_not_yet_valid' },
    {
      name: 'refuses a tenth of a second before a fractional nbf',
      claims: { nbf: 1000.5, exp: 2000 },
      at: 1000.4,
      want: 'token_not_yet_valid',
    },
    { name: 'accepts past a fractional nbf', claims: { nbf: 1000.5, exp: 2000 }, at: 1000.9, want: 'accepted' },
    { name: 'accepts at nbf', claims: { nbf: 1000, exp: 2000 }, at: 1000, want: 'accepted' },
    {
      name: 'accepts within the tolerance of nbf',
      claims: { nbf: 1000, exp: 2000 },
      at: 970,
      tolerance: 30,
      want: 'accepted',
    },
    {
      name: 'refuses before the tolerance of nbf',
      claims: { nbf: 1000, exp: 2000 },
      at: 969,
      tolerance: 30,
      want: 'token_not_yet_valid',
    },
  ];
  for (const { name, claims, at, tolerance = 0, want } of times) {
    for (const cached of [false, true]) {
      test(`${name}, ${cached ? 'remembered' : 'seen for the first time'}`, async () => {
        const fixture = await setUp({ clockToleranceSeconds: tolerance });
        const token = mint({ iat: 1, ...claims });
        if (cached) {
          fixture.now = claims.nbf === undefined ? 999 : 1001;
          expect(refusalOf(await fixture.verify(token))).toBe('accepted');
        }
        fixture.now = at;
        expect(refusalOf(await fixture.verify(token))).toBe(want);
        expect(fixture.cacheHits()).toBe(cached ? 1 : 0);
      });
    }
  }

  test('rejects a cached token once its key is no longer current', async () => {
    const fixture = await setUp();
    const token = mint();
    expect(refusalOf(await fixture.verify(token))).toBe('accepted');
    fixture.key.isCurrent = false;
    expect(refusalOf(await fixture.verify(token))).toBe('key_unknown');
  });

  test('does not treat a token as a cached one that differs in its last character', async () => {
    const { verify } = await setUp();
    const token = mint();
    await verify(token);
    const altered = `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`;
    expect(refusalOf(await verify(altered))).toBe('signature_invalid');
  });

  test('caches no rejected tokens', async () => {
    const { verify, cacheEntries } = await setUp();
    await verify(mint({ exp: frozenSeconds - 1 }));
    await verify(mint({ aud: 'other' }));
    await verify(mintToken(issuer, { key: rsaKey('stranger') }));
    await verify('garbage');
    expect(cacheEntries()).toBe(0);
  });

  test('caches at most tokenCacheSize tokens, and none if it is 0', async () => {
    for (const tokenCacheSize of [0, 2]) {
      const { verify, cacheEntries } = await setUp({ tokenCacheSize });
      for (const jti of ['a', 'b', 'c']) await verify(mint({ jti }));
      expect(cacheEntries()).toBe(tokenCacheSize);
    }
  });

  test('keeps a good token in a full cache, and replaces one that has expired', async () => {
    const fixture = await setUp({ tokenCacheSize: 1, random: () => 0.99 });
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
      const { verify } = await setUp({ tokenCacheSize });
      const verdict = await verify(mint({ org: { roles: ['admin'] } }));
      if (verdict instanceof Refusal) throw new Error(verdict.reason);
      const { org } = verdict.claims as { org?: { roles: string[] } };
      expect(() => org?.roles.push('root')).toThrow(TypeError);
      expect(() => Object.assign(verdict.claims, { scope: 'all' })).toThrow(TypeError);
    });
  }

  test('treats a defective key set or an unsuitable key neither as an outage nor as an invalid token', async () => {
    const { privateKey } = await generateKeyPair('RS256');
    const finds: Find[] = [
      () => {
        throw new TypeError('a defect');
      },
      () => [{ algorithm: 'RS256', identity: 'private', cryptoKey: privateKey, isCurrent: true }],
    ];
    for (const find of finds) {
      const { verify } = await setUp({ find });
      await expect(Promise.resolve(verify(mint()))).rejects.toBeInstanceOf(TypeError);
    }
  });

  test('tries each key under a kid', async () => {
    const { verify } = await setUp({ extraKeys: [await importVerificationKey('twin')] });
    expect(refusalOf(await verify(mint()))).toBe('accepted');
    expect(refusalOf(await verify(mintToken(issuer, { key: rsaKey('stranger') })))).toBe('signature_invalid');
  });

  const gate: readonly { name: string; token: string; want: RefusalReason }[] = [
    ...[...faultyHeaders, ...faultySpellings].map((row) => ({
      name: `with ${row.name}`,
      token: mintToken(issuer, overridesOf(row, issuer)),
      want: row.reason ?? ('token_malformed' as const),
    })),
    { name: 'longer than 8192 characters', token: 'a'.repeat(8193), want: 'token_oversized' },
    { name: 'with white space inside', token: mint().replace('.', '.\n'), want: 'token_malformed' },
    ...[undefined, 'none', 'rs256'].map((alg) => ({
      name: `with alg ${alg}`,
      token: mint({}, { alg }),
      want: 'algorithm_unsupported' as const,
    })),
    { name: 'with crit', token: mint({}, { crit: [] }), want: 'critical_header' },
    ...[undefined, '', 1].map((kid) => ({
      name: `with kid ${JSON.stringify(kid)}`,
      token: mint({}, { kid }),
      want: 'key_id_missing' as const,
    })),
  ];
  for (const { name, token, want } of gate) {
    test(`refuses a token ${name} at once, without asking for a key`, async () => {
      const fixture = await setUp();
      const verdict = fixture.verify(token);
      expect(verdict).toBe(refuse(want));
      expect(fixture.lookUps).toBe(0);
    });
  }

  const claims: readonly {
    name: string;
    overrides: Record<string, unknown> | { payloadText: string };
    want: string;
  }[] = [
    { name: 'an nbf of null', overrides: { nbf: null }, want: 'claims_malformed' },
    { name: 'another issuer', overrides: { iss: 'https://issuer.example.test' }, want: 'issuer_mismatch' },
    { name: 'a list of issuers', overrides: { iss: [issuer] }, want: 'issuer_mismatch' },
    { name: 'no issuer', overrides: { iss: undefined }, want: 'issuer_mismatch' },
    { name: 'an audience with one slash more', overrides: { aud: `${AUDIENCE}/` }, want: 'audience_mismatch' },
    { name: 'an audience with one slash less', overrides: { aud: AUDIENCE.slice(0, -1) }, want: 'audience_mismatch' },
    { name: 'no audience', overrides: { aud: undefined }, want: 'audience_mismatch' },
    { name: 'an empty list of audiences', overrides: { aud: [] }, want: 'audience_mismatch' },
    { name: 'an audience beside a number', overrides: { aud: [AUDIENCE, 1] }, want: 'audience_mismatch' },
    { name: 'an audience nested in a list', overrides: { aud: [[AUDIENCE]] }, want: 'audience_mismatch' },
    { name: 'another issuer and another audience', overrides: { iss: 'x', aud: 'y' }, want: 'issuer_mismatch' },
    {
      name: 'an audience beside a number on an expired token',
      overrides: { aud: [AUDIENCE, 1], exp: 1 },
      want: 'audience_mismatch',
    },
    { name: 'a cnf', overrides: { cnf: {} }, want: 'token_bound' },
    { name: 'no exp', overrides: { exp: undefined }, want: 'claims_malformed' },
    { name: 'an exp of text', overrides: { exp: '9999999999' }, want: 'claims_malformed' },
    { name: 'an exp of 0', overrides: { exp: 0 }, want: 'token_expired' },
    { name: 'a negative exp', overrides: { exp: -1 }, want: 'token_expired' },
    { name: 'an nbf of text', overrides: { nbf: '1' }, want: 'claims_malformed' },
  ];
  for (const { name, overrides, want } of claims) {
    test(`${want === 'accepted' ? 'accepts' : 'refuses'} ${name}`, async () => {
      const { verify } = await setUp();
      expect(refusalOf(await verify(mint(overrides)))).toBe(want);
    });
  }

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
      const { verify } = await setUp(options);
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
      const { verify } = await setUp({ tokenType });
      expect(refusalOf(await verify(mint({}, { typ })))).toBe(want);
    });
  }

  for (const [exp, nbf] of [
    ['1e400', '0'],
    ['-1e400', '0'],
    ['9999999999', '-1e400'],
  ]) {
    test(`refuses an exp of ${exp} with an nbf of ${nbf}`, async () => {
      const { verify } = await setUp();
      const payloadText = `{"iss":"${issuer}","aud":"${AUDIENCE}","exp":${exp},"nbf":${nbf}}`;
      expect(refusalOf(await verify(mintToken(issuer, { payloadText })))).toBe('claims_malformed');
    });
  }

  for (const payloadText of [
    `\ufeff{"iss":"${issuer}","aud":"${AUDIENCE}","exp":9999999999}`,
    '[]',
    'null',
    '',
    '{"a":1}{',
  ]) {
    test(`refuses the payload ${JSON.stringify(payloadText)}`, async () => {
      const { verify } = await setUp();
      const want = payloadText === '' ? 'token_malformed' : 'claims_malformed';
      expect(refusalOf(await verify(mintToken(issuer, { payloadText })))).toBe(want);
    });
  }

  test('reports an invalid signature before any fault of the claims', async () => {
    const { verify } = await setUp();
    const token = mintToken(issuer, { key: rsaKey('stranger'), claims: { exp: 1, aud: 'other' } });
    expect(refusalOf(await verify(token))).toBe('signature_invalid');
  });
});
