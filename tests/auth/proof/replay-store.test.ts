import { beforeEach, describe, expect, test } from 'bun:test';
import {
  createMemoryReplayStore,
  type MemoryReplayStore,
  ReplayUnknownError,
} from '../../../src/auth/proof/replay-store.ts';

const lifetimeMs = 90_000;

describe('createMemoryReplayStore()', () => {
  let now: number;
  let store: MemoryReplayStore;
  const claim = (key: string, lifetime = lifetimeMs) => store.claim(key, lifetime);

  beforeEach(() => {
    now = 1_900_000_000_000;
    store = createMemoryReplayStore({ maxEntries: 3, now: () => now });
  });

  test('lets one of many callers claim a key', () => {
    const claims = Array.from({ length: 20 }, () => claim('a'));
    expect(claims.filter(Boolean)).toHaveLength(1);
    expect(claim('b')).toBe(true);
  });

  test('holds a claim until its time has passed and no longer', () => {
    claim('a');
    now += lifetimeMs - 1;
    expect(claim('a')).toBe(false);
    now += 1;
    expect(claim('a')).toBe(true);
    expect(claim('a')).toBe(false);
  });

  test('evicts no live claim, and has room again once claims have expired', () => {
    for (const key of ['a', 'b', 'c']) expect(claim(key)).toBe(true);
    expect(() => claim('d')).toThrow(ReplayUnknownError);
    for (const key of ['a', 'b', 'c']) expect(claim(key)).toBe(false);
    now += lifetimeMs;
    expect(claim('d')).toBe(true);
    expect(store.state()).toEqual({ entries: 1 });
  });

  test('makes room behind a claim that outlives others', () => {
    claim('long', lifetimeMs * 2);
    claim('short');
    now += lifetimeMs * 2;
    claim('new');
    expect(store.state()).toEqual({ entries: 1 });
  });

  test('puts a key that is claimed again behind the others', () => {
    store = createMemoryReplayStore({ now: () => now });
    claim('again');
    claim('short', lifetimeMs + 1);
    now += lifetimeMs - 500;
    claim('new');
    now += 500;
    expect(claim('again')).toBe(true);
    now += 1000;
    claim('last');
    expect(store.state()).toEqual({ entries: 3 });
  });

  test('has room for 200,000 claims by default', () => {
    const large = createMemoryReplayStore({ now: () => now });
    for (let key = 0; key < 200_000; key += 1) large.claim(String(key), lifetimeMs);
    expect(() => large.claim('one more', lifetimeMs)).toThrow(ReplayUnknownError);
  });

  test('holds claims that the clock is set back behind', () => {
    claim('a');
    now -= 3_600_000;
    expect(claim('a')).toBe(false);
    expect(claim('b')).toBe(true);
    now += 3_600_000 + lifetimeMs - 1;
    expect(claim('a')).toBe(false);
  });

  test('accepts nothing whose claim it may have forgotten when the clock is set back', () => {
    claim('a');
    now += lifetimeMs + 1000;
    expect(claim('b')).toBe(true);
    now -= lifetimeMs + 1000;
    expect(() => claim('a')).toThrow(ReplayUnknownError);
    expect(() => claim('c')).toThrow(ReplayUnknownError);
    now += 1;
    expect(claim('c')).toBe(true);
  });
});
