export function createFrozenClock() {
  let now = 1_000_000;
  const timers = new Set<{ readonly at: number; readonly callback: () => void }>();
  const firstDue = (until: number) => [...timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];

  let setBacks = 0;
  return {
    now: () => now,
    get setBacks() {
      return setBacks;
    },
    /** Sets the wall clock back. */
    setBack() {
      setBacks += 1;
    },
    schedule(callback: () => void, delayMs: number) {
      if (delayMs < 0) throw new RangeError(`A timer cannot wait ${delayMs} ms`);
      const timer = { at: now + delayMs, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms: number) {
      const until = now + ms;
      for (let due = firstDue(until); due; due = firstDue(until)) {
        timers.delete(due);
        now = Math.max(now, due.at);
        due.callback();
      }
      now = until;
    },
    /** Advances the time without calling timers, as in a process that was stopped. */
    pause(ms: number) {
      now += ms;
    },
    /** Forgets the timers, as Cloudflare Workers do at the end of a request. */
    loseTimers: () => timers.clear(),
    get waiting() {
      return timers.size;
    },
  };
}
