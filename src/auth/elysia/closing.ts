// Closes an application that would serve a route without the guard that its developer meant for it.
import type { Instance } from './internals.ts';

/** Why an instance is closed. */
const closed = new WeakMap<Instance, unknown>();
/** Errors that kept a guard from being added. */
const compositionErrors = new WeakSet<object>();

/** Remembers an error that kept a guard from being added, and returns it. */
export function rememberFailure<Failure>(error: Failure): Failure {
  compositionErrors.add(Object(error));
  return error;
}

/** Closes an instance, and returns an error that says why. */
export function closeBecause(instance: Instance, reason: string): Error {
  return close(instance, new Error(`Cannot guard routes: ${reason}`));
}

/** Closes an instance, and throws an error that says why. */
export function refuseToServe(instance: Instance, reason: string): never {
  throw closeBecause(instance, reason);
}

/** Closes an instance that uses a closed one, or is closed and uses another. */
export function refuseClosed(instance: Instance, plugin: Instance): void {
  for (const each of [plugin, instance]) if (closed.has(each)) throw close(instance, closed.get(each));
}

/** Closes an instance because a plugin that it waited for failed with an error of the guard. */
export function closeAfter(instance: Instance, error: unknown): never {
  throw compositionErrors.has(Object(error)) ? close(instance, error) : error;
}

const internalError = (): Response => new Response('Internal error', { status: 500 });

/** Makes an instance serve nothing. Adding a route, and `listen`, throw this error. Returns the error. */
export function close<Failure>(instance: Instance, error: Failure): Failure {
  closed.set(instance, rememberFailure(error));
  const { event, router } = instance;
  instance.add = instance.listen = () => {
    throw error;
  };
  // Elysia compiles this hook into whatever it compiles from now on. The others are for what it has compiled.
  event.request = [{ fn: internalError, isAsync: false, hasReturn: true }];
  for (const route of router.history) Object.assign(route, { composed: internalError, compile: () => internalError });
  Object.assign(router.http, { find: () => ({ store: { handler: internalError } }), build() {} });
  return error;
}
