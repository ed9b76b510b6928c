// Here a run is ended before it harms the servers of others, or goes on for nothing.

/** What a host that is not this machine gets at most: requests in all, time between two, server errors. */
export const careful = { requests: 900, intervalMs: 100, failures: 5 };

/** Returns what ends a run: too many requests to others, or responses that mean trouble. */
export function brakeOf(limit: number, signal: AbortSignal, isOther: (url: string) => boolean) {
  let [count, stopped] = [0, undefined as string | undefined];
  /** How many responses were server errors, and how many of the last ones nothing or a limit. */
  const failures = { errors: 0, silent: 0, limited: 0 };
  const stop = (reason: string) => {
    stopped ??= reason;
  };
  const why = () => {
    if (signal.aborted) stop('The run was interrupted');
    return stopped;
  };
  return {
    stop,
    why,
    /** Counts a request, unless there is a reason not to send it. */
    before(url: string): string | undefined {
      if (isOther(url) && count >= limit) stop(`${limit} requests were sent: name fewer targets or rows`);
      if (why() === undefined) count += 1;
      return stopped;
    },
    /** Counts a response. A repetition tells why there was none, and is no further silence. */
    after(url: string, status: number, isRepeat = false): void {
      if (status === 0 || status >= 500) failures.errors += 1;
      if (status !== 0) failures.silent = 0;
      else if (!isRepeat) failures.silent += 1;
      failures.limited = status === 429 ? failures.limited + 1 : 0;
      const max = careful.failures;
      if (isOther(url) && failures.errors >= max) stop(`${max} server errors: the API may be in trouble`);
      if (failures.silent >= max) stop(`${max} requests without a response`);
      if (failures.limited >= max) stop('The API limits requests (429)');
    },
  };
}
