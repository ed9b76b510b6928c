import { afterAll, afterEach, expect, spyOn, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { GuardOptions, KeySetEvent } from '../../../src/auth/types.ts';
import { createChecker, ISSUER, publishedBy } from '../../support/checked.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, signingKeys } from '../../support/mint.ts';

const other = 'https://other.example.test/';
const warn = spyOn(console, 'warn').mockImplementation(() => {});
afterEach(() => void warn.mockClear());
afterAll(() => void warn.mockRestore());

/** Returns a guard for two issuers, the first of which is unreachable. */
function setUp(onKeySetEvent?: GuardOptions['onKeySetEvent']) {
  const clock = createFrozenClock();
  const unreachable = Object.assign(new TypeError('unreachable'), { code: 'ECONNREFUSED' });
  const { options, asked } = publishedBy({ [ISSUER]: unreachable, [other]: signingKeys() });
  const check = createChecker({ ...options, onKeySetEvent }, { clock });
  const reasonFor = async (issuer: string, kid = SIGNING_KID) =>
    (await check(mintToken(issuer, { header: { kid } }))).reason;
  return { asked, reasonFor, pause: () => clock.pause(60_000) };
}

test('an outage causes one warning on the console, with the URL and the cause', async () => {
  const { reasonFor, pause } = setUp();
  for (const _ of [1, 2, 3]) {
    await reasonFor(ISSUER);
    pause();
  }
  const address = `${ISSUER}.well-known/jwks.json`;
  expect(warn.mock.calls).toEqual([[`Cannot fetch the keys of ${ISSUER}: ${address} cannot be reached: ECONNREFUSED`]]);
});

test('an outage is an event, and not a warning, if the application has a listener', async () => {
  const failures: unknown[] = [];
  await setUp(({ type }) => failures.push(type)).reasonFor(ISSUER);
  expect(failures).toEqual(['failed']);
  expect(warn).not.toHaveBeenCalled();
});

test('a key that is skipped for its form is named once: in an event, in a warning, and by explainToken()', async () => {
  const events: KeySetEvent[] = [];
  const skipped = publish(rsaKey('weak', 1024), 'weak\n');
  const { options } = publishedBy({ [ISSUER]: [...signingKeys(), skipped] });
  for (const onKeySetEvent of [undefined, (event: KeySetEvent) => events.push(event)]) {
    const check = createChecker({ ...options, onKeySetEvent });
    for (const _ of [1, 2]) await check.core.reload();
  }
  const unusable = { issuer: ISSUER, type: 'unusable', keys: ['weak\\u000a'], reasons: { 'weak\\u000a': '1024 bits' } };
  expect(events.filter(({ type }) => type !== 'fetched')).toEqual([unusable as KeySetEvent]);
  expect(warn.mock.calls).toEqual([[`Cannot use keys of ${ISSUER}: weak\\u000a: 1024 bits`]]);
  const explain = (kid: string) =>
    explainToken(mintToken(ISSUER, { header: { kid } }), { ...options, audience: AUDIENCE });
  expect(await explain('weak\n')).toMatchObject({
    advice: expect.stringContaining('publishes the key weak\n, but it is not used: 1024 bits'),
  });
  expect(await explain('other')).toMatchObject({ advice: expect.stringContaining('does not publish the key other') });
});

test('an outage of one issuer and a flood of its unknown key IDs do not affect another', async () => {
  const { reasonFor, asked } = setUp();
  for (let kid = 0; kid < 100; kid += 1) expect(await reasonFor(ISSUER, String(kid))).toBe('keys_unavailable');
  expect(await reasonFor(other)).toBeUndefined();
  expect(asked).toEqual([ISSUER, other]);
});

test('guard.reload() stops trusting a key that has left the set, within the cooldown, and resolves to the state', async () => {
  const published: Record<string, readonly unknown[]> = { [ISSUER]: signingKeys() };
  const check = createChecker(publishedBy(published).options);
  const { reload, state } = check.core;
  expect((await check({})).reason).toBeUndefined();
  published[ISSUER] = [];
  expect(await reload()).toMatchObject({ issuers: [{ keys: 1, lastFailure: { failure: 'malformed' } }] });
  expect((await check({})).reason).toBeUndefined();
  published[ISSUER] = [publish(rsaKey('new'), 'new')];
  expect(await reload()).toMatchObject({ issuers: [{ keys: 1, ageMs: expect.any(Number) }] });
  expect(state().issuers[0]?.lastFailure).toBeUndefined();
  expect((await check({})).reason).toBe('key_unknown');
});
