import { describe, expect, mock, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import { createGuard, type GuardOptions } from '../../../src/auth/index.ts';
import type { Requirements } from '../../../src/auth/types.ts';
import { certificate } from '../../support/certificates.ts';
import { createChecker, ISSUER, offline, publishedBy, tokenOf } from '../../support/checked.ts';
import { runToEnd } from '../../support/child-process.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { bearer, signingKeys } from '../../support/mint.ts';
import { bound, makeProof } from '../../support/proof.ts';

const fails = () => {
  throw new Error('secret');
};

describe('the option isRevoked', () => {
  const returned: readonly (readonly [name: string, isRevoked: () => unknown])[] = [
    ...[true, undefined, null, 0, 1, '', 'false', {}].map((value) => [Bun.inspect(value), () => value] as const),
    ['a promise of true', async () => true],
    ['a promise of undefined', async () => undefined],
  ];
  for (const [name, isRevoked] of returned)
    test(`rejects a token for which it returns ${name}`, async () => {
      const { reason, challenge } = await createChecker({ isRevoked: isRevoked as () => boolean })({});
      expect(reason).toBe('token_revoked');
      expect(challenge).toStartWith('Bearer error="invalid_token", ');
    });

  test('accepts a token for which it returns a promise of false', async () =>
    expect((await createChecker({ isRevoked: async () => false })({})).reason).toBeUndefined());

  /** Promises and other thenables have a table of their own. */
  test('is an outage, not a bad token, for an exception', async () => {
    const { result, reason } = await createChecker({ isRevoked: fails })({});
    expect(reason).toBe('revocation_unavailable');
    expect(result).toMatchObject({ status: 503 });
    expect((result as Response).headers.get('retry-after')).toBe('1');
    expect(await (result as Response).text()).not.toContain('secret');
  });

  test('is called for every request, even if the token is cached, with the original claims of the token', async () => {
    const isRevoked = mock((_: object) => isRevoked.mock.calls.length === 2);
    const check = createChecker({ isRevoked });
    const headers = new Headers(bearer(tokenOf({ claims: { sid: ['a', null] } })));
    const reasons = [await check(headers), await check(headers), await check(headers)].map(({ reason }) => reason);
    expect(reasons).toEqual([undefined, 'token_revoked', undefined]);
    expect(isRevoked.mock.lastCall?.[0]).toMatchObject({ sid: ['a', null] });
  });

  test('gets the token, and a signal that is aborted when its time is over, or never', async () => {
    const clock = createFrozenClock();
    const given: { readonly token: string; readonly signal: AbortSignal }[] = [];
    const answers = [false, Promise.resolve(false), new Promise<boolean>(() => {})];
    const asked = Promise.withResolvers<void>();
    const isRevoked: GuardOptions['isRevoked'] = (_, limited) => {
      if (given.push(limited) === 3) asked.resolve();
      return answers[given.length - 1] ?? true;
    };
    const check = createChecker({ isRevoked, jwksTimeoutSeconds: 2 }, { clock });
    const token = tokenOf();
    const { reason: atOnce } = await check(token);
    // Only what is waited for has a timer.
    const { reason: later } = await check(token);
    const silent = check(token);
    await asked.promise;
    clock.advance(1999);
    expect([clock.waiting, given[2]?.signal.aborted]).toEqual([1, false]);
    clock.advance(1);
    expect([atOnce, later, (await silent).reason]).toEqual([undefined, undefined, 'revocation_unavailable']);
    expect(given.map(({ signal }) => signal.aborted)).toEqual([false, false, true]);
    expect(given.map((each) => each.token)).toEqual(Array(3).fill(token));
    expect(clock.waiting).toBe(0);
  });

  test('costs a cached token no promise if it returns at once', async () => {
    const check = createChecker({ isRevoked: () => false });
    const token = tokenOf();
    await check(token);
    const request = new Request('https://api.example.test/', { headers: bearer(token) });
    expect(check.core.decide(request, check.core.readRequirements({}))).toHaveProperty('claims.sub', 'client-1');
  });

  test.each([
    ['isRevoked', {}, 'token_expired'],
    ['isRevoked of a token that is not valid yet by then', { nbf: 0 }, 'token_not_yet_valid'],
  ])('checks the time of the token again after a slow %s', async (_, claims, want) => {
    const times = want === 'token_expired' ? [1000, 2000] : [1000, -1000];
    let [now = 0] = times;
    const isRevoked = async () => {
      [, now = 0] = times;
      return false;
    };
    const check = createChecker({ isRevoked }, { now: () => now });
    expect((await check({ claims: { exp: 2, iat: 0, ...claims } })).reason).toBe(want);
  });

  test.each<[string, Partial<GuardOptions>, 'isRevoked' | 'replayStore']>([
    ['isRevoked', {}, 'isRevoked'],
    ['the replay store', { dpop: 'on', publicUrl: 'https://api.example.test' }, 'replayStore'],
  ])('a key that leaves while %s is waited for is not trusted', async (_, given, waited) => {
    const keys = { [ISSUER]: signingKeys() };
    const { options } = publishedBy(keys);
    const withdraw = async () => {
      keys[ISSUER] = [];
      keys[ISSUER].push(...signingKeys().map((key) => ({ ...Object(key), kid: 'other' })));
      await check.core.reload();
    };
    const isRevoked = () => withdraw().then(() => false);
    const replayStore = { markUsed: () => withdraw().then(() => true) };
    const check = createChecker({
      ...options,
      ...given,
      ...(waited === 'isRevoked' ? { isRevoked } : { replayStore }),
    });
    const token = tokenOf(waited === 'replayStore' ? { claims: { cnf: bound } } : {});
    const proof = makeProof({ url: 'https://api.example.test/messages', token, nowSeconds: Date.now() / 1000 });
    const headers = waited === 'replayStore' ? { authorization: `DPoP ${token}`, dpop: proof } : bearer(token);
    expect((await check(new Headers(headers))).reason).toBe('key_unknown');
  });

  test('is called before onAccepted, step-up and scope', async () => {
    let accepted = 0;
    const check = createChecker({ isRevoked: () => true, onAccepted: () => void accepted++ });
    expect((await check({}, { scope: 'other', acr: 'high' })).reason).toBe('token_revoked');
    expect(accepted).toBe(0);
  });
});

const jwt = tokenOf();

test('the option clientCertificate is called for every request, even if the token is cached, and an exception is a certificate that cannot be read', async () => {
  const { thumbprint, der } = certificate('a');
  let presented: Uint8Array | undefined;
  const check = createChecker({ clientCertificate: () => presented ?? JSON.parse('') });
  const headers = new Headers(bearer(tokenOf({ claims: { cnf: { 'x5t#S256': thumbprint } } })));
  const reasons: unknown[] = [];
  for (presented of [der, undefined, certificate('b').der, der]) reasons.push((await check(headers)).reason);
  expect(reasons).toEqual([undefined, 'certificate_unreadable', 'certificate_mismatch', undefined]);
});

const down = async () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }));
test.each<[string, Partial<GuardOptions>, token: string, said: string | undefined]>([
  [
    'isRevoked throws',
    { isRevoked: () => JSON.parse('') },
    jwt,
    'check for revocation: the function isRevoked failed: SyntaxError',
  ],
  ['isRevoked rejects', { isRevoked: down }, jwt, 'check for revocation: the function isRevoked failed: ECONNREFUSED'],
  [
    'isRevoked returns nothing',
    { isRevoked: (() => {}) as never },
    jwt,
    'check for revocation: the function isRevoked returned undefined, not a boolean',
  ],
  ['isRevoked says true', { isRevoked: () => true }, jwt, undefined],
  [
    'introspect rejects',
    { introspect: down },
    'opaque',
    'introspect tokens: the function introspect failed: ECONNREFUSED',
  ],
  [
    'introspect returns a list',
    { introspect: () => [] },
    'opaque',
    'introspect tokens: the function introspect returned no object that JSON can carry',
  ],
  ['introspect says inactive', { introspect: () => ({ active: false }) }, 'opaque', undefined],
])('whose fault a rejection is, if %s, is said once', async (_, options, token, said) => {
  const warn = spyOn(console, 'warn').mockImplementation(() => {});
  const check = createChecker(options);
  for (const _ of 'two') expect((await check(token)).result).toBeInstanceOf(Response);
  const warnings = warn.mock.calls.map(String);
  warn.mockRestore();
  expect(warnings).toEqual(said ? [expect.stringMatching(new RegExp(`^Cannot ${said}. Requests `))] : []);
});

test('createGuard().check() rejects a scheme and a blank, which the class Headers would trim', async () => {
  const reasons: string[] = [];
  const { check } = createGuard({ ...offline(), onRejected: (_, reason) => reasons.push(reason) });
  await check({ method: 'GET', url: 'http://localhost/', headers: { get: () => 'Bearer ' } });
  expect(reasons).toEqual(['credentials_malformed']);
});

describe('createGuard().check()', () => {
  test('sends errorHeaders, which do not replace its own headers', async () => {
    const errorHeaders = { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain', 'WWW-Authenticate': 'Basic' };
    const result = await createGuard({ ...offline(), errorHeaders }).check(new Request('http://localhost/'));
    const sent = result instanceof Response && Object.fromEntries(result.headers);
    const own = { 'content-type': 'application/json', 'www-authenticate': 'Bearer' };
    expect(sent).toEqual({ 'cache-control': 'no-store', ...own });
  });

  test('returns no scopes for an anonymous request', async () => {
    const result = await createGuard(offline()).check(new Request('http://localhost/'), { optional: true });
    expect(result).toEqual({
      claims: undefined,
      token: undefined,
      scopes: [],
      clientId: undefined,
      dpopNonce: undefined,
    });
  });

  const scopeOptions = { scopePrefix: 'api/', scopeImplies: { admin: ['write', 'read'], write: ['read'] } };
  for (const [scope, options, scopes] of [
    ['read:messages  other read:messages ', {}, ['read:messages', 'other']],
    ['openid api/admin api/x read', scopeOptions, ['admin', 'write', 'read', 'x']],
    ['', {}, []],
    [undefined, {}, []],
  ] as const)
    test(`returns the scopes ${scopes} of ${scope} with ${JSON.stringify(options)}`, async () =>
      expect((await createChecker(options)({ claims: { scope } })).result).toMatchObject({ scopes }));

  const clients = { client_id: 'of RFC 9068', azp: 'of Keycloak', cid: 'of Okta', appid: 'of Entra' };
  for (const [at, [name, clientId]] of Object.entries(clients).entries())
    test(`names the client by ${name}, and by no claim after it`, async () => {
      const check = createChecker();
      const later = Object.entries(clients).map(([each, value], index) => [each, index < at ? null : value]);
      for (const claims of [{ client_id: undefined, [name]: clientId }, Object.fromEntries(later)])
        expect((await check({ claims })).result).toMatchObject({ clientId });
    });

  test('waits for the verification in an application that replaces Promise', async () => {
    const { Promise: native } = globalThis;
    const guard = createGuard(offline());
    const request = new Request('http://localhost/', { headers: bearer(tokenOf({ claims: { exp: 1 } })) });
    globalThis.Promise = class<Value> extends native<Value> {} as PromiseConstructor;
    const result = guard.check(request).finally(() => {
      globalThis.Promise = native;
    });
    expect(await result).toBeInstanceOf(Response);
  });
});

describe('the option requireScope', () => {
  const check = createChecker({ requireScope: true, scopeClaim: ['scp', 'roles'], scopePrefix: 'api/' });
  test.each([
    ['a scope', { scp: 'api/read' }, undefined],
    ['a role', { roles: ['api/write'] }, undefined],
    ['an ID token, which has neither', { nonce: 'n' }, 'scope_insufficient'],
    ['an application without a permission', { roles: [] }, 'scope_insufficient'],
    ['blank text', { scp: ' ' }, 'scope_insufficient'],
    ['a scope of another API', { scp: 'other/read' }, 'scope_insufficient'],
  ])('decides about %s on a route without a scope', async (_, claims, want) => {
    const { reason, result } = await check({ claims: { scope: undefined, ...claims } });
    expect(reason).toBe(want as string);
    if (want) expect(result).toMatchObject({ status: 403 });
  });

  test('comes after the step-up that a route requires, and lets anonymous requests pass where a token is optional', async () => {
    expect((await check({ claims: { scope: undefined } }, { acr: 'high' })).reason).toBe('authentication_insufficient');
    const guard = createGuard({ ...offline(), requireScope: true });
    expect(await guard.check(new Request('http://localhost/'), { optional: true })).not.toBeInstanceOf(Response);
  });
});

test.each(['scope', 'acr', 'maxAge', 'optional'])('check() rejects the requirement %s of an unset variable', (name) =>
  expect(createGuard(offline()).check(new Request('http://localhost/'), { [name]: undefined })).rejects.toThrow(
    new TypeError(`Cannot read requirements: ${name} is undefined. If it is not required, leave it out`),
  ),
);

const notAcr = 'acr must be printable ASCII without spaces, quotes or backslashes, or a list of such values, got ';
const notSeconds = 'maxAge must be a whole number of seconds, got ';
const mistakes: readonly (readonly [requirements: unknown, problem: string])[] = [
  [
    { scope: 'a b' },
    `scope "a b" is not a single scope. Write ['a', 'b'] to require all, or { anyOf: ['a', 'b'] } to require one`,
  ],
  [{ scope: 'a"b' }, `scope "a\\"b" is not valid: a scope is printable ASCII without spaces, quotes or backslashes`],
  [{ scope: ['a', ''] }, 'scope "" is not valid: a scope is printable ASCII without spaces, quotes or backslashes'],
  [{ scope: [] }, 'scope is an empty list. To require no scope, leave it out'],
  [{ scope: 1 }, 'scope must be a string, a list of strings or { anyOf: [...] }, got 1'],
  [{ scope: Array(1) }, 'scope must be a string, a list of strings or { anyOf: [...] }, got [nothing]'],
  [
    { scope: { anyOf: ['a'], allOf: ['b'] } },
    'allOf is not a member of scope. Write { anyOf: [...] }, or a list to require all',
  ],
  [{ scope: { anyOf: 'a' } }, 'scope must be a string, a list of strings or { anyOf: [...] }, got { anyOf: "a" }'],
  [{ scope: { anyOf: ['a', undefined] } }, 'scope must be a string, a list of strings or { anyOf: [...] }, got '],
  [{ acr: ['a', 'b c'] }, `${notAcr}["a", "b c"]`],
  ...['', [], 'a b', 'a"b', 'a\\b', 'é', ['a', 1], null, Array(1)].map((acr) => [{ acr }, notAcr] as const),
  [{ maxAge: '60' }, `${notSeconds}"60"`],
  [{ maxAge: 0 }, `${notSeconds}0. For a new login, write the seconds in which the request must follow it, such as 60`],
  ...[-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, null].map((maxAge) => [{ maxAge }, notSeconds] as const),
  ...['false', null].map((optional) => [{ optional }, 'optional must be true or false, got '] as const),
  ...[{ scopes: 'a' }, Object.create({ scopes: 'a' })].map((it) => [it, 'scopes is not a requirement. Use '] as const),
  [{ authorize: () => true }, 'authorize is not a requirement. Use scope, acr, maxAge, optional'],
  ...['a', '', null, new Map([['scope', 'a']])].map(
    (it) => [it, "they must be an object such as { scope: 'read:messages' }, got "] as const,
  ),
];
test.each(mistakes)('check() names what is wrong with the requirements %j', async (requirements, problem) => {
  const checked = createGuard(offline()).check(new Request('http://localhost/'), requirements as Requirements);
  await expect(checked).rejects.toThrow(`Cannot read requirements: ${problem}`);
  await expect(checked).rejects.toBeInstanceOf(TypeError);
});

/** The runner fails a test that leaves a rejected promise behind. */
test('createGuard() ignores rejected promises that its callbacks return', async () => {
  const calls = new Set<string>();
  const rejecting = (name: string) => () => {
    calls.add(name);
    return Promise.reject(new Error('callback'));
  };
  const names = ['onAccepted', 'onRejected', 'onKeySetEvent'];
  const callbacks = Object.fromEntries(names.map((name) => [name, rejecting(name)]));
  const { keys } = offline();
  const check = createChecker({ keys: undefined, fetch: async () => Response.json(keys), ...callbacks });
  expect((await check({}, { scope: 'other' })).result).toMatchObject({ status: 403 });
  expect((await check({})).result).not.toBeInstanceOf(Response);
  expect(calls).toEqual(new Set(names));
});

test('createGuard().start() does not keep a process alive', async () => {
  const script = `
    const { createGuard } = await import('${join(import.meta.dir, '../../../src/auth/index.ts')}');
    createGuard({ issuer: 'http://127.0.0.1:1/', audience: 'a' }).start();`;
  const { status } = await runToEnd([process.execPath, '-e', script], { PATH: process.env.PATH ?? '' });
  expect(status).toBe(0);
});
