import type { ReplayStoreEvent } from '../types.ts';
import { nameOfFault } from '../values/faults.ts';
import { notify } from '../values/promises.ts';

/** Maximum difference between the clocks of processes that share a store. Marks outlast the window by it. */
export const clockDifferenceMs = 30_000;

export type MemoryReplayStore = ReturnType<typeof createMemoryReplayStore>;

/** Up to 50 MiB, and 2,200 proofs per second with the default maximum age. */
const maxUsedProofs = 200_000;

/** The longest that a proof is valid, with the largest maximum age: `lifetimeMs` is no longer. */
const longestLifetimeMs = 630_000;

/** Why the store in memory cannot tell. Unlike the message of any other exception, this one can be logged. */
class StoreFault extends Error {}

const describeClock = (aheadMs: number) =>
  `the clock was set back${aheadMs > longestLifetimeMs ? ` by about ${Math.round(aheadMs / 60_000)} minutes: restart this process` : ''}`;

let sharedStore: MemoryReplayStore | undefined;

/** Returns the store that guards of this process share by default, so that none accepts another's used proof. */
export function sharedMemoryStore(): MemoryReplayStore {
  sharedStore ??= createMemoryReplayStore();
  return sharedStore;
}

/** Returns a store in the memory of this process. It never evicts a live entry. While it is full, it throws. */
export function createMemoryReplayStore({ maxEntries = maxUsedProofs, now = Date.now } = {}) {
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
    markUsed(key: string, lifetimeMs: number): boolean {
      const nowMs = now();
      sweep(nowMs);
      const usedUntilMs = expiriesMs.get(key);
      if (usedUntilMs !== undefined && usedUntilMs > nowMs) return false;
      const expiryMs = nowMs + lifetimeMs;
      if (expiryMs <= sweptUntilMs) throw new StoreFault(describeClock(sweptUntilMs - nowMs));
      if (expiriesMs.size >= maxEntries) throw new StoreFault('the memory for used proofs is full');
      put(key, expiryMs);
      return true;
    },
    /** The number of used proofs, including some that may have expired. */
    state: () => ({ entries: expiriesMs.size }),
  };
}

/** Returns a function that gets the outcome of each use, and tells a listener when failures begin and when they end. */
export function createStoreWatch(
  onEvent: (event: ReplayStoreEvent) => unknown = warnOnConsole,
): (fault?: unknown) => void {
  let failures = 0;
  const report = (event: ReplayStoreEvent) => notify(() => onEvent(event));
  return (...faults) => {
    const earlier = failures;
    failures = faults.length > 0 ? earlier + 1 : 0;
    if (failures === 1) report({ type: 'failed', cause: describeCause(faults[0]) });
    else if (failures === 0 && earlier > 0) report({ type: 'recovered', failures: earlier });
  };
}

const describeCause = (fault: unknown) => (fault instanceof StoreFault ? fault.message : nameOfFault(fault));

function warnOnConsole(event: ReplayStoreEvent): void {
  const warning =
    event.type === 'failed'
      ? `Cannot use the replay store: ${event.cause}. Requests with DPoP get a 503`
      : `The replay store can be used again. Requests that got a 503: ${event.failures}`;
  // biome-ignore lint/suspicious/noConsole: without it, a store that fails would show only as 503.
  console.warn(warning);
}
