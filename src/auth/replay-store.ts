/** Remembers which proofs were used. One for all processes that share a public address, or a proof can be used once at each. */
export interface ReplayStore {
  /**
   * Claims `key` for `lifetimeMs`: true for the first caller only, false for every other until that time has passed.
   * Rejects, or throws, when it cannot be known whether the key is claimed. It must settle within a time of its own: the
   * request waits for it.
   * @param key at most 64 characters of base64url
   * @param lifetimeMs a whole number, at most 150000
   */
  claim(key: string, lifetimeMs: number): boolean | Promise<boolean>;
}

/** Thrown when it cannot be known whether a key is claimed. */
export class ReplayUnknownError extends Error {}

export interface MemoryReplayStoreOptions {
  /** How many claims are held at most: 200000 by default, which take up to 50 MiB and last for 2200 proofs a second. */
  readonly maxEntries?: number;
  /** Wall-clock time in milliseconds since 1970, as the proofs are judged by; `Date.now` by default. */
  readonly now?: (() => number) | undefined;
}

export interface MemoryReplayStore extends ReplayStore {
  claim(key: string, lifetimeMs: number): boolean;
  /** How many claims are held, some of them perhaps no longer live. */
  state(): { readonly entries: number };
}

/** Looking for claims that are no longer live costs a walk over the holes that earlier ones left. */
const sweepIntervalMs = 1000;

/** Returns a store in this process's memory. It gives up no live claim to make room: when it is full, new claims are rejected. */
export function createMemoryReplayStore(options: MemoryReplayStoreOptions = {}): MemoryReplayStore {
  const { maxEntries = 200_000, now = Date.now } = options;
  const expiresAtMs = new Map<string, number>();
  let sweptAtMs = now();
  // A clock that is set back makes proofs good again whose claims were swept. They would expire no later than this.
  let sweptUntilMs = Number.NEGATIVE_INFINITY;

  /** In the order of claims, so one that is live keeps others behind it for a while, by no more than a lifetime. */
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
      if (expiryMs <= sweptUntilMs) throw new ReplayUnknownError('The clock was set back past what is remembered');
      if (expiresAtMs.size >= maxEntries) throw new ReplayUnknownError('The memory of used proofs is full');
      expiresAtMs.delete(key);
      expiresAtMs.set(key, expiryMs);
      return true;
    },
    state: () => ({ entries: expiresAtMs.size }),
  };
}
