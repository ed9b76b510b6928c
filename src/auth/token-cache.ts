import { LRUCache } from 'lru-cache';

export interface TokenCache<Entry> {
  /** Tokens in the cache. */
  readonly size: number;
  /** Estimated heap that they take. */
  readonly bytes: number;
  /** Returns the entry of exactly this token, good or not, and counts it as the most recently used. */
  get(token: string): Entry | undefined;
  /**
   * Offers an entry. It is not stored if it alone takes more than a 512th of `maxBytes`, nor, mostly, if the cache is full
   * of good entries.
   */
  set(token: string, entry: Entry): void;
}

export interface CacheEntry {
  /** What the token says, parsed and frozen: the part of an entry whose size depends on the token. */
  readonly claims: unknown;
}

export interface TokenCacheOptions<Entry> {
  /** At least 1. */
  readonly maxEntries: number;
  /** Bounds the estimated heap; 64 MiB by default. */
  readonly maxBytes?: number;
  /** Whether an entry would still be accepted; a bad one gives way to any newcomer. */
  readonly isGood: (entry: Entry) => boolean;
  /** At least 0 and below 1; `Math.random` by default. */
  readonly random?: () => number;
}

/** While the cache is full of good entries, one in so many newcomers is admitted: on no trace of `bench/admission.ts` far from the best. */
const admitOneIn = 8;
/** Key, entry and their places in the cache, without characters and claims. */
const entryBytes = 512;

/**
 * Returns a cache of verified tokens, bounded by entries and by heap, that replaces the least recently used.
 * If each newcomer were admitted, a rotation of more tokens than there is room for would evict each token before its next use.
 */
export function createTokenCache<Entry extends CacheEntry>(options: TokenCacheOptions<Entry>): TokenCache<Entry> {
  const { maxEntries, maxBytes = 64 * 1024 * 1024, isGood, random = Math.random } = options;
  const cache = new LRUCache<string, Entry>({
    // Its tables are allocated at once: no larger than for as many entries as there can be.
    max: Math.max(1, Math.min(maxEntries, Math.floor(maxBytes / entryBytes))),
    maxSize: maxBytes,
    maxEntrySize: Math.ceil(maxBytes / 512),
  });
  const claimsBytes = createHeapEstimate();

  function isAdmitted(size: number): boolean {
    const hasRoom = cache.size < cache.max && cache.calculatedSize + size <= maxBytes;
    if (hasRoom) return true;
    const oldest = cache.rvalues().next().value;
    return oldest === undefined || !isGood(oldest) || random() * admitOneIn < 1;
  }

  return {
    get size() {
      return cache.size;
    },
    get bytes() {
      return cache.calculatedSize;
    },
    get: (token) => cache.get(token),
    set(token, entry) {
      const size = entryBytes + token.length + claimsBytes(entry.claims);
      if (cache.has(token) || isAdmitted(size)) cache.set(copyOf(token), entry, { size });
    },
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A token is a slice of its header line, and would keep the whole line in memory: up to 16 KiB of spaces before it. */
function copyOf(token: string): string {
  return decoder.decode(encoder.encode(token));
}

/** Most tokens have the same names in the same order. Long sequences, and names that are numbers, are kept with each object. */
const maxKnownShapes = 256;
const maxShapeNames = 32;

/**
 * Returns a function that estimates, never too low, the heap that frozen claims take. Measured in JavaScriptCore, which keeps
 * the elements of a frozen array in a hash table, and describes each new sequence of member names; V8 needs less.
 */
function createHeapEstimate(): (value: unknown) => number {
  const knownShapes = new Set<string>();

  function namesBytes(names: readonly string[]): number {
    const shape = JSON.stringify(names);
    if (knownShapes.has(shape)) return 64 + 24 * names.length;
    const isShared = names.length <= maxShapeNames && !names.some((name) => /^\d/.test(name));
    if (isShared && knownShapes.size < maxKnownShapes) knownShapes.add(shape);
    return 320 + 320 * names.length;
  }

  return function estimate(value): number {
    if (typeof value === 'string') return 40 + 2 * value.length;
    if (typeof value !== 'object' || value === null) return 0;
    const members = Object.values(value);
    let bytes = Array.isArray(value) ? 208 + 64 * members.length : namesBytes(Object.keys(value));
    for (const member of members) bytes += estimate(member);
    return bytes;
  };
}
