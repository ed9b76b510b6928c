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

/** Returns a function that warns of an application's first fault. Clients see only that they are rejected. */
export function createFaultWarning(action: string, name: string, consequence: string): (fault: string) => void {
  let hasWarned = false;
  return (fault) => {
    // biome-ignore lint/suspicious/noConsole: without it, nothing would show whose fault it is.
    if (!hasWarned) console.warn(`Cannot ${action}: ${name} ${fault}. ${consequence}`);
    hasWarned = true;
  };
}
