import { heapStats } from 'bun:jsc';
import { deepFreeze } from '../../../src/auth/jose/encoding.ts';
import { createTokenCache } from '../../../src/auth/token/token-cache.ts';

/** Fills a cache of 64 MiB with claims of one shape, cut from long header lines, and prints the heap that this took. */
const shape = process.argv[2] ?? '';
/** What is left for claims in a token of 8 KiB; less for shapes that the cache would then not store. */
let maxLength = 5800;
const header = `Bearer${' '.repeat(8000)}`;

function fill(item: (index: number) => string, [open, close] = '[]'): string {
  let text = open ?? '';
  for (let index = 0; ; index++) {
    const next = `${index === 0 ? '' : ','}${item(index)}`;
    if (text.length + next.length >= maxLength) return text + close;
    text += next;
  }
}
const nest = (open: string, close: string) => {
  const depth = Math.floor((maxLength - 1) / (open.length + close.length));
  return `${open.repeat(depth)}1${close.repeat(depth)}`;
};
const name = (token: number, index: number) => `${token.toString(36)}${index.toString(36)}`;

const shapes: Record<string, (token: number) => string> = {
  'empty objects': () => fill(() => '{}'),
  'arrays of one number': () => fill(() => '[1]'),
  'short strings': (token) => fill((index) => `"${name(token, index)}"`),
  'a long string outside of Latin 1': (token) => `["${String(token).padEnd(1900, '€')}"]`,
  'nested arrays': () => nest('[', ']'),
  'nested objects with one name': () => nest('{"a":', '}'),
  'nested objects with new names': (token) => {
    let text = '1';
    for (let index = 0; text.length < maxLength - 12; index++) text = `{"${name(token, index)}":${text}}`;
    return text;
  },
  'arrays under new names': (token) => fill((index) => `{"${name(token, index)}":[1]}`),
  'numbers as names': () => fill(() => '{"0":1}'),
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

const claimsOf = shapes[shape];
if (claimsOf === undefined) {
  console.log(JSON.stringify(Object.keys(shapes)));
} else {
  const newCache = () => createTokenCache({ maxEntries: 1_000_000, isGood: () => true, random: () => 0 });
  const offer = (cache: ReturnType<typeof newCache>, token: number) => {
    const text = claimsOf(token);
    const line = `${header}${token}.${'x'.repeat(text.length)}`;
    cache.set(line.slice(header.length), { claims: deepFreeze(JSON.parse(text)) });
  };
  const isStored = () => {
    const probe = newCache();
    for (const token of [0, 1]) offer(probe, token);
    return probe.size > 0;
  };
  while (!isStored()) maxLength -= 50;

  const heapBytes = () => {
    Bun.gc(true);
    return heapStats().heapSize;
  };
  const before = heapBytes();
  const cache = newCache();
  for (let token = 0; token < 10 || token < 1.5 * cache.size; token++) offer(cache, token);
  const heap = heapBytes() - before;
  console.log(JSON.stringify({ entries: cache.size, estimated: cache.bytes, heap }));
}
