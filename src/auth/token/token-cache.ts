import type { TimeAndRandom } from '../values/clock.ts';
import { RecentMap } from '../values/recent-map.ts';

export interface TokenCache<Entry> {
  /** Tokens in the cache. */
  readonly size: number;
  /** Their estimated heap size in bytes. */
  readonly bytes: number;
  /** Returns the entry of exactly this token, even if it is no longer valid, and marks it as the most recently used. */
  get(token: string): Entry | undefined;
  /**
   * Offers an entry. It is not stored if it takes more than 1/512 of `maxBytes`. While the cache is full of valid entries,
   * only one entry in {@link admitOneIn} is stored.
   */
  set(token: string, entry: Entry): void;
}

export interface CacheEntry {
  /** The parsed and frozen claims: the part of an entry whose size depends on the token. */
  readonly claims: unknown;
}

export interface TokenCacheOptions<Entry> extends Pick<TimeAndRandom, 'random'> {
  /** At least 1. */
  readonly maxEntries: number;
  /** Limit of the estimated heap size; defaults to 64 MiB. */
  readonly maxBytes?: number;
  /** Whether an entry is still valid. An invalid one can always be replaced. */
  readonly isGood: (entry: Entry) => boolean;
}

/**
 * One in this many new entries is admitted while the cache is full of valid ones. Close to the best value on each of the traces
 * in bench/README.md.
 */
const admitOneIn = 8;
/** Heap size of an entry without the characters of its token and without its claims. */
const entryBytes = 512;
/**
 * Returns a cache of verified tokens, limited in entries and heap size, that evicts the least recently used token. If every new
 * entry were admitted, a rotation of more tokens than the cache holds would evict each token before its next use.
 */
export function createTokenCache<Entry extends CacheEntry>(options: TokenCacheOptions<Entry>): TokenCache<Entry> {
  const { maxEntries, maxBytes = 64 * 1024 * 1024, isGood, random } = options;
  const maxEntryBytes = Math.ceil(maxBytes / 512);
  const cache = new RecentMap<Entry>(maxEntries, maxBytes);

  /** Decided before the size of the entry is known, because most entries are not admitted once the cache is full. */
  function isAdmitted(): boolean {
    const { oldest } = cache;
    const isFull = cache.size === maxEntries || cache.bytes > maxBytes - maxEntryBytes;
    return !isFull || oldest === undefined || !isGood(oldest) || random() * admitOneIn < 1;
  }

  return {
    get size() {
      return cache.size;
    },
    get bytes() {
      return cache.bytes;
    },
    get: (token) => cache.get(token),
    set(token, entry) {
      if (cache.peek(token) === undefined && !isAdmitted()) return;
      const bytes = entryBytes + token.length + heapBytes(entry.claims);
      if (bytes > maxEntryBytes) cache.delete(token);
      else cache.set(ownCopy(token), entry, bytes);
    },
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A token is a slice of its header line, and would keep the whole line in memory, including up to 16 KiB of spaces. */
function ownCopy(token: string): string {
  return decoder.decode(encoder.encode(token));
}

/**
 * Returns an upper bound of the heap size of frozen claims. Measured in JavaScriptCore, which stores the elements of a frozen
 * array in a hash table and may allocate a structure for each sequence of member names. V8 needs less.
 */
function heapBytes(value: unknown): number {
  if (typeof value === 'string') return 40 + 2 * value.length;
  if (typeof value !== 'object' || value === null) return 0;
  const members = Object.values(value);
  const own = Array.isArray(value) ? 208 + 64 * members.length : 320 + 320 * members.length;
  return members.reduce((bytes: number, member) => bytes + heapBytes(member), own);
}
