/** Stores which proofs were used. Processes with the same public URL must share one, or each of them accepts a proof once. */
export interface ReplayStore {
  /**
   * Marks `key` as used for `lifetimeMs`. Returns true for the first caller, and false for all others until that time has passed.
   * Rejects or throws if it is unknown whether the key was used. Must have a time limit of its own, because the request waits
   * for it.
   * @param key at most 64 characters of base64url
   * @param lifetimeMs a whole number from 30000 to 150000
   * @param issuedAtMs when the proof was created, in milliseconds since 1970: a store must reject a proof that is older than its
   * data, because it may have been used before
   */
  markUsed(key: string, lifetimeMs: number, issuedAtMs: number): boolean | Promise<boolean>;
}

/** Maximum difference between the `iat` of a proof and the current time, in either direction. */
export const windowMs = 60_000;

/** Maximum difference between the clocks of processes that share a store. Marks last this much longer than the window. */
const clockDifferenceMs = 30_000;

/** How long a proof that was just created is marked as used. */
export const usualLifetimeMs = windowMs + clockDifferenceMs;

export interface MemoryReplayStoreOptions {
  /** Maximum number of used proofs. Defaults to 200,000, which take up to 50 MiB and are enough for 2,200 proofs per second. */
  readonly maxEntries?: number;
  /** Wall-clock time in milliseconds since 1970, the same as for proofs; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export interface MemoryReplayStore extends ReplayStore {
  markUsed(key: string, lifetimeMs: number): boolean;
  /** Number of used proofs, including some that may have expired. */
  state(): { readonly entries: number };
}

let sharedStore: MemoryReplayStore | undefined;

/** Returns the store that guards of this process share by default, because none may accept a proof that another has accepted. */
export function sharedMemoryStore(): MemoryReplayStore {
  sharedStore ??= createMemoryReplayStore();
  return sharedStore;
}

/**
 * Returns a store in the memory of this process. It never evicts a live entry. While it is full, it throws.
 */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): MemoryReplayStore {
  const { maxEntries = 200_000, now = Date.now } = options;
  const expiriesMs = new Map<string, number>();
  /** The keys by the second at whose end they expire, so a long-lived key does not delay the removal of others. */
  const buckets = new Map<number, string[]>();
  let sweptSecond = Number.NaN;
  // If the clock is set back, proofs that were swept are valid again. They expire no later than this.
  let sweptUntilMs = Number.NEGATIVE_INFINITY;

  function sweep(nowMs: number): void {
    const second = Math.floor(nowMs / 1000);
    if (second === sweptSecond) return;
    sweptSecond = second;
    for (const [end, keys] of buckets) {
      if (end > second) continue;
      buckets.delete(end);
      for (const key of keys) if ((expiriesMs.get(key) ?? 0) <= nowMs) expiriesMs.delete(key);
      sweptUntilMs = Math.max(sweptUntilMs, end * 1000);
    }
  }

  function put(key: string, expiryMs: number): void {
    const end = Math.ceil(expiryMs / 1000);
    const bucket = buckets.get(end);
    if (bucket) bucket.push(key);
    else buckets.set(end, [key]);
    expiriesMs.set(key, expiryMs);
  }

  return {
    markUsed(key, lifetimeMs) {
      const nowMs = now();
      sweep(nowMs);
      const usedUntilMs = expiriesMs.get(key);
      if (usedUntilMs !== undefined && usedUntilMs > nowMs) return false;
      const expiryMs = nowMs + lifetimeMs;
      if (expiryMs <= sweptUntilMs) throw new Error('Cannot mark a proof as used: the clock was set back');
      if (expiriesMs.size >= maxEntries) throw new Error('Cannot mark a proof as used: the memory is full');
      put(key, expiryMs);
      return true;
    },
    state: () => ({ entries: expiriesMs.size }),
  };
}
