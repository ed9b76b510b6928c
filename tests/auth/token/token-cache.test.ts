import { expect, test } from 'bun:test';
import { TokenCache } from '../../../src/auth/token/token-cache.ts';
import { isNight } from '../../support/node-versions.ts';
import { shapes } from './token-cache-heap.ts';

const MiB = 1024 * 1024;
const entry = { claims: {} };

function newCache(options: { maxEntries?: number; maxBytes?: number; random?: () => number } = {}) {
  return new TokenCache({ maxEntries: 2, isGood: () => true, random: Math.random, ...options });
}

test('one in eight new entries replaces the least recently used one in a cache full of valid entries', () => {
  let random = 1 / 8;
  const cache = newCache({ random: () => random });
  for (const token of ['used', 'idle', 'rejected']) cache.set(token, entry);
  cache.get('used');
  expect(cache.get('rejected')).toBeUndefined();
  random = 1 / 8 - Number.EPSILON;
  cache.set('admitted', entry);
  expect(['used', 'idle', 'admitted'].map((token) => cache.get(token) !== undefined)).toEqual([true, false, true]);
});

test('a stored token replaces its own entry, even in a full cache', () => {
  const cache = newCache({ random: () => 0.99 });
  for (const token of ['good', 'other']) cache.set(token, entry);
  const renewed = { claims: {} };
  cache.set('good', renewed);
  expect(cache.get('good')).toBe(renewed);
});

test('an entry of exactly 1/512 of the bytes is stored, and a larger one is not', () => {
  const sizes = [427, 428].map((length) => {
    const cache = newCache({ maxBytes: MiB });
    cache.set('ab', { claims: { a: 'x'.repeat(length) } });
    return cache.size;
  });
  expect(sizes).toEqual([1, 0]);
});

test('the number of bytes limits the cache as well, whether new entries are admitted or not', () => {
  const [closed, open] = [0.99, 0].map((random) => {
    const cache = newCache({ maxEntries: 1_000_000, maxBytes: MiB, random: () => random });
    for (let token = 0; token < 5_000; token++) cache.set(String(token), { claims: { sub: 'x'.repeat(100) } });
    expect(cache.size).toBeWithin(700, 800);
    expect(cache.bytes).toBeLessThanOrEqual(MiB);
    return cache;
  });
  expect(closed?.get('4999')).toBeUndefined();
  expect(open?.get('4999')).toBeDefined();
});

/** Fills a cache in a process of its own, with the default limit unless another is given. */
function fill(shape: string, ...maxBytes: string[]): { entries: number; estimated: number; heap: number } {
  const script = `${import.meta.dir}/token-cache-heap.ts`;
  return JSON.parse(Bun.spawnSync([process.execPath, script, shape, ...maxBytes]).stdout.toString());
}

const limit = (isNight ? 24 : 8) * MiB;
test.each(Object.keys(shapes))('a full cache takes at most its limit of heap: %s', (shape) => {
  let filled = fill(shape, String(limit));
  // On a busy machine, a compiler that has not ended may hold some of it in one process, and not in the next.
  for (let again = 0; again < 2 && filled.heap >= limit; again += 1) filled = fill(shape, String(limit));
  expect(filled.estimated).toBeGreaterThan(0.95 * limit);
  expect(filled.heap).toBeLessThan(limit);
});

test('the default limit of the heap is 64 MiB, enough for the 10,000 ordinary tokens that are cached by default', () => {
  const { entries, estimated, heap } = fill('an ordinary token');
  expect(estimated).toBeGreaterThan(63 * MiB);
  expect(heap).toBeLessThan(64 * MiB);
  expect(entries).toBeGreaterThan(12_000);
});
