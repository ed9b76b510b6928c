import { beforeEach, describe, expect, test } from 'bun:test';
import { createMemoryReplayStore, type MemoryReplayStore } from '../../../src/auth/proof/replay-store.ts';

const lifetimeMs = 90_000;

describe('createMemoryReplayStore()', () => {
  let now: number;
  let store: MemoryReplayStore;
  const use = (key: string, lifetime = lifetimeMs) => store.markUsed(key, lifetime);

  beforeEach(() => {
    now = 1_900_000_000_000;
    store = createMemoryReplayStore({ maxEntries: 3, now: () => now });
  });

  test('keeps a key until its time has passed and no longer, even if it is used again', () => {
    now += 500;
    expect(use('a')).toBe(true);
    now += lifetimeMs - 1;
    expect(use('a')).toBe(false);
    now += 1;
    expect(use('a')).toBe(true);
    now += 1000;
    expect(use('b')).toBe(true);
    expect(use('a')).toBe(false);
  });

  test('evicts no live entry, and has room again once entries have expired', () => {
    for (const key of ['a', 'b', 'c']) expect(use(key)).toBe(true);
    expect(() => use('d')).toThrow('full');
    for (const key of ['a', 'b', 'c']) expect(use(key)).toBe(false);
    now += lifetimeMs;
    expect(use('d')).toBe(true);
    expect(store.state()).toEqual({ entries: 1 });
  });

  test('has room for 220 proofs a second in 20,000 entries while one proof a minute has the longest lifetime', () => {
    store = createMemoryReplayStore({ maxEntries: 20_000, now: () => now });
    for (let second = 0; second < 300; second += 1) {
      if (second % 60 === 0) expect(use(`long ${second}`, 150_000)).toBe(true);
      for (let index = 0; index < 220; index += 1) if (!use(`${second} ${index}`)) throw new Error('Held up');
      now += 1000;
    }
  });

  test('has room for 200,000 keys by default', () => {
    const large = createMemoryReplayStore({ now: () => now });
    for (let key = 0; key < 200_000; key += 1) large.markUsed(String(key), lifetimeMs);
    expect(() => large.markUsed('one more', lifetimeMs)).toThrow('full');
  });

  test('keeps keys when the clock is set back', () => {
    use('a');
    now -= 3_600_000;
    expect(use('a')).toBe(false);
    now += 3_600_000 + lifetimeMs - 1;
    expect(use('a')).toBe(false);
  });

  test('rejects everything that it may have forgotten when the clock is set back', () => {
    use('a');
    now += lifetimeMs + 1000;
    expect(use('b')).toBe(true);
    now -= lifetimeMs + 1000;
    expect(() => use('a')).toThrow('the clock was set back');
    expect(() => use('c')).toThrow('the clock was set back');
    now += 1;
    expect(use('c')).toBe(true);
  });
});
