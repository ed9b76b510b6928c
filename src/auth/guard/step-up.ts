import { isListOf } from '../jose/encoding.ts';
import { type Refusal, refuse } from '../refusals.ts';
import { type Claims, ownClaim } from '../token/claims.ts';

/** Step-up authentication (RFC 9470). */
export interface StepUp {
  /** The accepted authentication context class references: the token's `acr` must be one of them (RFC 9470 §4). */
  readonly acr?: string | readonly string[] | undefined;
  /** Maximum seconds since the end user was authenticated, by the token's `auth_time` (RFC 9470 §4). */
  readonly maxAge?: number | undefined;
}

export interface StepUpOptions {
  readonly clockToleranceSeconds: number;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

interface StepUpRequirement {
  readonly wanted: { readonly acrValues?: string; readonly maxAge?: number };
  judge(claims: Claims): Refusal | undefined;
}

const isAcr = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

/**
 * Validates `acr` and `maxAge` (RFC 9470), and returns how they are judged, or undefined if neither is required. A token
 * without these claims does not meet them.
 * @throws {TypeError} `acr` is no value or list of values that a challenge can carry, or `maxAge` no number of seconds
 */
export function readStepUp(
  { acr, maxAge }: StepUp,
  { clockToleranceSeconds, now = Date.now }: StepUpOptions,
): StepUpRequirement | undefined {
  if (acr === undefined && maxAge === undefined) return undefined;
  const given = typeof acr === 'string' ? [acr] : acr;
  if (given !== undefined && !(isListOf(given, isAcr) && given.length > 0))
    throw new TypeError(
      'Cannot read requirements: acr must be one or more values of printable ASCII without spaces, quotes or backslashes',
    );
  if (maxAge !== undefined && !(Number.isSafeInteger(maxAge) && maxAge >= 0))
    throw new TypeError('Cannot read requirements: maxAge must be a whole number of seconds, 0 or more');
  const accepted = given && [...given];

  const isRecent = (claims: Claims) => {
    const authenticatedAt = ownClaim(claims, 'auth_time');
    if (typeof authenticatedAt !== 'number' || !Number.isFinite(authenticatedAt)) return false;
    const ageSeconds = now() / 1000 - authenticatedAt;
    // A time in the future is rejected, as is one that is too old.
    return ageSeconds <= Number(maxAge) + clockToleranceSeconds && ageSeconds >= -clockToleranceSeconds;
  };
  const isStrong = (claims: Claims) => accepted?.some((value) => value === ownClaim(claims, 'acr')) ?? true;
  return {
    wanted: { ...(accepted && { acrValues: accepted.join(' ') }), ...(maxAge !== undefined && { maxAge }) },
    judge: (claims) =>
      isStrong(claims) && (maxAge === undefined || isRecent(claims))
        ? undefined
        : refuse('authentication_insufficient'),
  };
}
