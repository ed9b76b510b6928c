import type { Patience } from '../row/row.ts';

// Here is how long a run waits for an API: for its cooldown, and for its cache of keys.

/** The usual times after which clients fetch keys again: a cooldown of 30 seconds, caches of five and ten minutes. */
const steps = [31_000, 270_000, 300_000];
/** How long after a fetch the keys are too old for clients that keep them for ten minutes. */
export const agedMs = 660_000;

/** Returns how a run waits. What has been enough once is waited for the next time, and what never is enough no more. */
export function createPatience(wait: (ms: number) => Promise<unknown>): Patience {
  let known: readonly number[] = steps;
  return {
    async until(isDone) {
      let waited = 0;
      for (const ms of known) {
        await wait(ms);
        waited += ms;
        if (!(await isDone())) continue;
        known = [waited];
        return;
      }
      known = [];
    },
    age: () => wait(agedMs),
  };
}

/** Returns for how many minutes a run may wait that has so many rows which make the API fetch keys. */
export const patienceMinutes = (rows: number): number =>
  Math.ceil((rows * steps.reduce((sum, ms) => sum + ms, 0) + agedMs) / 60_000);
