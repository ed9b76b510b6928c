import { type Refusal, refuse } from '../refusals.ts';
import type { Claims, GuardOptions } from '../types.ts';
import { isPromise } from '../values/promises.ts';

const conclude = (returned: unknown) => (returned === false ? undefined : refuse('token_revoked'));
const fail = () => refuse('revocation_unavailable');

/** Asks the application whether a token is revoked. Anything but `false` rejects it; an exception is not the token's fault. */
export function checkRevocation(
  isRevoked: NonNullable<GuardOptions['isRevoked']>,
  claims: Claims,
): Refusal | undefined | Promise<Refusal | undefined> {
  try {
    const returned: unknown = isRevoked(claims);
    return isPromise(returned) ? returned.then(conclude, fail) : conclude(returned);
  } catch {
    return fail();
  }
}
