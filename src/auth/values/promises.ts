/** The class of what asynchronous functions return, even where the application has replaced the global `Promise`. */
const { constructor: RealPromise } = (async () => {})() as unknown as { readonly constructor: PromiseConstructor };

/** Whether a value is a real promise. {@link promised} makes one of other thenables that an application returns. */
export const isPromise = (value: unknown): value is Promise<unknown> => value instanceof RealPromise;

/**
 * Whether a value has a method `then`. It may be a function, as Cloudflare's promise of an RPC call is. A `then` that
 * cannot be read counts: whoever waits for the value learns why.
 */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  try {
    // Not `'then' in value`, which is false for a proxy that only has a `get`.
    return typeof (value as Partial<PromiseLike<unknown>>).then === 'function';
  } catch {
    return true;
  }
}

/**
 * Returns what a function of the application returned: a real promise if it has a method `then`, which may return
 * anything, throw, and call back twice or never. Mistaking it for a result could accept the request.
 */
export const promised = (returned: unknown): unknown => (isThenable(returned) ? adopt(returned) : returned);

/** Unlike `await`, it catches what a `then` that is an asynchronous function throws, which would end the process. */
export function adopt(thenable: PromiseLike<unknown>): Promise<unknown> {
  return new RealPromise((resolve, reject) => {
    const returned: unknown = thenable.then(resolve, reject);
    if (isPromise(returned)) returned.catch(reject);
  });
}

/** Continues at once unless it gets a real promise: each promise costs a request a microsecond. */
export function whenSettled<Value, Result>(
  value: Value | Promise<Value>,
  next: (settled: Value) => Result | Promise<Result>,
  fail?: (error: unknown) => Result,
): Result | Promise<Result> {
  return isPromise(value) ? settle(value as Promise<Value>, next, fail) : next(value as Value);
}

/** Asynchronous, because `then` of a class that the application has changed may return another promise. */
async function settle<Value, Result>(
  promise: Promise<Value>,
  next: (settled: Value) => Result | Promise<Result>,
  fail?: (error: unknown) => Result,
): Promise<Result> {
  let settled: Value;
  try {
    settled = await promise;
  } catch (error) {
    if (fail) return fail(error);
    throw error;
  }
  return next(settled);
}

/** A function in steps, some of which may have to wait: it yields what it waits for. */
export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>;

/** Waits for a promise. Call it only for a promise, because each generator costs a request a tenth of a microsecond. */
export function* wait<Value>(promise: Promise<Value>): Steps<Value> {
  return (yield promise) as Value;
}

/** Runs steps. Returns a promise only if one of them has to wait. */
export function run<Result>(steps: Steps<Result>): Result | Promise<Result> {
  const step = steps.next();
  return step.done ? step.value : resume(steps, step.value);
}

async function resume<Result>(steps: Steps<Result>, pending: Promise<unknown>): Promise<Result> {
  for (let waited: Promise<unknown> = pending; ; ) {
    const step = steps.next(await waited);
    if (step.done) return step.value;
    waited = step.value;
  }
}

/** Returns an exception as a rejected promise. */
export function attempt<Result>(run: () => Result | Promise<Result>): Result | Promise<Result> {
  try {
    return run();
  } catch (error) {
    return (async () => {
      throw error;
    })();
  }
}

/** Catches the rejection of what a synchronous function of the application returned, which would end the process. */
export function ignoreRejection(returned: unknown): void {
  if (isThenable(returned)) adopt(returned).catch(() => {});
}

/** Calls a listener of the application. Its exceptions and rejections are ignored. */
export function notify(listener: () => unknown): void {
  try {
    ignoreRejection(listener());
  } catch {}
}
