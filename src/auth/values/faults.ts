/** Returns what a log may say of an exception: its `code` or name, because a message can repeat a token or a secret. */
export function nameOfFault(fault: unknown): string {
  if (!(fault instanceof Error)) return `a value of the type ${typeof fault}`;
  const { name } = fault;
  const named = [Reflect.get(fault, 'code'), name].find((word) => typeof word === 'string' && /^\w{1,64}$/.test(word));
  return String(named ?? 'an error');
}

/** Returns what a function returns, or undefined if it throws. */
export function ifPossible<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Returns a function that warns of an application's first fault, and with a time, of one in so many milliseconds.
 * Clients see only that they are rejected.
 */
export function createFaultWarning(
  action: string,
  name: string,
  consequence: string,
  { everyMs = Number.POSITIVE_INFINITY, now = (): number => 0 } = {},
): (fault: string) => void {
  let warnAt = Number.NEGATIVE_INFINITY;
  return (fault) => {
    if (now() < warnAt) return;
    warnAt = now() + everyMs;
    // biome-ignore lint/suspicious/noConsole: without it, nothing would show whose fault it is.
    console.warn(`Cannot ${action}: ${name} ${fault}. ${consequence}`);
  };
}
