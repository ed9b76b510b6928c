import { describe, expect, test } from 'bun:test';
import { type KeySetEvent, KeySetUnavailableError } from '../../src/auth/key-set.ts';
import { createFrozenClock } from '../support/frozen-clock.ts';
import { KEY_SET_ISSUER, keySetAt } from '../support/key-set.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';
import { KEY_SET_TIMES } from './target.ts';

/** A key set whose issuer answers as the test says, and whose time the test moves. */
function setUp(times: Partial<typeof KEY_SET_TIMES> = {}) {
  const clock = createFrozenClock();
  const events: KeySetEvent[] = [];
  const issuer: { answer: (signal: AbortSignal | null | undefined) => Promise<Response> } = { answer: good };
  const keySet = keySetAt('https://issuer.example.test/keys', {
    ...KEY_SET_TIMES,
    ...times,
    clock,
    random: () => 0,
    onEvent: (event) => events.push(event),
    fetch: (_, { signal }) => issuer.answer(signal),
  });
  /** Lets an attempt that fell due come to its end: nothing here takes longer than a few turns. */
  const settle = () => Bun.sleep(5);
  return { clock, events, issuer, keySet, settle };
}

const good = async () => Response.json({ keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] });
const failing = async () => new Response(null, { status: 500 });
const hanging = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, fail) => signal?.addEventListener('abort', () => fail(signal.reason)));

describe('createKeySet()', () => {
  test('tells the age of the keys it holds, and none when it holds none', async () => {
    const { clock, keySet } = setUp();
    expect(keySet.state()).toMatchObject({ keys: 0, ageMs: undefined });
    await keySet.find(SIGNING_KID);
    clock.advance(1234);
    expect(keySet.state()).toMatchObject({ keys: 1, ageMs: 1234 });
    keySet.stop();
  });

  test('leaves no timer behind when it is stopped with keys held', async () => {
    const { clock, keySet } = setUp();
    await keySet.find(SIGNING_KID);
    expect(clock.waiting).toBe(1);
    keySet.stop();
    expect(clock.waiting).toBe(0);
  });

  test('keeps one timer, however many unknown kids made it fetch', async () => {
    const { clock, keySet } = setUp();
    for (let round = 0; round < 10; round += 1) {
      await keySet.find(`unknown ${round}`);
      clock.advance(KEY_SET_TIMES.cooldownMs);
    }
    expect(clock.waiting).toBe(1);
    keySet.stop();
  });

  test('tells a kid as come and gone when one of the two keys under it was replaced', async () => {
    const { clock, events, issuer, keySet, settle } = setUp();
    const publishTwins = (...names: readonly string[]) => {
      issuer.answer = async () => Response.json({ keys: names.map((name) => publish(rsaKey(name), 'twins')) });
    };
    publishTwins('first', 'second');
    await keySet.find('twins');
    for (const names of [['first', 'third'], ['first', 'third'], ['third']]) {
      publishTwins(...names);
      clock.advance(KEY_SET_TIMES.maxAgeMs);
      await settle();
    }
    keySet.stop();
    expect(events).toMatchObject([
      { added: ['twins'], removed: [] },
      { added: ['twins'], removed: ['twins'] },
      { added: [], removed: [] },
      { added: [], removed: ['twins'] },
    ]);
  });

  test('counts failures anew after a success', async () => {
    const { clock, events, issuer, keySet, settle } = setUp();
    issuer.answer = failing;
    await Promise.resolve(keySet.find(SIGNING_KID)).catch(() => {});
    for (const [answer, afterMs] of [
      [failing, KEY_SET_TIMES.cooldownMs],
      [good, KEY_SET_TIMES.cooldownMs],
      [failing, KEY_SET_TIMES.maxAgeMs],
    ] as const) {
      issuer.answer = answer;
      clock.advance(afterMs);
      await settle();
    }
    keySet.stop();
    expect(events).toMatchObject([
      { type: 'failed', failures: 1 },
      { type: 'failed', failures: 2 },
      { type: 'fetched', afterFailures: 2 },
      { type: 'failed', failures: 1 },
    ]);
  });

  test('gives its keys up at the very end of their staleness, though the next attempt is later', async () => {
    const { clock, events, issuer, keySet, settle } = setUp({ maxStaleMs: 45_000 });
    await keySet.find(SIGNING_KID);
    issuer.answer = failing;
    clock.advance(KEY_SET_TIMES.maxAgeMs);
    await settle();
    clock.advance(30_000);
    await settle();
    clock.advance(14_999);
    expect(keySet.state().keys).toBe(1);
    clock.advance(1);
    expect(keySet.state().keys).toBe(0);
    expect(events.at(-1)).toEqual({ issuer: KEY_SET_ISSUER, type: 'expired' });
    issuer.answer = good;
    clock.advance(15_000);
    await settle();
    expect(keySet.state().keys).toBe(1);
    keySet.stop();
  });

  test('says to come back in a second at least, though the attempt took longer than the cooldown', async () => {
    const { clock, issuer, keySet } = setUp({ cooldownMs: 1000, timeoutMs: 5000 });
    issuer.answer = hanging;
    const asked = Promise.resolve(keySet.find(SIGNING_KID)).catch((error: unknown) => error);
    clock.advance(5000);
    const error = await asked;
    expect(error).toBeInstanceOf(KeySetUnavailableError);
    expect(error).toMatchObject({ retryAfterSeconds: 1 });
    keySet.stop();
  });

  test('says to the second when to come back, after the longest cooldown', async () => {
    const { issuer, keySet } = setUp({ cooldownMs: 3_600_000 });
    issuer.answer = failing;
    const error = await Promise.resolve(keySet.find(SIGNING_KID)).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ retryAfterSeconds: 3600 });
    keySet.stop();
  });
});
