/** Monotonic time and timers, so that changes of the wall clock affect neither refresh nor expiry. */
export interface Clock {
  /** Milliseconds since an arbitrary fixed time. */
  now(): number;
  /**
   * Calls back once after `delayMs`, and returns a function that cancels the call.
   * @param delayMs below 2^31, because `setTimeout` would call back at once; the bounds of the options keep it below
   */
  schedule(callback: () => void, delayMs: number): () => void;
}

/** What differs each time that the same code runs. Tests replace it. */
export interface TimeAndRandom {
  /** Monotonic time, for the age of keys. */
  readonly clock: Clock;
  /** Wall-clock time in milliseconds since 1970, for times in tokens and proofs. */
  readonly now: () => number;
  /** At least 0 and below 1. */
  readonly random: () => number;
}

/** The clock of the process. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: () => performance.now(),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    // Deno and Cloudflare Workers return a number.
    if (typeof timer === 'object') timer.unref();
    else (globalThis as { Deno?: { unrefTimer(id: unknown): void } }).Deno?.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};
