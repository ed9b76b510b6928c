import { describe, expect, test } from 'bun:test';
import { createFixedKeySet } from '../../../src/auth/keys/fixed-key-set.ts';
import { Refusal } from '../../../src/auth/refusals.ts';
import { publish, rsaKey, signingKey } from '../../support/keys.ts';

const issuer = 'https://issuer.example.test/';
const algorithms = ['RS256', 'PS256', 'ES256'] as const;
const rsa = publish(rsaKey('one'), 'one', { alg: 'PS256' });

describe('createFixedKeySet()', () => {
  test('finds the given keys, even after the set was changed', async () => {
    const keys = [rsa];
    const keySet = createFixedKeySet({ issuer, keys: { keys }, algorithms });
    keys.pop();
    expect(keySet.state()).toEqual({ issuer, keys: 0, ageMs: undefined, lastFailure: undefined, nextAttemptMs: 0 });
    const found = await keySet.find('one');
    expect(found).toMatchObject([{ algorithm: 'PS256' }]);
    expect(keySet.find('one')).toBe(found);
    expect(keySet.find('other')).toEqual([]);
    expect(keySet.state()).toMatchObject({ keys: 1, ageMs: 0 });
    for (const key of found instanceof Refusal ? [] : found) expect(keySet.isCurrent(key)).toBe(true);
  });

  test('imports the keys on start, and reports those without alg', async () => {
    const events: unknown[] = [];
    const onEvent = (event: unknown) => events.push(event);
    const keySet = createFixedKeySet({ issuer, keys: { keys: [publish(rsaKey('one'), 'one')] }, algorithms, onEvent });
    keySet.start();
    keySet.start();
    while (keySet.state().keys === 0) await Bun.sleep(0);
    await Bun.sleep(0);
    keySet.stop();
    expect(keySet.find('one')).toMatchObject([{ algorithm: 'RS256' }]);
    expect(events).toEqual([{ issuer, type: 'ambiguous', keys: ['one'] }]);
  });

  test('has no keys to verify with if no point is on its curve, and reports that once', async () => {
    const events: unknown[] = [];
    const onEvent = (event: unknown) => events.push(event);
    const keys = [publish(signingKey('ES256', 'one'), 'one', { x: 'A'.repeat(43) })];
    const keySet = createFixedKeySet({ issuer, keys: { keys }, algorithms, onEvent });
    for (const _ of [1, 2]) expect(await keySet.find('one')).toEqual(new Refusal('keys_unavailable'));
    const fault = { failure: 'no_usable_key', found: 'ES256' } as const;
    expect(keySet.state()).toMatchObject({ keys: 0, ageMs: undefined, lastFailure: fault });
    expect(events).toEqual([expect.objectContaining({ issuer, type: 'failed', failures: 1, ...fault })]);
  });

  test('throws a TypeError for a set without a key for an accepted algorithm', () => {
    const keys = { keys: [{ ...rsa, alg: 'RS512' }] };
    expect(() => createFixedKeySet({ issuer, keys, algorithms })).toThrow(TypeError);
  });
});
