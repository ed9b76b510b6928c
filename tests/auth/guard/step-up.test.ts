import { describe, expect, test } from 'bun:test';
import { createGuard, type Requirements } from '../../../src/auth/guard.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { SCOPE } from '../../support/mint.ts';

const NOW = 1_900_000_000;
const now = () => NOW * 1000;
const times = { iat: NOW, exp: NOW + 300 };

type Row = readonly [claims: Readonly<Record<string, unknown>>, requirements: Requirements, isMet: boolean];

const rows: readonly Row[] = [
  [{ acr: 'high' }, { acr: 'high' }, true],
  [{ acr: 'high' }, { acr: ['highest', 'high'] }, true],
  [{ auth_time: NOW }, { maxAge: 0 }, true],
  [{ auth_time: NOW - 60 }, { maxAge: 60 }, true],
  [{ auth_time: NOW - 59.5 }, { maxAge: 60 }, true],
  [{ acr: 'high', auth_time: NOW - 60 }, { acr: 'high', maxAge: 60 }, true],

  ...[undefined, null, '', 'HIGH', 'high ', 'low high', ['high'], [], 1, true, { high: true }].map(
    (acr): Row => [{ acr }, { acr: ['high', '1'] }, false],
  ),
  [JSON.parse('{"__proto__":{"acr":"high"}}'), { acr: 'high' }, false],
  ...[
    undefined,
    null,
    `${NOW}`,
    [NOW],
    {},
    true,
    NOW - 61,
    NOW - 60.5,
    // A clock that is ahead.
    NOW + 1,
    NOW * 1000,
    0,
    -1,
  ].map((auth_time): Row => [{ auth_time }, { maxAge: 60 }, false]),
  [{ acr: 'low', auth_time: NOW }, { acr: 'high', maxAge: 60 }, false],
  [{ acr: 'high', auth_time: NOW - 61 }, { acr: 'high', maxAge: 60 }, false],
  [{ iat: NOW }, { maxAge: 60 }, false],
];

describe('createGuard().check() with acr and maxAge', () => {
  const check = createChecker({}, { now });
  for (const [claims, requirements, isMet] of rows) {
    test(`${isMet ? 'accepts' : 'rejects'} ${JSON.stringify(claims)} where ${JSON.stringify(requirements)} is required`, async () => {
      const { reason } = await check({ claims: { ...times, ...claims } }, requirements);
      expect(reason).toBe(isMet ? undefined : 'authentication_insufficient');
    });
  }

  test('rejects an infinite auth_time', async () => {
    const [, payload = ''] = tokenOf({ claims: { ...times, auth_time: 123456 } }).split('.');
    const payloadText = Buffer.from(payload, 'base64url').toString().replace('123456', '1e999');
    expect((await check({ payloadText }, { maxAge: 60 })).reason).toBe('authentication_insufficient');
  });

  const limits: readonly (readonly [seconds: number, isMet: boolean])[] = [
    [-65, true],
    [-66, false],
    [5, true],
    [6, false],
  ];
  for (const [seconds, isMet] of limits) {
    test(`with a clock tolerance of 5 s and a maxAge of 60 s ${isMet ? 'accepts' : 'rejects'} an auth_time ${seconds} s from now`, async () => {
      const tolerant = createChecker({ clockToleranceSeconds: 5 }, { now });
      const { reason } = await tolerant({ claims: { ...times, auth_time: NOW + seconds } }, { maxAge: 60 });
      expect(reason).toBe(isMet ? undefined : 'authentication_insufficient');
    });
  }

  test('judges the time of each request, also where the token is cached', async () => {
    let later = 0;
    const aging = createChecker({}, { now: () => (NOW + later) * 1000 });
    const token = { claims: { ...times, auth_time: NOW } };
    const reasons: unknown[] = [];
    for (later of [0, 60, 61]) reasons.push((await aging(token, { maxAge: 60 })).reason);
    expect(reasons).toEqual([undefined, undefined, 'authentication_insufficient']);
  });

  const all = { scope: SCOPE, acr: ['high', 'higher'], maxAge: 60 };
  const wanted = `scope="${SCOPE}", acr_values="high higher", max_age="60"`;
  const challenges: readonly (readonly [name: string, claims: object | undefined, status: number, start: string])[] = [
    ['no token', undefined, 401, 'Bearer scope='],
    ['an expired token', { exp: 1 }, 401, 'Bearer error="invalid_token", '],
    ['neither', { scope: '' }, 401, 'Bearer error="insufficient_user_authentication", '],
    ['the scope only', {}, 401, 'Bearer error="insufficient_user_authentication", '],
    ['no scope', { acr: 'high', auth_time: NOW, scope: '' }, 403, 'Bearer error="insufficient_scope", '],
  ];
  for (const [name, claims, status, start] of challenges) {
    test(`names everything that is required in the challenge to ${name}`, async () => {
      const { result, challenge } = await check(claims ? { claims: { ...times, ...claims } } : new Headers(), all);
      expect(result).toMatchObject({ status });
      expect(challenge).toStartWith(start);
      expect(challenge).toEndWith(wanted);
    });
  }

  test('answers with the code and error of RFC 9470', async () => {
    const { result } = await check({ claims: times }, { acr: 'high' });
    const body = result instanceof Response ? await result.json() : undefined;
    expect(body).toEqual({ code: 'insufficient_user_authentication', description: expect.any(String) });
  });

  const mistakes: readonly object[] = [
    { acr: '' },
    { acr: [] },
    { acr: 'a b' },
    { acr: 'a"b' },
    { acr: 'a\\b' },
    { acr: 'é' },
    { acr: ['a', 1] },
    { acr: null },
    { maxAge: -1 },
    { maxAge: 1.5 },
    { maxAge: Number.NaN },
    { maxAge: Number.POSITIVE_INFINITY },
    { maxAge: '60' },
    { maxAge: null },
    { max_age: 60 },
    { scopes: 'a' },
    { authorize: () => true },
  ];
  for (const mistake of mistakes) {
    test(`rejects with a TypeError for ${Bun.inspect(mistake)}`, async () => {
      const checked = createGuard(offline()).check(new Request('https://api.example.test/'), mistake);
      await expect(checked).rejects.toBeInstanceOf(TypeError);
    });
  }
});
