import { runtime } from './runtime.ts';

/** Time that never goes back, and timers. */
export interface Clock {
  /** Milliseconds since an arbitrary fixed time, those included for which the machine was suspended. */
  now(): number;
  /** How often the wall clock was set back. What was fetched may then be older than `now` says. */
  readonly setBacks: number;
  /**
   * Calls back once after `delayMs`, and returns a function that cancels the call.
   * @param delayMs below 2^31, because `setTimeout` would call back at once; the bounds of the options keep it below
   */
  schedule(callback: () => void, delayMs: number): () => void;
}

/** What differs each time that the same code runs. Tests replace it. */
export interface TimeAndRandom {
  /** For the age of keys. */
  readonly clock: Clock;
  /** Wall-clock time in milliseconds since 1970, for times in tokens and proofs. */
  readonly now: () => number;
  /** At least 0 and below 1. */
  readonly random: () => number;
}

/** A wall clock that is set back by less, as clocks that are synchronized are, is not taken for set back. */
const toleranceMs = 1000;

/**
 * Returns the time by both clocks of a machine: from any moment to another, the larger of what they say has passed. The
 * monotonic one stands still while a machine is suspended, as between two calls of a function on AWS Lambda.
 */
export function createTime(monotonic: () => number, wall: () => number): Pick<Clock, 'now' | 'setBacks'> {
  let difference = Number.NaN;
  let suspendedMs = 0;
  let setBacks = 0;
  return {
    now() {
      const elapsed = monotonic();
      const next = wall() - elapsed;
      if (next > difference) suspendedMs += next - difference;
      else if (next < difference - toleranceMs) setBacks += 1;
      else if (next <= difference) return elapsed + suspendedMs;
      difference = next;
      return elapsed + suspendedMs;
    },
    get setBacks() {
      return setBacks;
    },
  };
}

// Looked up at each call, because fake timers replace them.
const systemTime = createTime(
  () => performance.now(),
  () => Date.now(),
);

/** The clock of the process. Its timers do not keep the process alive. */
export const systemClock: Clock = {
  now: systemTime.now,
  get setBacks() {
    return systemTime.setBacks;
  },
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs);
    // Deno and Cloudflare Workers return a number.
    if (typeof timer === 'object') timer.unref();
    else runtime.Deno?.unrefTimer(timer);
    return () => clearTimeout(timer);
  },
};
