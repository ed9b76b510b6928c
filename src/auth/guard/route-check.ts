import { inTests } from '../options/foreign-guard.ts';
import type { CheckRequirements, GuardRequest, OptionalAuth, RejectionOptions } from '../types.ts';
import { isRecord, memberOf, namesIn } from '../values/json.ts';
import { type Decision, isAccepted } from './decision.ts';
import { guards, type PreparedGuard } from './prepared-guard.ts';

/*
 * How doors use a guard, which another copy of the package may have created: what a route requires is read once, where
 * it is set up.
 */

/**
 * Returns what a door uses of a guard.
 * @throws {TypeError} the value is not a guard
 */
export function preparedGuard(guard: unknown): PreparedGuard {
  const prepared = guards().get(Object(guard));
  if (prepared) return prepared;
  throw new TypeError(
    `Cannot set up a route: expected a guard. Write requireToken(guard) or serveMetadata(guard), with a guard from createGuard(options). ${inTests}`,
  );
}

/**
 * Returns the check of a route, which throws rejections or returns them. The requirements are read once.
 * @throws {TypeError} the first argument is not a guard, or another one is not valid
 */
export function createRouteCheck(
  guard: unknown,
  requirements: CheckRequirements | undefined,
  options: RejectionOptions,
): (request: GuardRequest) => Promise<Decision> {
  const { prepare, toError } = preparedGuard(guard);
  const check = prepare(requirements);
  const rejection = isRecord(options) ? (memberOf(options, 'rejection') ?? 'send') : undefined;
  const isKnown = rejection !== undefined && namesIn(options).every((name) => name === 'rejection');
  if (!isKnown || (rejection !== 'send' && rejection !== 'throw'))
    throw new TypeError("Cannot set up a route: the third argument must be { rejection: 'throw' }, or be left out");
  if (rejection === 'send') return check;
  return async (request: GuardRequest) => {
    const decided = await check(request);
    if (isAccepted(decided)) return decided;
    throw toError(decided);
  };
}

/**
 * Returns what a request was accepted with.
 * @throws {TypeError} no guard has accepted the request, and that is not optional
 */
export function requireAccepted<Accepted>(
  accepted: Accepted | undefined,
  options?: OptionalAuth,
): Accepted | undefined {
  if (accepted !== undefined || memberOf(Object(options), 'optional') === true) return accepted;
  throw new TypeError('Cannot read claims: no guard has accepted the request. Add requireToken before the handler');
}

/** Returns the headers that offer the next nonce, which no cache may send to another client (RFC 9449 §8.2). */
export const nonceHeaders = (nonce: string | undefined): readonly [name: string, value: string][] =>
  nonce === undefined ? [] : Object.entries({ 'dpop-nonce': nonce, 'cache-control': 'no-store' });
