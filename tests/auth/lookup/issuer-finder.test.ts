import { afterAll, afterEach, describe, expect, spyOn, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import { createGuard, type FindIssuer, type GuardOptions, type IssuerOptions } from '../../../src/auth/index.ts';
import { createChecker } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey, signingKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, signingKeys, type TokenOverrides } from '../../support/mint.ts';

const a = 'https://a.example.test/';
const b = 'https://b.example.test/';
const keys = { keys: signingKeys() };
const tokenFrom = (iss: unknown, overrides: TokenOverrides = {}) =>
  mintToken(String(iss), { ...overrides, claims: { iss, ...overrides.claims } });

const elliptic = { keys: [publish(signingKey('ES256', SIGNING_KID), SIGNING_KID)] };
const signed = (iss: string) => tokenFrom(iss, { signedAs: 'ES256', header: { alg: 'ES256' } });
const partsOf = { RS256: tokenFrom(a).split('.'), ES256: signed(a).split('.') };
/** Returns a token of this name that its issuer has not signed. */
function forged(iss: string, algorithm: keyof typeof partsOf = 'RS256'): string {
  const [header, , signature] = partsOf[algorithm];
  return `${header}.${Buffer.from(JSON.stringify({ iss })).toString('base64url')}.${signature}`;
}

type Find = (iss: string, given: { readonly signal: AbortSignal }) => unknown;

/**
 * A guard with a function that knows the issuers in `tenants`, unless `by` is replaced. Each issuer publishes the same
 * keys.
 */
function setUp(options: Partial<GuardOptions> = {}) {
  const clock = createFrozenClock();
  const tenants = new Map<string, Partial<IssuerOptions> | undefined>([[a, {}]]);
  const asked: string[] = [];
  const fetched: string[] = [];
  const fake: { by: Find } = {
    by: async (iss) => (tenants.has(iss) && { issuer: iss, ...tenants.get(iss) }) || undefined,
  };
  const issuer = ((iss, given) => {
    asked.push(iss);
    return fake.by(iss, given);
  }) as FindIssuer;
  const fetch = async (url: string) => {
    fetched.push(url);
    return Response.json(keys);
  };
  const guarding = { issuer, keys: undefined, fetch, onKeySetEvent() {}, ...options };
  const check = createChecker(guarding, { clock, random: () => 0 });
  const reasonFor = async (iss: unknown, overrides?: TokenOverrides) => (await check(tokenFrom(iss, overrides))).reason;
  const known = () => check.core.state().issuers.map((each) => each.issuer);
  return { clock, tenants, asked, fetched, fake, guarding, check, core: check.core, reasonFor, known };
}

const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterEach(() => void warn.mockClear());
afterAll(() => void warn.mockRestore());

const long = (length: number) => `${a}${'x'.repeat(length - a.length - 1)}/`;
const thenable = (then: (done: (value: unknown) => void) => void) => Object.fromEntries([['then', then]]);
const secret = () => {
  throw new Error('secret');
};
const settle = () => new Promise((done) => setImmediate(done));

describe('a function as issuer', () => {
  test.each<[name: string, iss: unknown, overrides?: TokenOverrides]>([
    ['HS256', a, { header: { alg: 'HS256' } }],
    ['no kid', a, { header: { kid: undefined } }],
    ['another type', a, { header: { typ: 'dpop+jwt' } }],
    ['no iss', undefined],
    ['an iss that is no string', [a]],
    ['an iss with a space', 'a b'],
    ['an iss with a quote', `${a}"`],
    ['a template', 'https://a.example.test/{tenantid}/'],
    ['an issuer of many tenants', 'https://login.microsoftonline.com/common/v2.0'],
    ['an iss of 513 characters', long(513)],
  ])('is not asked about a token with %s', async (_, iss, overrides) => {
    const { asked, reasonFor } = setUp();
    expect(await reasonFor(iss, overrides)).toBeString();
    expect(asked).toEqual([]);
  });

  test('accepts tokens of the issuers that it knows, by the options of each', async () => {
    const { tenants, check, fetched, reasonFor, known } = setUp({ audience: 'other' });
    const es256 = { keys: [publish(rsaKey('b'), 'b')] };
    tenants.set(a, { audience: AUDIENCE, scopeClaim: ['scp'] }).set(long(512), { audience: AUDIENCE });
    tenants.set('http://tenant-b/?b', { keys: es256, audience: ['b'], requiredClaims: { tid: 't' } });
    const scopesOf = async (iss: string) => (await check(tokenFrom(iss, { claims: { scp: 'own' } }))).result;
    // The second time, the token is in the cache.
    for (let turn = 0; turn < 2; turn += 1) expect(await scopesOf(a)).toMatchObject({ scopes: ['own'] });
    expect(await scopesOf(long(512))).toMatchObject({ scopes: ['read:messages'] });
    const signed = { header: { kid: 'b' }, key: rsaKey('b') };
    const named = (overrides?: TokenOverrides) => reasonFor('http://tenant-b/?b', overrides);
    expect(await named({ ...signed, claims: { aud: 'b', tid: 't' } })).toBeUndefined();
    expect(await named({ ...signed, claims: { aud: 'b' } })).toBe('required_claim_mismatch');
    expect(await named()).toBe('key_unknown');
    expect(fetched).toEqual([`${a}.well-known/jwks.json`, `${long(512)}.well-known/jwks.json`]);
    expect(known()).toEqual(['http://tenant-b/?b', long(512), a]);
  });

  test.each([undefined, null])(
    'that returns %p rejects without a fetch or a signature check, and is asked once in a cooldown',
    async (nothing) => {
      const { clock, asked, fetched, tenants, fake, reasonFor, known } = setUp();
      const answer = fake.by;
      fake.by = async (iss, given) => (await answer(iss, given)) ?? nothing;
      const forged = { reshape: (token: string) => `${token.slice(0, -8)}AAAAAAAA` };
      expect([await reasonFor(b, forged), await reasonFor(b)]).toEqual(['issuer_mismatch', 'issuer_mismatch']);
      tenants.set(b, {});
      clock.advance(29_999);
      expect(await reasonFor(b)).toBe('issuer_mismatch');
      expect([asked, fetched, known()]).toEqual([[b], [], []]);
      clock.advance(1);
      expect(await reasonFor(b)).toBeUndefined();
      expect(warn.mock.calls).toEqual([]);
    },
  );

  test.each<[name: string, find: Find, message: RegExp]>([
    ['another issuer', () => ({ issuer: b }), /Its issuer must be the iss that was asked about/],
    [
      'the issuer as a URL would be normalized',
      () => ({ issuer: 'https://A.example.test:443/' }),
      /Its issuer must be/,
    ],
    ['a template that fits', () => ({ issuer: 'https://a.example.test/{tenantid}' }), /Its issuer must be/],
    ['an unknown member', () => ({ issuer: a, audiance: 'x' }), /audiance is not an option/],
    ['keys without a kid', () => ({ issuer: a, keys: { keys: [{ kty: 'RSA' }] } }), /must have a kid/],
    ['a name without keys', () => ({ issuer: a.replace('s', '') }), /With jwksUri or keys/],
    ['keys at a URL over http', () => ({ issuer: a, jwksUri: 'http://b.example.test/' }), /issuer must be/],
    ['introspect', () => ({ issuer: a, introspect: () => ({}) }), /introspect must be an option of the guard/],
    ['the iss itself', (iss) => iss, /It must be an object, or undefined/],
    [
      'an object that throws',
      () => ({
        issuer: a,
        get keys() {
          return secret();
        },
      }),
      /used\. Reading it threw Error\. Requests get a 503, unless an earlier result is kept$/,
    ],
    [
      'an object that throws nothing',
      () => ({
        issuer: a,
        get keys() {
          throw undefined;
        },
      }),
      /of the type undefined\. /,
    ],
    ['an exception', () => secret(), /issuer failed, or took longer than 5 seconds\. /],
    ['a rejected promise', () => Promise.reject(new Error('secret')), /issuer failed, or/],
    ['a thenable that throws', () => thenable(() => secret()), /issuer failed, or/],
  ])('that returns %s is a 503, with one warning', async (_, find, message) => {
    const { clock, fake, check, fetched, asked } = setUp();
    fake.by = find;
    const token = tokenFrom(a);
    const reason = async () => (await check(token)).reason;
    // A failure is remembered for two seconds, however many requests name the issuer.
    for (let turn = 0; turn < 300; turn += 1) expect(await reason()).toBe('issuer_unavailable');
    expect(asked).toEqual([a]);
    clock.pause(1_999);
    expect([await reason(), asked.length]).toEqual(['issuer_unavailable', 1]);
    clock.pause(1);
    expect([await reason(), asked.length]).toEqual(['issuer_unavailable', 2]);
    expect([warn.mock.calls, fetched]).toEqual([[[expect.stringMatching(message)]], []]);
  });

  test('that returns introspect does not compile, and beside that of the guard it is a 503 too', async () => {
    // @ts-expect-error: a token that is not a JWT names no issuer
    createGuard({ audience: AUDIENCE, issuer: async (issuer) => ({ issuer, introspect: () => ({ active: true }) }) });
    const { fake, reasonFor } = setUp({ introspect: () => ({ active: false }) });
    fake.by = (issuer) => ({ issuer, keys, introspect: () => ({ active: true }) });
    expect(await reasonFor(a)).toBe('issuer_unavailable');
    expect(warn.mock.calls).toMatchObject([[expect.stringMatching(/introspect must be an option of the guard/)]]);
  });

  const laterAnswers: readonly (readonly [name: string, answer: Find, outcome: string])[] = [
    ['knows the issuer still', (issuer) => ({ issuer }), 'accepted'],
    ['knows it no longer', () => undefined, 'issuer_mismatch'],
    ['fails', secret, 'issuer_unavailable'],
  ];
  for (const isStopped of [false, true])
    test.each(laterAnswers)(
      `whose answer expires while keys are awaited is a 503, with timers ${isStopped ? 'off' : 'on'}, and is asked again by the next request: one that %s`,
      async (_, answer, outcome) => {
        let publish = () => {};
        const published = new Promise<void>((done) => (publish = done));
        const fetch = async () => {
          await published;
          return Response.json(keys);
        };
        const times = { jwksMaxAgeSeconds: 2, jwksMaxStaleSeconds: 0, jwksCooldownSeconds: 1, jwksTimeoutSeconds: 60 };
        const { clock, core, fake, reasonFor } = setUp({ ...times, fetch });
        if (isStopped) core.stop();
        const waiting = reasonFor(a);
        await settle();
        fake.by = answer;
        clock.advance(2000);
        publish();
        expect(await waiting).toBe('issuer_unavailable');
        expect((await reasonFor(a)) ?? 'accepted').toBe(outcome);
      },
    );

  test('may return any thenable', async () => {
    const { fake, reasonFor } = setUp();
    fake.by = () => thenable((done) => done({ issuer: a, keys }));
    expect(await reasonFor(a)).toBeUndefined();
  });

  test('that is silent is a 503 after jwksTimeoutSeconds, and its signal is aborted', async () => {
    const { clock, fake, check } = setUp();
    let signal: AbortSignal | undefined;
    fake.by = (_, given) => new Promise(() => (signal = given.signal));
    const pending = check(tokenFrom(a));
    clock.advance(4_999);
    expect(signal?.aborted).toBe(false);
    clock.advance(1);
    const { result, reason } = await pending;
    expect([reason, signal?.aborted, warn.mock.calls.length]).toEqual(['issuer_unavailable', true, 1]);
    expect(result).toMatchObject({ status: 503 });
    expect(result instanceof Response && result.headers.get('retry-after')).toBe('1');
  });

  test('is asked once for all requests that wait, about 100 unknown names at a time, and about a known issuer still', async () => {
    const { clock, asked, fake, reasonFor } = setUp();
    await reasonFor(a);
    clock.pause(600_000);
    fake.by = (iss) => new Promise((done) => clock.schedule(() => done({ issuer: iss, keys }), 1000));
    const names = Array.from({ length: 101 }, (_, index) => `${b}${index}`);
    const pending = [...names, ...names.slice(0, 50), a].map((iss) => reasonFor(iss));
    await settle();
    expect(asked).toEqual([a, ...names.slice(0, 100), a]);
    clock.advance(1000);
    const found = await Promise.all(pending);
    expect(found.flatMap((reason, index) => (reason ? [[index, reason]] : []))).toEqual([[100, 'issuer_unavailable']]);
  });

  test('is asked anew if a question ended without an answer, with its request', async () => {
    const { clock, fake, reasonFor, asked } = setUp();
    const answer = fake.by;
    fake.by = () => new Promise(() => {});
    void reasonFor(a);
    clock.loseTimers();
    clock.pause(5_000);
    fake.by = answer;
    expect([await reasonFor(a), asked]).toEqual([undefined, [a, a]]);
  });

  test('is asked again after jwksMaxAgeSeconds: an issuer that is then unknown leaves with tokens, keys and timers', async () => {
    const { clock, asked, tenants, reasonFor, known, check } = setUp();
    const token = tokenFrom(a);
    await check(token);
    clock.pause(599_999);
    expect([(await check(token)).reason, asked.length]).toEqual([undefined, 1]);
    clock.pause(1);
    // Requests wait for the answer. The keys stay.
    expect([(await check(token)).reason, (await check(token)).reason, asked.length]).toEqual([undefined, undefined, 2]);
    tenants.clear();
    clock.pause(600_000);
    expect([(await check(token)).reason, await reasonFor(a)]).toEqual(['issuer_mismatch', 'issuer_mismatch']);
    expect([known(), asked.length, clock.waiting]).toEqual([[], 3, 0]);
  });

  test('is asked again without a request, unless the guard is stopped', async () => {
    const { clock, core, asked, tenants, reasonFor, known } = setUp();
    tenants.set(b, {});
    await reasonFor(a);
    core.stop();
    await reasonFor(b);
    expect(clock.waiting).toBe(0);
    tenants.clear();
    clock.advance(600_000);
    expect(asked.length).toBe(2);
    core.start();
    clock.advance(0);
    await settle();
    expect([known(), clock.waiting]).toEqual([[], 0]);
  });

  test('is refreshed by start() after stop(): the keys of issuers that are kept', async () => {
    const { clock, core, fetched, reasonFor } = setUp();
    await reasonFor(a);
    core.stop();
    core.start();
    clock.advance(600_000);
    await settle();
    expect(fetched.length).toBe(2);
  });

  test('is asked again by reload(), about every issuer that is kept, and unknown ones are tried again', async () => {
    const { core, tenants, reasonFor, known, check, fetched } = setUp();
    tenants.set(b, {});
    const tokens = [tokenFrom(a), tokenFrom(b)];
    for (const token of tokens) await check(token);
    await reasonFor(`${b}c/`);
    tenants.delete(a);
    tenants.set(`${b}c/`, {});
    fetched.length = 0;
    expect((await core.reload()).issuers.map(({ issuer }) => issuer)).toEqual([b]);
    expect(fetched).toEqual([`${b}.well-known/jwks.json`]);
    const reasons = await Promise.all(tokens.map(async (token) => (await check(token)).reason));
    expect([...reasons, await reasonFor(`${b}c/`)]).toEqual(['issuer_mismatch', undefined, undefined]);
    expect(known().length).toBe(2);
  });

  test.each([undefined, a])('reload(%p) does not believe an answer to a question that began before', async (only) => {
    const { clock, core, fake, reasonFor } = setUp();
    fake.by = (iss) => new Promise((done) => clock.schedule(() => done({ issuer: iss, keys }), 1000));
    const pending = reasonFor(a);
    const reloaded = core.reload(only);
    fake.by = () => undefined;
    clock.advance(1000);
    await reloaded;
    // The request waits for keys in the meantime.
    expect([await pending, await reasonFor(a)]).toEqual(['issuer_unavailable', 'issuer_mismatch']);
  });

  test('may fail for as long as keys stay trusted: its last answer is kept, and it is asked once in a cooldown', async () => {
    const { clock, core, asked, fake, reasonFor, check } = setUp({ jwksMaxStaleSeconds: 60, keys: undefined });
    const token = tokenFrom(a);
    fake.by = (iss) => ({ issuer: iss, keys });
    await check(token);
    fake.by = () => Promise.reject(new Error('down'));
    clock.pause(600_000);
    for (const ms of [0, 0, 29_999]) {
      clock.pause(ms);
      expect([(await check(token)).reason, asked.length]).toEqual([undefined, 2]);
    }
    clock.pause(1);
    // Requests do not wait for the next answers.
    fake.by = () => new Promise(() => {});
    expect([(await check(token)).reason, asked.length, warn.mock.calls.length]).toEqual([undefined, 3, 1]);
    // Nor do they verify cached tokens again.
    const [{ waiting }, { cacheHits }] = [clock, core.state()];
    expect([(await check(token)).reason, clock.waiting]).toEqual([undefined, waiting]);
    expect(core.state().cacheHits).toBe(cacheHits + 1);
    fake.by = () => Promise.reject(new Error('down'));
    clock.pause(30_000);
    expect([(await check(token)).reason, await reasonFor(a)]).toEqual(['issuer_unavailable', 'issuer_unavailable']);
  });

  test('may be silent: a question in the background is handed to waitUntil, and once it is lost, one request waits', async () => {
    const handed: unknown[] = [];
    const { clock, asked, fake, check } = setUp({ waitUntil: (promise) => handed.push(promise) });
    const token = tokenFrom(a);
    fake.by = (iss) => ({ issuer: iss, keys });
    await check(token);
    fake.by = secret;
    clock.pause(600_000);
    await check(token);
    clock.pause(30_000);
    // On Cloudflare Workers, the question ends with the request that asked it.
    fake.by = () => new Promise(() => {});
    expect((await check(token)).reason).toBeUndefined();
    clock.loseTimers();
    expect([asked.length, handed.length]).toEqual([3, 1]);
    clock.pause(4_999);
    expect((await check(token)).reason).toBeUndefined();
    expect(asked.length).toBe(3);
    clock.pause(1);
    let answer = (_: unknown) => {};
    fake.by = () => new Promise((done) => (answer = done));
    const waiting = check(token);
    await settle();
    // Others go on with the last answer.
    expect([(await check(token)).reason, asked.length, handed.length]).toEqual([undefined, 4, 1]);
    answer(undefined);
    expect((await waiting).reason).toBe('issuer_mismatch');
  });

  test('that returns a mistake when it is asked again ends what it returned before', async () => {
    const { clock, tenants, asked, check, reasonFor, known } = setUp();
    const token = tokenFrom(a);
    await check(token);
    tenants.set(a, { audience: [] });
    clock.pause(600_000);
    expect([(await check(token)).reason, known(), clock.waiting]).toEqual(['issuer_unavailable', [], 0]);
    tenants.set(a, {});
    clock.pause(2000);
    expect([await reasonFor(a), asked.length, warn.mock.calls.length]).toEqual([undefined, 3, 1]);
  });

  test('is asked again about all issuers that are kept, 100 at a time, without a request', async () => {
    const { clock, fake, reasonFor, known } = setUp();
    fake.by = (iss) => ({ issuer: iss, keys });
    for (let index = 0; index < 250; index += 1) await reasonFor(`${b}${index}`);
    fake.by = () => undefined;
    const left: number[] = [];
    for (const ms of [600_000, 2000, 2000]) {
      clock.advance(ms);
      await settle();
      left.push(known().length);
    }
    expect([left, clock.waiting]).toEqual([[150, 50, 0], 0]);
  });

  test('is not believed beyond jwksMaxStaleSeconds while it fails, however long the cooldown is', async () => {
    const { clock, fake, check } = setUp({ jwksMaxAgeSeconds: 1, jwksMaxStaleSeconds: 1, jwksCooldownSeconds: 2 });
    const token = tokenFrom(a);
    fake.by = (iss) => ({ issuer: iss, keys });
    await check(token);
    fake.by = () => Promise.reject(new Error('down'));
    clock.pause(1_000);
    expect((await check(token)).reason).toBeUndefined();
    clock.pause(999);
    expect((await check(token)).reason).toBeUndefined();
    clock.pause(1);
    for (let turn = 0; turn < 2; turn += 1) expect((await check(token)).reason).toBe('issuer_unavailable');
  });

  test('is not believed if it answers after its question was given up: a newer answer counts', async () => {
    const { clock, fake, reasonFor } = setUp();
    let answerLate = (_: unknown) => {};
    fake.by = () => new Promise((done) => (answerLate = done));
    const first = reasonFor(a);
    await settle();
    clock.loseTimers();
    clock.pause(5_000);
    fake.by = () => undefined;
    expect(await reasonFor(a)).toBe('issuer_mismatch');
    answerLate({ issuer: a, keys });
    expect([await first, await reasonFor(a)]).toEqual(['issuer_unavailable', 'issuer_mismatch']);
    // Nor does it end a later question that is pending.
    const other = setUp();
    other.fake.by = () => new Promise((done) => (answerLate = done));
    void other.reasonFor(a);
    await settle();
    other.clock.loseTimers();
    other.clock.pause(5_000);
    let answer = (_: unknown) => {};
    other.fake.by = () => new Promise((done) => (answer = done));
    const second = other.reasonFor(a);
    answerLate(undefined);
    await settle();
    const third = other.reasonFor(a);
    answer({ issuer: a, keys });
    expect([await second, await third, other.asked.length]).toEqual([undefined, undefined, 2]);
  });

  test('that fails during reload() shows in the state, until it can tell', async () => {
    const { clock, core, fake, reasonFor } = setUp();
    const answer = fake.by;
    await reasonFor(a);
    fake.by = secret;
    const failed = { failure: 'network', cause: 'issuer_unavailable' };
    expect((await core.reload()).issuers).toMatchObject([{ issuer: a, keys: 1, lastFailure: failed }]);
    fake.by = answer;
    clock.pause(30_000);
    expect(await reasonFor(a)).toBeUndefined();
    await settle();
    expect(core.state().issuers).toMatchObject([{ issuer: a, lastFailure: undefined }]);
  });

  test('is asked by reload(issuer) about this one only, even if it was unknown, displaced or failed', async () => {
    const { core, asked, fetched, fake, tenants, check, reasonFor, known } = setUp();
    tenants.set(b, {});
    for (const iss of [a, b, `${b}new/`]) await reasonFor(iss);
    const before = [asked.length, fetched.length];
    tenants.set(`${b}new/`, {});
    expect(await reasonFor(`${b}new/`)).toBe('issuer_mismatch');
    const { issuers } = await core.reload(`${b}new/`);
    const reloaded = issuers.find(({ issuer }) => issuer === `${b}new/`);
    expect(reloaded).toMatchObject({ keys: 1, lastFailure: undefined });
    expect([asked.slice(before[0]), fetched.slice(before[1])]).toEqual([
      [`${b}new/`],
      [`${b}new/.well-known/jwks.json`],
    ]);
    expect(await reasonFor(`${b}new/`)).toBeUndefined();
    const token = tokenFrom(b);
    await check(token);
    tenants.delete(b);
    await core.reload(b);
    expect([(await check(token)).reason, known().includes(b), known().includes(a)]).toEqual([
      'issuer_mismatch',
      false,
      true,
    ]);
    fake.by = secret;
    expect(await reasonFor(`${b}c/`)).toBe('issuer_unavailable');
    fake.by = (iss) => ({ issuer: iss, keys });
    await core.reload(`${b}c/`);
    expect(await reasonFor(`${b}c/`)).toBeUndefined();
    expect(core.reload('a b')).rejects.toThrow('Cannot reload an issuer: expected its iss');
    const listed = createChecker().core;
    expect((await listed.reload('https://issuer.example.test/')).issuers).toMatchObject([{ keys: 1 }]);
    expect(listed.reload(a)).rejects.toThrow('expected one of the option issuer');
  });

  test('leaves with an answer that expires while a lost question is waited for', async () => {
    const { clock, fake, reasonFor, known } = setUp({ jwksMaxStaleSeconds: 60 });
    await reasonFor(a);
    fake.by = () => new Promise(() => {});
    clock.pause(660_000);
    void reasonFor(a);
    await settle();
    clock.loseTimers();
    const waiting = reasonFor(a);
    await settle();
    expect(known()).toEqual([a]);
    clock.advance(5_000);
    expect([await waiting, known()]).toEqual(['issuer_unavailable', []]);
  });

  test('is asked again once 100 questions are lost, as on Cloudflare Workers with the requests that asked them', async () => {
    const { clock, fake, reasonFor } = setUp();
    fake.by = () => new Promise(() => {});
    for (let index = 0; index < 100; index += 1) void reasonFor(`${b}${index}`);
    await settle();
    clock.loseTimers();
    clock.pause(4_999);
    fake.by = (iss) => ({ issuer: iss, keys });
    expect(await reasonFor(a)).toBe('issuer_unavailable');
    clock.pause(1);
    expect(await reasonFor(a)).toBeUndefined();
  });

  test('lets requests wait for what reload() asks, so that none goes on with an issuer that is removed', async () => {
    const { clock, core, fake, check } = setUp();
    const token = tokenFrom(a);
    await check(token);
    fake.by = () => new Promise((done) => clock.schedule(() => done(undefined), 1000));
    void core.reload();
    await settle();
    const pending = check(token);
    clock.advance(1000);
    expect((await pending).reason).toBe('issuer_mismatch');
  });

  test('is warned of once in jwksMaxAgeSeconds', async () => {
    const { clock, fake, reasonFor } = setUp();
    fake.by = secret;
    const counts: number[] = [];
    for (const ms of [0, 599_999, 1]) {
      clock.pause(ms);
      await reasonFor(`${b}${ms}`);
      counts.push(warn.mock.calls.length);
    }
    expect(counts).toEqual([1, 1, 2]);
  });

  test('is asked by reload() about all issuers that are kept, 100 at a time', async () => {
    const { core, asked, fake, reasonFor } = setUp();
    fake.by = (iss) => ({ issuer: iss, keys });
    for (let index = 0; index < 150; index += 1) await reasonFor(`${b}${index}`);
    asked.length = 0;
    await core.reload();
    expect(asked.length).toBe(150);
  });

  test('reload(issuer) does not wait for an answer about another one', async () => {
    const { core, fake, reasonFor } = setUp();
    fake.by = (iss) => (iss === a ? new Promise(() => {}) : { issuer: iss, keys });
    void reasonFor(a);
    await settle();
    let isReloaded = false;
    void core.reload(b).then(() => {
      isReloaded = true;
    });
    for (let turn = 0; turn < 1000 && !isReloaded; turn += 1) await settle();
    expect(isReloaded).toBe(true);
  });

  test('is asked, and keys are fetched, once in a cooldown for each of more issuers than are kept', async () => {
    const { clock, asked, fetched, fake, check } = setUp();
    fake.by = (iss) => ({ issuer: iss });
    const names = Array.from({ length: 1001 }, (_, index) => `${b}${index}/`);
    const tokens = names.map((iss) => forged(iss));
    for (const ms of [0, 0, 29_999]) {
      clock.pause(ms);
      for (const token of tokens) await check(token);
    }
    // The fetch that was due leaves room for one more.
    expect([asked.length, fetched.length]).toEqual([1001, 2002]);
    clock.pause(1);
    for (const token of tokens) await check(token);
    expect(asked.length).toBeGreaterThan(1001);
    expect(asked.length).toBeLessThanOrEqual(2002);
  });

  test('is no longer asked about an issuer that no request has named for jwksMaxStaleSeconds', async () => {
    const { clock, core, asked, check, reasonFor, known, tenants } = setUp({ jwksMaxStaleSeconds: 1800 });
    const c = `${b}c/`;
    tenants.set(b, {}).set(c, {});
    const token = tokenFrom(b);
    await Promise.all([reasonFor(a), check(token), reasonFor(c)]);
    core.start();
    for (const at of [600, 1200, 1800]) {
      clock.advance(600_000);
      await settle();
      // A cached token counts as a use.
      if (at === 1200) await Promise.all([check(token), reasonFor(c, { claims: { jti: 'new' } })]);
    }
    expect([known().toSorted(), asked.filter((iss) => iss === a).length]).toEqual([[b, c], 3]);
    clock.advance(1_200_000);
    await settle();
    clock.advance(600_000);
    await settle();
    expect([known(), clock.waiting]).toEqual([[], 0]);
    expect(await reasonFor(a)).toBeUndefined();
  });

  const privateHosts =
    `localhost sso.localhost localhost. 127.0.0.1:8443 0x7f.1 2130706433 10.0.0.5 172.16.0.1 172.31.255.255
    192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 [::1] [::] [::ffff:10.0.0.5] [fc00::1] [fd12:3456::1] [fe80::1] [fec0::1]
    [64:ff9b::a00:5] [64:ff9b:1::1] [2002:a00:5::1] [::127.0.0.1] [::ffff:0:127.0.0.1]`.split(/\s+/);
  const publicHosts =
    `id.example.test 9.9.9.9 11.0.0.1 172.15.0.1 172.32.0.1 192.167.1.1 169.253.1.1 100.63.0.1 100.128.0.1
    [2001:db8::1] [2001:db8::10.0.0.5] [64:ff9b::808:808] [2002:808:808::1] [::ffff:8.8.8.8] [fbff::1] 10.example.test`.split(
      /\s+/,
    );
  test.each([
    ...privateHosts.map((host) => [host, true] as const),
    ...publicHosts.map((host) => [host, false] as const),
  ])('that returns keys at %s is %p to need jwksAllowPrivate, and then they are fetched', async (host, isPrivate) => {
    for (const [iss, jwksUri] of [[`https://${host}/`], [a, `https://${host}/keys`]] as const) {
      const { fake, fetched, reasonFor } = setUp();
      let jwksAllowPrivate: boolean | undefined;
      fake.by = (issuer) => ({ issuer, jwksUri, jwksAllowPrivate });
      expect(await reasonFor(iss)).toBe(isPrivate ? 'issuer_unavailable' : undefined);
      expect(fetched.length).toBe(isPrivate ? 0 : 1);
      const allowing = setUp();
      allowing.fake.by = (issuer) => ({ issuer, jwksUri, jwksAllowPrivate: true });
      expect([await allowing.reasonFor(iss), allowing.fetched.length]).toEqual([undefined, 1]);
    }
  });

  test('may not return an issuer whose metadata lead to a private address, and its own keys need no address', async () => {
    const requested: string[] = [];
    const fetch = async (url: string) => {
      requested.push(url);
      const isKeys = url.endsWith('/keys');
      return Response.json(isKeys ? keys : { issuer: 'https://a.example.test', jwks_uri: 'https://10.0.0.5/keys' });
    };
    const { fake, core, reasonFor } = setUp({ fetch });
    fake.by = (issuer) => ({ issuer });
    expect(await reasonFor('https://a.example.test')).toBe('keys_unavailable');
    const fault = { failure: 'insecure_address', found: 'https://10.0.0.5/keys' };
    expect(core.state().issuers).toMatchObject([{ lastFailure: fault }]);
    expect(requested.filter((url) => url.includes('10.0.0.5'))).toEqual([]);
    fake.by = (issuer) => Object.create({ issuer, jwksAllowPrivate: true });
    await core.reload();
    expect(await reasonFor('https://a.example.test')).toBeUndefined();
    fake.by = (issuer) => ({ issuer, keys });
    expect(await reasonFor('http://127.0.0.1/')).toBeUndefined();
    // A listed issuer is the operator's own.
    const listed = createChecker({
      issuer: 'https://10.0.0.5/',
      keys: undefined,
      fetch: async () => Response.json(keys),
    });
    expect((await listed(tokenFrom('https://10.0.0.5/'))).reason).toBeUndefined();
    fake.by = (issuer) => ({ issuer, keys, jwksAllowPrivate: 'yes' });
    expect(await reasonFor(b)).toBe('issuer_unavailable');
  });

  test('has a cooldown and an outage of each issuer leave the others alone', async () => {
    const { tenants, check, fetched, reasonFor } = setUp();
    const down = async (url: string) => {
      fetched.push(url);
      return url.startsWith(a) ? new Response(null, { status: 500 }) : Response.json(keys);
    };
    const other = setUp({ fetch: down });
    other.tenants.set(b, {});
    expect([await other.reasonFor(a), await other.reasonFor(b)]).toEqual(['keys_unavailable', undefined]);
    tenants.set(b, {});
    await check(tokenFrom(a));
    const unknown = { header: { kid: 'unknown' } };
    fetched.length = 0;
    for (const iss of [a, a, b, b, a]) expect(await reasonFor(iss, unknown)).toBe('key_unknown');
    expect(fetched).toEqual([a, b, b].map((iss) => `${iss}.well-known/jwks.json`));
  });

  test('can change the options of an issuer: its cached tokens are checked by the new ones', async () => {
    const { core, tenants, check, fetched } = setUp();
    const token = tokenFrom(a);
    await check(token);
    await core.reload();
    expect([(await check(token)).reason, core.state().cacheHits, fetched.length]).toEqual([undefined, 1, 2]);
    tenants.set(a, { audience: 'other' });
    await core.reload();
    expect((await check(token)).reason).toBe('audience_mismatch');
  });

  test('keeps 900 issuers whose tokens were verified, however many others and whichever strangers name', async () => {
    const { clock, core, asked, check, fake } = setUp({ tokenCacheSize: 450, algorithms: ['ES256'] });
    fake.by = (iss) => ({ issuer: iss, keys: elliptic });
    const [oldest = '', ...others] = Array.from({ length: 900 }, (_, index) => `${a}${index}`);
    const tokens = new Map([oldest, ...others].map((iss) => [iss, signed(iss)]));
    const outcomes = async () => {
      const seen = new Set<string>();
      for (const token of tokens.values()) seen.add((await check(token)).reason ?? 'accepted');
      return [...seen];
    };
    expect(await outcomes()).toEqual(['accepted']);
    const timers = clock.waiting / 900;
    for (let index = 0; index < 1500; index += 1) await check(forged(`${b}${index}`, 'ES256'));
    expect(core.state().issuers.length).toBe(1000);
    expect(clock.waiting).toBe(1000 * timers);
    asked.length = 0;
    expect(await outcomes()).toEqual(['accepted']);
    expect(asked).toEqual([]);
    // To name an issuer is no use of it: the one whose token was verified longest ago still makes room.
    for (const iss of others.slice(0, 450)) await check(tokens.get(iss) as string);
    for (let turn = 0; turn < 2; turn += 1) await check(forged(oldest, 'ES256'));
    expect((await check(signed(b))).reason).toBeUndefined();
    const kept = core.state().issuers.map(({ issuer }) => issuer);
    expect([kept[0], kept.indexOf(oldest) >= 900, kept.length]).toEqual([b, true, 1000]);
    // It has one of the other places, where a token brings it back without a question.
    asked.length = 0;
    expect([(await check(tokens.get(oldest) as string)).reason, asked]).toEqual([undefined, []]);
  });

  test('keeps issuers of tokens that were introspected', async () => {
    const introspect = (token: string) => ({ active: true, aud: AUDIENCE, exp: 9e9, iss: `${b}${token}` });
    const { asked, check, fake } = setUp({ introspect });
    fake.by = (iss) => ({ issuer: iss, keys });
    const reasons = new Set<string | undefined>();
    for (let turn = 0; turn < 2; turn += 1)
      for (let index = 0; index < 200; index += 1) reasons.add((await check(`opaque${index}`)).reason);
    expect([[...reasons], asked.length]).toEqual([[undefined], 200]);
  });

  test('has names of strangers turn over 100 places: one that was displaced keeps its cooldown', async () => {
    const { core, asked, check, fake, reasonFor } = setUp();
    fake.by = (iss) => ({ issuer: iss, keys });
    for (let index = 0; index <= 100; index += 1) await check(forged(`${b}${index}`));
    const kept = core.state().issuers.map(({ issuer }) => issuer);
    expect([kept.length, kept.includes(`${b}0`), kept.includes(`${b}1`)]).toEqual([100, false, true]);
    expect([await reasonFor(`${b}0`), asked.length]).toEqual(['issuer_unavailable', 101]);
    await core.reload(`${b}0`);
    expect([asked.length, await reasonFor(`${b}0`)]).toEqual([102, undefined]);
  });

  test('is not asked for ever about an issuer whose token is the oldest of the cache', async () => {
    const { clock, asked, tenants, guarding } = setUp({ tokenCacheSize: 1, jwksMaxStaleSeconds: 600 });
    tenants.set(b, { keys });
    const check = createChecker(guarding, { clock, random: () => 0.9 });
    await check(tokenFrom(a));
    // The full cache looks at that token for each new one, which it does not admit.
    for (let minute = 0; minute <= 10; minute += 1) {
      await check(tokenFrom(b, { claims: { jti: String(minute) } }));
      clock.advance(60_000);
      await settle();
    }
    expect(check.core.state().issuers.map(({ issuer }) => issuer)).toEqual([b]);
    expect(asked.filter((iss) => iss === a)).toEqual([a]);
  });

  test('names no issuer in the metadata but authorizationServers, and needs no audience of the guard', async () => {
    const publicUrl = 'https://api.example.test';
    const serversOf = async (options: Partial<GuardOptions>) => {
      const { guarding } = setUp({ publicUrl, ...options });
      const guard = createGuard({ audience: AUDIENCE, ...guarding });
      const document = guard.metadata(new Request(`${publicUrl}/.well-known/oauth-protected-resource`));
      return Object(await document?.json()).authorization_servers;
    };
    expect([await serversOf({}), await serversOf({ authorizationServers: [b] })]).toEqual([undefined, [b]]);
    const { state } = createGuard({ issuer: async (iss) => ({ issuer: iss, audience: 'own' }) });
    expect(state().issuers).toEqual([]);
    // @ts-expect-error: without an audience of the guard, what it returns must have one
    createGuard({ issuer: async (iss) => ({ issuer: iss }) });
    expect(() => createGuard({ audience: 'x', issuer: () => undefined, jwksUri: a })).toThrow('jwksUri must be unset');
  });

  test('is asked about what introspect responds, which must have an iss', async () => {
    const response = { active: true, aud: AUDIENCE, exp: 9e9 };
    const reasonWith = async (more: object) =>
      (await setUp({ introspect: () => ({ ...response, ...more }) }).check('opaque')).reason;
    expect([await reasonWith({ iss: a }), await reasonWith({ iss: b })]).toEqual([undefined, 'issuer_mismatch']);
    expect(await reasonWith({})).toBe('issuer_mismatch');
    const { fake, check } = setUp({ introspect: () => ({ ...response, iss: a }) });
    fake.by = secret;
    expect((await check('opaque')).reason).toBe('issuer_unavailable');
  });
});

test.each<[name: string, iss: string, find: Find, status: number, text: string]>([
  ['accepts', a, () => ({ issuer: a, keys }), 200, 'accepted: issuer returned an object with issuer, keys\n'],
  ['returns undefined', b, () => undefined, 401, `rejected: issuer returned nothing\n`],
  ['names another', a, () => ({ issuer: b, keys }), 503, 'issuer returned an object with issuer, keys. It must'],
  ['fails', a, () => Promise.reject(new Error('secret')), 503, 'rejected: issuer failed, or took too long\n'],
  ['is not asked', 'a b', () => undefined, 401, 'issuer was not called, because iss does not have the form'],
])('explainToken() asks the function, and says what it returned: one that %s', async (_, iss, find, status, text) => {
  const explanation = await explainToken(tokenFrom(iss), { audience: AUDIENCE, issuer: find as FindIssuer });
  expect(explanation.status).toBe(status);
  expect(explanation.render()).toContain(text);
});
