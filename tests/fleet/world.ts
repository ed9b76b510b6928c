/*
 * Virtual time for real code: hours take milliseconds, and the same seed gives the same run. What a run consists of is
 * decided in simulation.ts.
 */

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

let signatures = 0;
/**
 * Signatures and keys are checked on other threads, which virtual time must not overtake. The real functions are
 * called.
 */
for (const name of ['sign', 'verify', 'importKey', 'digest'] as const) {
  const real: (...args: never[]) => Promise<unknown> = crypto.subtle[name].bind(crypto.subtle) as never;
  const counted = async (...args: never[]) => {
    signatures += 1;
    try {
      return await real(...args);
    } finally {
      signatures -= 1;
    }
  };
  Object.defineProperty(crypto.subtle, name, { value: counted, configurable: true });
}

export type World = ReturnType<typeof createWorld>;

/** Returns a clock, a queue of what happens at which time, and a way to let time pass. */
export function createWorld() {
  const queue: Event[] = [];
  let now = 0;
  let order = 0;
  const isBefore = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order);

  function push(event: Event): void {
    let at = queue.push(event) - 1;
    for (let up = (at - 1) >> 1; at > 0 && isBefore(event, queue[up] as Event); up = (at - 1) >> 1) {
      queue[at] = queue[up] as Event;
      at = up;
    }
    queue[at] = event;
  }

  function pop(): Event | undefined {
    const [first] = queue;
    const last = queue.pop();
    if (!last || queue.length === 0) return first;
    let at = 0;
    for (;;) {
      const [left, right] = [queue[2 * at + 1], queue[2 * at + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const next = isRight ? right : left;
      if (next === undefined || isBefore(last, next)) break;
      queue[at] = next;
      at = 2 * at + (isRight ? 2 : 1);
    }
    queue[at] = last;
    return first;
  }

  return {
    now: () => now,
    setBacks: 0,
    schedule(run: () => void, delayMs: number): () => void {
      if (!(delayMs >= 0)) throw new RangeError(`A timer cannot wait ${delayMs} ms`);
      const event = { at: now + delayMs, order: order++, run, isCancelled: false };
      push(event);
      return () => {
        event.isCancelled = true;
      };
    },
    /** Resolves once everything waits for time to pass. */
    settle,
    /** Lets time pass up to `until`, and calls what is due. */
    async run(until: number): Promise<void> {
      for (let next = pop(); next; next = pop()) {
        if (next.at > until) {
          push(next);
          break;
        }
        if (next.isCancelled) continue;
        now = next.at;
        next.run();
        await settle();
      }
      now = until;
    },
  };
}

async function settle(): Promise<void> {
  // Promises first, then what other threads have done.
  do await new Promise((done) => setImmediate(done));
  while (signatures > 0);
}
