import { describe, expect, test } from 'bun:test';
import { createIssuerKeys } from '../../../src/auth/keys/issuer-keys.ts';
import type { KeySet } from '../../../src/auth/keys/key-set.ts';
import { checkOptions } from '../../../src/auth/options/check-options.ts';
import { Rejected } from '../../../src/auth/rejections.ts';
import type { Algorithm } from '../../../src/auth/types.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey, signingKey } from '../../support/keys.ts';
import { unfetched } from './key-set-fixture.ts';

const issuer = 'https://issuer.example.test/';
const algorithms: readonly Algorithm[] = ['RS256', 'PS256', 'ES256'];
const rsa = publish(rsaKey('one'), 'one', { alg: 'PS256' });

/** Returns the key set of a guard with given keys, which cannot fetch. */
function setUp(keys: readonly object[]) {
  const events: unknown[] = [];
  const clock = createFrozenClock();
  const fetch = () => Promise.reject(new Error('fetched'));
  const onKeySetEvent = (event: unknown) => events.push(event);
  const options = checkOptions({ issuer, audience: 'a', algorithms, keys: { keys }, fetch, onKeySetEvent });
  const { byIssuer } = createIssuerKeys(new Map([[issuer, options]]), { clock, random: () => 0 });
  return { keySet: byIssuer.get(issuer) as KeySet, events, clock };
}

describe('createIssuerKeys() with given keys', () => {
  test('finds them, even after the set was changed, and an unknown kid is no outage', async () => {
    const key = { ...rsa };
    const keys = [key];
    const { keySet, events, clock } = setUp(keys);
    keys.pop();
    Object.assign(key, { n: 'AAAA' });
    expect(keySet.state()).toEqual({ issuer, ...unfetched });
    const found = await keySet.find('one');
    expect(found).toMatchObject([{ algorithm: 'PS256' }]);
    // They never age, so no time makes a lookup wait.
    clock.pause(1e12);
    expect(keySet.find('one')).toEqual(found);
    expect(keySet.find('other')).toEqual([]);
    for (const key of found instanceof Rejected ? [] : found) expect(keySet.isCurrent(key)).toBe(true);
    expect(events).toMatchObject([{ type: 'fetched', added: ['one'] }]);
    expect(clock.waiting).toBe(0);
  });

  test('has no keys to verify with if no point is on its curve, and reports that', async () => {
    const { keySet, events, clock } = setUp([publish(signingKey('ES256', 'one'), 'one', { x: 'A'.repeat(43) })]);
    for (const _ of [1, 2]) expect(await keySet.find('one')).toEqual(new Rejected('keys_unavailable'));
    const fault = { failure: 'no_usable_key', found: 'one: not on its curve' } as const;
    expect(keySet.state()).toMatchObject({ keys: 0, ageMs: undefined, lastFailure: fault });
    expect(events).toEqual([expect.objectContaining({ issuer, type: 'failed', failures: 1, ...fault })]);
    // They never get better, so the times between attempts double without a limit.
    for (let attempt = 2; attempt < 10; attempt += 1) {
      clock.pause(keySet.state().nextAttemptMs);
      await keySet.find('one');
    }
    expect(keySet.state().nextAttemptMs).toBe(256_000);
  });

  test.each(['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'])(
    'throws a TypeError for a key with a private %s',
    (name) => {
      const secret = { ...rsa, kid: 'two', [name]: 'hunter2' };
      expect(() => setUp([rsa, secret])).toThrow(
        /^Cannot create a guard: keys must contain public keys only\. Remove .* issuer$/,
      );
      expect(setUp([rsa, { ...rsa, kid: 'two', [name]: null }]).events).toEqual([]);
    },
  );

  test('takes a member that is null for a missing one', async () => {
    const { keySet } = setUp([{ ...rsa, use: null, key_ops: null, alg: null, issuer: null, x5c: null }]);
    expect(await keySet.find('one')).toMatchObject([{ algorithm: 'RS256', issuer: undefined }]);
    expect(() => setUp([{ ...rsa, kid: null }])).toThrow('must have a kid');
  });

  test('throws a TypeError for a set without a key for an accepted algorithm', () =>
    expect(() => setUp([{ ...rsa, alg: 'RS512' }])).toThrow(TypeError));
});
