/** Monotonic time and timers, so that a wall clock that jumps moves neither a refresh nor an expiry. */
export interface Clock {
  /** Milliseconds since some fixed moment. */
  now(): number;
  /** Calls back once, after `delayMs`; returns a function that cancels. */
  schedule(callback: () => void, delayMs: number): () => void;
}

/** The clock of the process. */
export const systemClock: Clock = {
  now: () => performance.now(),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
