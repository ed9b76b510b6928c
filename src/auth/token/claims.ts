import { isIssuedBy } from '../keys/tenants.ts';
import { type Rejected, rejectFor } from '../rejections.ts';
import type { CheckedOptions, Claims } from '../types.ts';
import { deepFreeze, isJsonObject, type Members, removePrototypes, withoutNulls } from '../values/json.ts';
import { otherKindClaim } from './kinds.ts';

/** How times are compared. */
export type TimeRules = Pick<CheckedOptions, 'clockToleranceSeconds' | 'maxTokenAgeSeconds'>;

export type ClaimRules = Pick<CheckedOptions, 'audience' | 'audienceClaim' | 'requiredClaims' | keyof TimeRules> & {
  /** Compared exactly with `iss`, once a template has the token's tenant. */
  readonly issuer: string;
};

/**
 * Returns valid claims, or why they are rejected. They are always frozen, so that handlers cannot depend on a cache. A
 * claim that is null counts as missing.
 */
export function readClaims(
  given: Members | undefined,
  rules: ClaimRules | undefined,
  nowSeconds: number,
): Claims | Rejected {
  if (!given) return rejectFor('claims_malformed');
  if (!rules) return rejectFor('issuer_mismatch');
  const claims = withoutNulls(removePrototypes(given));
  return checkClaims(claims, rules, nowSeconds) ?? deepFreeze(claims as Claims);
}

/**
 * Returns why claims are rejected, or undefined if they are valid. Checks issuer, audience, required claims, kind,
 * types and time, in this order. Does NOT check scopes, revocation, that a `jti` is new, or that there is a `sub`.
 */
function checkClaims(claims: Members, rules: ClaimRules, nowSeconds: number): Rejected | undefined {
  const { issuer, audience, audienceClaim, requiredClaims } = rules;
  if (!isIssuedBy(issuer, claims)) return rejectFor('issuer_mismatch');
  const named = ownClaim(claims, Object.hasOwn(claims, 'aud') ? 'aud' : audienceClaim);
  if (!audiencesOf(named).some((name) => audience.includes(name))) return rejectFor('audience_mismatch');
  for (const name in requiredClaims)
    if (!isMet(claims, name, requiredClaims[name] ?? [])) return rejectFor('required_claim_mismatch');
  if (otherKindClaim(claims, requiredClaims) !== undefined) return rejectFor('type_unsupported');
  if (findMalformed(claims).length > 0) return rejectFor('claims_malformed');
  return checkTime(claims, rules, nowSeconds);
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
function isMet(claims: Members, name: string, values: readonly (string | null)[]): boolean {
  const claim = claimReader(name)(claims) ?? undefined;
  if (claim === undefined) return values.includes(null);
  const found: readonly unknown[] = name === 'events' && isJsonObject(claim) ? Object.keys(claim) : [claim].flat();
  return found.some((each) => each !== undefined && typeof each !== 'object' && values.includes(String(each)));
}

/** Returns why claims that were valid earlier are now rejected, if so. Fractions of a second count. */
export function checkTime(
  { exp, nbf, iat }: Members,
  { clockToleranceSeconds, maxTokenAgeSeconds }: TimeRules,
  nowSeconds: number,
): Rejected | undefined {
  if (Number(exp) <= nowSeconds - clockToleranceSeconds) return rejectFor('token_expired');
  if (nbf !== undefined && Number(nbf) > nowSeconds + clockToleranceSeconds) return rejectFor('token_not_yet_valid');
  if (maxTokenAgeSeconds === undefined) return undefined;
  // Not only the past: a time in milliseconds would never be too old.
  const isRecent = Math.abs(nowSeconds - Number(iat)) <= maxTokenAgeSeconds + clockToleranceSeconds;
  return isRecent ? undefined : rejectFor('token_too_old');
}

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
