/** Stores which proofs were used. Processes with the same public address must share one, or each of them accepts a proof once. */
export interface ReplayStore {
  /**
   * Claims `key` for `lifetimeMs`. Returns true for the first caller, and false for all others until that time has passed.
   * Rejects or throws if it is unknown whether the key is claimed. Must have a time limit of its own, because the request
   * waits for it.
   * @param key at most 64 characters of base64url
   * @param lifetimeMs a whole number, at most 150000
   */
  claim(key: string, lifetimeMs: number): boolean | Promise<boolean>;
}

/** Thrown if it is unknown whether a key is claimed. */
export class ReplayUnknownError extends Error {}

export interface MemoryReplayStoreOptions {
  /** Maximum number of claims. Defaults to 200,000, which take up to 50 MiB and are enough for 2,200 proofs per second. */
  readonly maxEntries?: number;
  /** Wall-clock time in milliseconds since 1970, the same as for proofs; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

export interface MemoryReplayStore extends ReplayStore {
  claim(key: string, lifetimeMs: number): boolean;
  /** Number of claims, including some that may have expired. */
  state(): { readonly entries: number };
}

/** Finding expired claims is not free: the Map iterates over the gaps that deleted entries left. */
const sweepIntervalMs = 1000;

/** Returns a store in the memory of this process. It never evicts a live claim. While it is full, new claims are rejected. */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): MemoryReplayStore {
  const { maxEntries = 200_000, now = Date.now } = options;
  const expiresAtMs = new Map<string, number>();
  let sweptAtMs = now();
  // If the clock is set back, proofs whose claims were swept are valid again. They expire no later than this.
  let sweptUntilMs = Number.NEGATIVE_INFINITY;

  /** Iterates in the order of claims, so a live claim can delay the removal of later ones, by at most one lifetime. */
  function sweep(nowMs: number): void {
    if (Math.abs(nowMs - sweptAtMs) < sweepIntervalMs) return;
    sweptAtMs = nowMs;
    for (const [key, expiryMs] of expiresAtMs) {
      if (expiryMs > nowMs) return;
      expiresAtMs.delete(key);
      sweptUntilMs = Math.max(sweptUntilMs, expiryMs);
    }
  }

  return {
    claim(key, lifetimeMs) {
      const nowMs = now();
      sweep(nowMs);
      const heldUntilMs = expiresAtMs.get(key);
      if (heldUntilMs !== undefined && heldUntilMs > nowMs) return false;
      const expiryMs = nowMs + lifetimeMs;
      if (expiryMs <= sweptUntilMs) throw new ReplayUnknownError('Cannot claim a proof: the clock was set back');
      if (expiresAtMs.size >= maxEntries)
        throw new ReplayUnknownError('Cannot claim a proof: the memory for used proofs is full');
      expiresAtMs.delete(key);
      expiresAtMs.set(key, expiryMs);
      return true;
    },
    state: () => ({ entries: expiresAtMs.size }),
  };
}
