import { parseArgs } from 'node:util';
import { SieveCache } from '@neophi/sieve-cache';
import { LRUCache } from 'lru-cache';
import { newCache } from 'transitory';
import { createTokenCache } from '../src/auth/token/token-cache.ts';
import { table, writeSection } from './harness/results-page.ts';

const usage = `Replays traces of tokens against caches of 10,000 and writes a section of bench/results.md
  --requests N   of each trace (1000000)
  --print        print the section instead of writing it`;

const room = 10_000;

/** Returns whether a token is in the cache, and offers it if not. All tokens of the traces stay valid. */
type Replay = (token: string) => boolean;

function replayOn(get: (token: string) => unknown, set: (token: string) => unknown): Replay {
  return (token) => {
    const isHit = get(token) !== undefined;
    if (!isHit) set(token);
    return isHit;
  };
}

function lru(admitOneIn: number): Replay {
  const cache = new LRUCache<string, true>({ max: room });
  return replayOn(
    (token) => cache.get(token),
    (token) => (cache.size < room || Math.random() * admitOneIn < 1) && cache.set(token, true),
  );
}

function service(): Replay {
  const cache = createTokenCache<{ claims: object }>({ maxEntries: room, isGood: () => true });
  return replayOn(cache.get, (token) => cache.set(token, { claims: {} }));
}

function sieve(): Replay {
  const cache = new SieveCache<string, true>(room);
  return replayOn(
    (token) => cache.get(token),
    (token) => cache.set(token, true),
  );
}

function tinyLfu(): Replay {
  const cache = newCache<string, true>().maxSize(room).build();
  return replayOn(
    (token) => cache.getIfPresent(token) ?? undefined,
    (token) => cache.set(token, true),
  );
}

/** S3-FIFO (Yang et al., SOSP 2023), which no maintained package offers: a tenth is a probationary queue, with as many ghosts as there is room. */
function s3Fifo(): Replay {
  const uses = new Map<string, number>();
  const [small, main, ghosts] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const shift = (queue: Set<string>) => {
    const [first = ''] = queue;
    queue.delete(first);
    return first;
  };
  function evictFromMain(): void {
    for (;;) {
      const token = shift(main);
      const count = uses.get(token) ?? 0;
      if (count === 0) return void uses.delete(token);
      uses.set(token, count - 1);
      main.add(token);
    }
  }
  function evictFromSmall(): void {
    const token = shift(small);
    if ((uses.get(token) ?? 0) > 1) return void main.add(token);
    uses.delete(token);
    ghosts.add(token);
    if (ghosts.size > room) shift(ghosts);
  }
  return (token) => {
    const count = uses.get(token);
    if (count !== undefined) uses.set(token, Math.min(3, count + 1));
    else {
      while (uses.size >= room) small.size < room / 10 ? evictFromMain() : evictFromSmall();
      uses.set(token, 0);
      (ghosts.delete(token) ? main : small).add(token);
    }
    return count !== undefined;
  };
}

const caches: Record<string, () => Replay> = {
  LRU: () => lru(1),
  'LRU, admits 1 in 2': () => lru(2),
  'LRU, admits 1 in 4': () => lru(4),
  'LRU, admits 1 in 16': () => lru(16),
  'LRU, admits 1 in 64': () => lru(64),
  'this service': service,
  'SIEVE (@neophi/sieve-cache)': sieve,
  'S3-FIFO (written here)': s3Fifo,
  'W-TinyLFU (transitory)': tinyLfu,
};

const integer = (below: number) => Math.floor(Math.random() * below);

/** Ranks below `count`, the first the most frequent, by a table of the cumulated frequencies. */
function zipf(exponent: number, count: number): () => number {
  let sum = 0;
  const sums = Float64Array.from({ length: count }, (_, rank) => {
    sum += (rank + 1) ** -exponent;
    return sum;
  });
  return () => {
    const drawn = Math.random() * sum;
    let [low, high] = [0, count - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sums[middle] ?? 0) < drawn) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

/** So many sessions at a time, each a token that is used 200 times and never again, though it stays good. */
function sessions(atOnce: number): () => number {
  const tokens = Array.from({ length: atOnce }, (_, place) => place);
  const left = tokens.map(() => 1 + integer(200));
  let latest = atOnce;
  return () => {
    const place = integer(atOnce);
    if (left[place] === 0) {
      tokens[place] = latest++;
      left[place] = 200;
    }
    left[place] = (left[place] ?? 0) - 1;
    return tokens[place] ?? 0;
  };
}

function rotation(count: number): () => number {
  let at = 0;
  return () => at++ % count;
}

/** Every other request is another token of one client, never used again. */
function flooded(others: () => number): () => number {
  let request = 0;
  return () => (request++ % 2 === 0 ? others() : -request);
}

const traces: Record<string, () => () => number> = {
  'Zipf 0.8 over 100,000': () => zipf(0.8, 100_000),
  'Zipf 1.0 over 100,000': () => zipf(1, 100_000),
  '2,000 sessions of 200 uses': () => sessions(2_000),
  '9,000 sessions of 200 uses': () => sessions(9_000),
  '15,000 sessions of 200 uses': () => sessions(15_000),
  'rotation of 11,000': () => rotation(11_000),
  'rotation of 20,000': () => rotation(20_000),
  'Zipf 1.0, flooded': () => flooded(zipf(1, 100_000)),
  '2,000 sessions, flooded': () => flooded(sessions(2_000)),
};

/** The share of hits among requests that could hit: those of a flood cannot. The first tenth warms up. */
function hitRate(newReplay: () => Replay, newTrace: () => () => number, requests: number): number {
  const replay = newReplay();
  const next = newTrace();
  let [hits, chances] = [0, 0];
  for (let request = 0; request < requests; request += 1) {
    const token = next();
    const isHit = replay(`${token}`);
    if (request < requests / 10 || token < 0) continue;
    chances += 1;
    if (isHit) hits += 1;
  }
  return hits / chances;
}

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '1000000' }, print: { type: 'boolean' }, help: { type: 'boolean' } },
});
if (values.help) console.log(usage);
else {
  const requests = Number(values.requests);
  const names = Object.keys(caches);
  const rates = Object.values(traces).map((newTrace) =>
    Object.values(caches).map((newReplay) => hitRate(newReplay, newTrace, requests)),
  );
  const cells = names.map((_, cache) => rates.map((row) => row[cache] ?? 0));
  const worst = cells.map((row) => Math.max(...row.map((rate, trace) => Math.max(...(rates[trace] ?? [])) - rate)));
  const percent = (rate: number) => (rate * 100).toFixed(1);
  const section = `## Which tokens the cache keeps (\`bun run bench:admission\`)

Percent of requests that hit a cache of 10,000 entries: ${requests.toLocaleString('en')} requests of each trace, the first tenth not counted; requests of a flood are not counted either, since nothing can make them hit. The last column is the greatest distance from the best of a trace.

${table(
  ['', ...Object.keys(traces), 'worst distance'],
  cells.map((row, cache) => [names[cache] ?? '', ...row.map(percent), percent(worst[cache] ?? 0)]),
)}
`;
  if (values.print) console.log(section);
  else writeSection('admission', section);
}
