/**
 * Whether a value is a promise: it has a method `then`. An application may replace `Promise`, and mistaking a promise for a
 * result would accept the request.
 */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Continues at once if there is nothing to wait for: each promise costs a request a microsecond. */
export function whenSettled<Value, Result>(
  value: Value | Promise<Value>,
  next: (settled: Value) => Result | Promise<Result>,
  fail?: (error: unknown) => Result,
): Result | Promise<Result> {
  return isPromise(value) ? value.then(next, fail) : next(value as Value);
}

/** Returns an exception as a rejected promise. */
export function attempt<Result>(run: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    return run();
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Catches the rejection of what a synchronous function of the application returned. Otherwise it would end the process. */
export function ignoreRejection(returned: unknown): void {
  if (isPromise(returned)) returned.then(undefined, () => {});
}
