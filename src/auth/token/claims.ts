import { isIssuedBy } from '../keys/tenants.ts';
import { type Expected, type Rejected, type RejectionReason, rejectFor } from '../rejections.ts';
import type { CheckedOptions, Claims } from '../types.ts';
import { deepFreeze, isJsonObject, type Members, removePrototypes, withoutNulls } from '../values/json.ts';
import { otherKindClaim } from './kinds.ts';

/*
 * The checks of claims, in the order in which a guard makes them and `explain` prints them, and how claims are read.
 * Does NOT check scopes, revocation, that a `jti` is new, or that there is a `sub`.
 */

/** How times are compared. */
export type TimeRules = Pick<CheckedOptions, 'clockToleranceSeconds' | 'maxTokenAgeSeconds'>;

export type ClaimRules = Pick<CheckedOptions, 'audience' | 'audienceClaim' | 'requiredClaims' | keyof TimeRules> & {
  /** Compared exactly with `iss`, once a template has the token's tenant. */
  readonly issuer: string;
};

/** A check of claims. That of a requirement reads the time by itself. */
export interface ClaimsCheck<Given extends readonly unknown[] = [claims: Members, nowSeconds: number]> {
  readonly accepts: (...given: Given) => boolean;
  /** The reason, and what was expected. */
  readonly rejection: Rejected;
}

export const claimsCheck = <Given extends readonly unknown[]>(
  reason: RejectionReason,
  expected: Expected,
  accepts: (...given: Given) => boolean,
): ClaimsCheck<Given> => ({ accepts, rejection: rejectFor(reason, expected) });

/** Returns the checks of claims that were valid earlier. Fractions of a second count. */
export function createTimeChecks({ clockToleranceSeconds, maxTokenAgeSeconds }: TimeRules): readonly ClaimsCheck[] {
  const [tolerance, maxAge] = [clockToleranceSeconds, Number(maxTokenAgeSeconds)];
  const checks: readonly ClaimsCheck[] = [
    claimsCheck('token_expired', { clockToleranceSeconds }, (claims, now) => !hasExpired(claims, now - tolerance)),
    claimsCheck('token_not_yet_valid', { clockToleranceSeconds }, (claims, now) => hasBegun(claims, now + tolerance)),
    // Not only the past: a time in milliseconds would never be too old.
    claimsCheck(
      'token_too_old',
      { maxTokenAgeSeconds },
      ({ iat }, now) => Math.abs(now - Number(iat)) <= maxAge + tolerance,
    ),
  ];
  return maxTokenAgeSeconds === undefined ? checks.slice(0, -1) : checks;
}

/** Returns the checks of the claims of an issuer's tokens. */
export function createClaimsChecks(rules: ClaimRules): readonly ClaimsCheck[] {
  const { issuer, audience, audienceClaim, requiredClaims } = rules;
  const required = Object.entries(requiredClaims).map(([name, values]) => ({ name, read: claimReader(name), values }));
  return [
    claimsCheck('issuer_mismatch', { issuer }, (claims) => isIssuedBy(issuer, claims)),
    claimsCheck('audience_mismatch', { audience }, (claims) =>
      audiencesOf(readAudience(claims, audienceClaim)).some((name) => audience.includes(name)),
    ),
    claimsCheck('required_claim_mismatch', { requiredClaims }, (claims) =>
      required.every(({ name, read, values }) => isMet(name, read(claims), values)),
    ),
    claimsCheck('type_unsupported', {}, (claims) => otherKindClaim(claims, requiredClaims) === undefined),
    claimsCheck('claims_malformed', {}, (claims) => findMalformed(claims).length === 0),
    ...createTimeChecks(rules),
  ];
}

/** Returns why claims are rejected: for the first check that does not accept them. */
export function rejectClaims(
  checks: readonly ClaimsCheck[],
  claims: Members,
  nowSeconds: number,
): Rejected | undefined {
  for (const check of checks) if (!check.accepts(claims, nowSeconds)) return check.rejection;
  return undefined;
}

/**
 * Returns claims that pass the checks, or why they are rejected. They are always frozen, so that handlers cannot depend
 * on a cache. A claim that is null counts as missing.
 */
export function readClaims(
  given: Members | undefined,
  checks: readonly ClaimsCheck[],
  nowSeconds: number,
): Claims | Rejected {
  if (!given) return rejectFor('claims_malformed');
  const claims = withoutNulls(removePrototypes(given));
  return rejectClaims(checks, claims, nowSeconds) ?? deepFreeze(claims as Claims);
}

/** RFC 7519 §4.1, RFC 8693 §4.3: the claims that have a type, on which handlers rely. Only `exp` is required. */
const claimTypes = [
  ...['exp', 'nbf', 'iat'].map((name) => ({ name, type: 'a number', isValid: Number.isFinite })),
  ...['sub', 'jti', 'client_id'].map((name) => ({ name, type: 'text', isValid: isString })),
];

/** Returns the names of claims that are missing or of another type, and the type that each must have. */
export const findMalformed = (claims: Members) =>
  claimTypes.filter(({ name, isValid }) => !isValid(claims[name]) && (claims[name] !== undefined || name === 'exp'));

/**
 * Whether a claim, or a member of a list in it, is one of these values: text, or a number or boolean in its JSON form.
 * A claim that is missing, or null, is the value null. `events` has the names of events as its members (RFC 8417 §2.2);
 * no other object meets a requirement.
 */
function isMet(name: string, value: unknown, values: readonly (string | null)[]): boolean {
  const claim = value ?? undefined;
  if (claim === undefined) return values.includes(null);
  const found: readonly unknown[] = name === 'events' && isJsonObject(claim) ? Object.keys(claim) : [claim].flat();
  return found.some((each) => each !== undefined && typeof each !== 'object' && values.includes(String(each)));
}

/** RFC 7519 §4.1.4. */
export const hasExpired = ({ exp }: Members, nowSeconds: number): boolean => Number(exp) <= nowSeconds;

/** RFC 7519 §4.1.5. */
export const hasBegun = ({ nbf }: Members, nowSeconds: number): boolean =>
  nbf === undefined || Number(nbf) <= nowSeconds;

/** Returns the claim that names the audience: of a token that has no `aud` at all, another one. */
export const readAudience = (claims: Members, audienceClaim: string): unknown =>
  ownClaim(claims, Object.hasOwn(claims, 'aud') ? 'aud' : audienceClaim);

/** Returns a claim of the token, never an inherited property such as `constructor`. */
export function ownClaim(claims: Members, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** Returns a function that reads the claim of this name. One that begins with `/` is a JSON Pointer (RFC 6901 §4). */
export function claimReader(name: string): (claims: Members) => unknown {
  if (!name.startsWith('/')) return (claims) => ownClaim(claims, name);
  const path = name
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  return (claims) => {
    let value: unknown = claims;
    for (const token of path) {
      if (typeof value !== 'object' || value === null) return undefined;
      if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(token)) return undefined;
      value = ownClaim(value as Members, token);
    }
    return value;
  };
}

/** RFC 7519 §4.1.3: one string or a list of strings. A list with any other member names no audience. */
function audiencesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isStringList(value) ? value : [];
}

export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isString);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}
