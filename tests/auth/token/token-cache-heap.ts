import { heapStats } from 'bun:jsc';
import { TokenCache } from '../../../src/auth/token/token-cache.ts';
import { deepFreeze } from '../../../src/auth/values/json.ts';

const header = `Bearer${' '.repeat(8000)}`;
/** The space for claims in a token of 16 KiB. */
const maxLength = 11_900;

const list = (count: number, item: (index: number) => string) =>
  `[${Array.from({ length: count }, (_, index) => item(index))}]`;
const name = (token: number, index: number) => `${token.toString(36)}${index.toString(36)}`;

export const shapes: Record<string, (token: number, count: number) => string> = {
  'empty objects': (_, count) => list(count, () => '{}'),
  'arrays of one number': (_, count) => list(count, () => '[1]'),
  'short strings': (token, count) => list(count, (index) => `"${name(token, index)}"`),
  'a long string outside of Latin 1': (token) => `["${String(token).padEnd(1900, '€')}"]`,
  'nested arrays': (_, count) => `${'['.repeat(count)}1${']'.repeat(count)}`,
  'nested objects with one name': (_, count) => `${'{"a":'.repeat(count)}1${'}'.repeat(count)}`,
  'nested objects with new names': (token, count) =>
    Array.from({ length: count }, (_, index) => `{"${name(token, index)}":`).join('') + 1 + '}'.repeat(count),
  'arrays under new names': (token, count) => list(count, (index) => `{"${name(token, index)}":[1]}`),
  'numbers as names': (_, count) => list(count, () => '{"0":1}'),
  'an ordinary token': (token) =>
    JSON.stringify({
      iss: 'https://tenant.example.com/',
      sub: `client-${token}`,
      aud: ['https://api.example.com', 'https://tenant.example.com/userinfo'],
      iat: 1700000000 + token,
      exp: 1700086400 + token,
      azp: 'client-id-0123456789',
      scope: 'openid profile email read:messages',
      jti: crypto.randomUUID(),
    }),
};

/** Fills a cache with claims of one shape, from slices of long header lines, and returns the heap that it takes. */
async function measure(claimsOf: (token: number, count: number) => string, limit: { maxBytes?: number }) {
  const newCache = () => new TokenCache({ maxEntries: 1_000_000, isGood: () => true, random: () => 0, ...limit });
  const offer = (cache: ReturnType<typeof newCache>, token: number, count: number) => {
    const text = claimsOf(token, count);
    if (text.length > maxLength) return;
    const line = `${header}${token}.${'x'.repeat(text.length)}`;
    cache.set(line.slice(header.length), { claims: deepFreeze(JSON.parse(text)) });
  };
  const isStored = (count: number) => {
    const probe = newCache();
    for (const token of [10_000, 10_001]) offer(probe, token, count);
    return probe.size > 0;
  };
  // As many values as a token has room for, or fewer, if the cache would not store those.
  let [count, tooMany] = [1, maxLength / 2 + 1];
  while (tooMany - count > 1) {
    const between = Math.floor((count + tooMany) / 2);
    if (isStored(between)) count = between;
    else tooMany = between;
  }

  /** The least of five: what a compiler or the stack still holds on a busy machine is no cache. */
  const heapBytes = async () => {
    const sizes: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      await new Promise(setImmediate);
      Bun.gc(true);
      sizes.push(heapStats().heapSize);
    }
    return Math.min(...sizes);
  };
  const before = await heapBytes();
  const cache = newCache();
  for (let token = 0; token < 10 || token < 1.2 * cache.size; token++) offer(cache, token, count);
  return { heap: (await heapBytes()) - before, entries: cache.size, estimated: cache.bytes };
}

const [, , shape = '', maxBytes] = process.argv;
const claimsOf = shapes[shape];
if (import.meta.main && claimsOf)
  console.log(JSON.stringify(await measure(claimsOf, maxBytes === undefined ? {} : { maxBytes: Number(maxBytes) })));
