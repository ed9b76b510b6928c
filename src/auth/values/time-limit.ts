import type { Clock } from './clock.ts';
import { adopt, isThenable } from './promises.ts';

/**
 * The last argument of a function of the application. A class, because an object literal with a getter takes half a
 * microsecond, and the signal is created when it is read, because it takes several.
 */
export class Limited {
  #controller: AbortController | undefined;

  /** Aborted when the time limit is exceeded. */
  get signal(): AbortSignal {
    return this.#read().signal;
  }

  abort(reason: unknown): void {
    this.#read().abort(reason);
  }

  #read(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }
}

/** Returns what a function of the application has returned, or a promise that is rejected if that takes too long. */
export type WithinLimit = (limited: Limited, returned: unknown) => unknown;

/** Returns a function that waits at most `limitMs`, then aborts the signal. Only thenables cost a timer. */
export function createTimeLimit({ schedule }: Pick<Clock, 'schedule'>, limitMs: number): WithinLimit {
  async function settle(limited: Limited, pending: PromiseLike<unknown>): Promise<unknown> {
    let cancel = () => {};
    const exceeded = new Promise((_, reject) => {
      cancel = schedule(() => {
        const reason = new DOMException('The time limit is exceeded', 'TimeoutError');
        reject(reason);
        limited.abort(reason);
      }, limitMs);
    });
    try {
      return await Promise.race([adopt(pending), exceeded]);
    } finally {
      cancel();
    }
  }

  return (limited, returned) => (isThenable(returned) ? settle(limited, returned) : returned);
}
