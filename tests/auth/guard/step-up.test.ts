import { describe, expect, test } from 'bun:test';
import { allOf } from '../../../src/auth/elysia/plan.ts';
import { createGuardCore } from '../../../src/auth/guard/core.ts';
import type { GuardOptions, Requirements } from '../../../src/auth/index.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { SCOPE } from '../../support/mint.ts';

const NOW = 1_900_000_000;
const now = () => NOW * 1000;
const times = { iat: NOW, exp: NOW + 300 };
const both = { acr: 'high', maxAge: 60 };
const tolerant = { clockToleranceSeconds: 5 };

type Row = readonly [claims: Readonly<Record<string, unknown>>, Requirements, options?: Partial<GuardOptions>];

const accepted: readonly Row[] = [
  [{ acr: 'high' }, { acr: 'high' }],
  [{ acr: 'high' }, { acr: ['highest', 'high'] }],
  [{ auth_time: NOW }, { maxAge: 1 }],
  [{ auth_time: NOW - 60 }, { maxAge: 60 }],
  [{ auth_time: NOW - 59.5 }, { maxAge: 60 }],
  [{ acr: 'high', auth_time: NOW - 60 }, both],
  [{ auth_time: NOW - 65 }, { maxAge: 60 }, tolerant],
  [{ auth_time: NOW + 5 }, { maxAge: 60 }, tolerant],
];

const otherLevels = [undefined, null, '', 'HIGH', 'high ', 'low high', ['high'], [], 1, true, { high: true }];
/** The last rows are from a clock that is ahead, or that counts milliseconds. */
const otherTimes = [undefined, null, `${NOW}`, [NOW], {}, true, NOW - 61, NOW - 60.5, 0, -1, NOW + 1, NOW * 1000];
const rejected: readonly Row[] = [
  ...otherLevels.map((acr): Row => [{ acr }, { acr: ['high', '1'] }]),
  ...otherTimes.map((auth_time): Row => [{ auth_time }, { maxAge: 60 }]),
  [JSON.parse('{"__proto__":{"acr":"high"}}'), { acr: 'high' }],
  [{ acr: 'low', auth_time: NOW }, both],
  [{ acr: 'high', auth_time: NOW - 61 }, both],
  [{ iat: NOW }, { maxAge: 60 }],
  [{ auth_time: NOW - 66 }, { maxAge: 60 }, tolerant],
  [{ auth_time: NOW + 6 }, { maxAge: 60 }, tolerant],
];

describe('createGuard().check() with acr and maxAge', () => {
  for (const rows of [accepted, rejected])
    for (const [claims, requirements, options] of rows)
      test(`${rows === accepted ? 'accepts' : 'rejects'} ${JSON.stringify(claims)} where ${JSON.stringify({ ...requirements, ...options })} is set`, async () => {
        const { reason } = await createChecker(options, { now })({ claims: { ...times, ...claims } }, requirements);
        expect(reason).toBe(rows === accepted ? undefined : 'authentication_insufficient');
      });

  test('rejects an infinite auth_time', async () => {
    const [, payload = ''] = tokenOf({ claims: { ...times, auth_time: 123456 } }).split('.');
    const payloadText = Buffer.from(payload, 'base64url').toString().replace('123456', '1e999');
    const { reason } = await createChecker({}, { now })({ payloadText }, { maxAge: 60 });
    expect(reason).toBe('authentication_insufficient');
  });

  test('is checked before the scope, whichever of several requirements has it, and the challenge names the lowest maxAge', () => {
    const { readRequirements } = createGuardCore(offline());
    const policies = [{ scope: 'other', maxAge: 60 }, { maxAge: 600 }, { acr: 'high' }].map((each) =>
      readRequirements(each),
    );
    const { check, challenge } = allOf(policies, false);
    expect(check({ iss: '', exp: 0, auth_time: Date.now() / 1000 })?.reason).toBe('authentication_insufficient');
    expect(challenge).toEqual({ scope: 'other', maxAge: 60, acrValues: 'high' });
  });

  test('checks the time at each request, even if the token is cached', async () => {
    let later = 0;
    const check = createChecker({}, { now: () => (NOW + later) * 1000 });
    const reasons: unknown[] = [];
    for (later of [0, 60, 61])
      reasons.push((await check({ claims: { ...times, auth_time: NOW } }, { maxAge: 60 })).reason);
    expect(reasons).toEqual([undefined, undefined, 'authentication_insufficient']);
  });

  const insufficient = [401, 'Bearer error="insufficient_user_authentication", '] as const;
  for (const [name, claims, status, start] of [
    ['no token', undefined, 401, 'Bearer scope='],
    ['an expired token', { exp: 1 }, 401, 'Bearer error="invalid_token", '],
    ['neither', { scope: '' }, ...insufficient],
    ['the scope only', {}, ...insufficient],
    ['no scope', { acr: 'high', auth_time: NOW, scope: '' }, 403, 'Bearer error="insufficient_scope", '],
  ] as const)
    test(`names everything that is required in the challenge to ${name}`, async () => {
      const token = claims ? { claims: { ...times, ...claims } } : new Headers();
      const requirements = { scope: SCOPE, acr: ['high', 'higher'], maxAge: 60 };
      const { result, challenge } = await createChecker({}, { now })(token, requirements);
      expect(result).toMatchObject({ status });
      expect(challenge).toStartWith(start);
      expect(challenge).toEndWith(`scope="${SCOPE}", acr_values="high higher", max_age="60"`);
    });
});
