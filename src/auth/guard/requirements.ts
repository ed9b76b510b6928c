import { describeValue } from '../options/describe-value.ts';
import { type Rejected, rejectFor } from '../rejections.ts';
import { type ClaimsCheck, claimsCheck, ownClaim } from '../token/claims.ts';
import type { CheckedOptions, Claims, Requirements } from '../types.ts';
import { isPlainWord } from '../values/ascii.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { hasMember, isListOf, isRecord, memberOf, namesIn } from '../values/json.ts';
import { createGrantReader, createScopeReader, requirementError, type ScopeRules } from './scopes.ts';

/** What a challenge names (RFC 6750 §3, RFC 9470 §3), whether the token has it or not. */
export interface ChallengeParameters {
  readonly scope?: string | undefined;
  readonly acrValues?: string | undefined;
  readonly maxAge?: number | undefined;
}

/** A check of the claims that the token itself has. */
type RequirementCheck = ClaimsCheck<[claims: Claims]>;

/** The requirements of a route, checked and prepared. */
export type RoutePolicy = Readonly<ReturnType<typeof createPolicy>>;

/** The lists of scopes of which one is required. */
export type Alternatives = readonly (readonly string[])[];

type StepUpOptions = Pick<CheckedOptions, 'clockToleranceSeconds'> & Pick<TimeAndRandom, 'now'>;

/** The order in which requirements are checked: step-up (RFC 9470 §4), then scope (RFC 6750 §3.1). */
export const requirementReasons = ['authentication_insufficient', 'scope_insufficient'] as const;

/** Returns a policy that consists of these checks. It is empty if it requires only a valid token. */
export function createPolicy(
  challenge: ChallengeParameters,
  alternatives: Alternatives,
  given: readonly RequirementCheck[],
  isOptional: boolean,
) {
  const checks = requirementReasons.flatMap((reason) => given.filter(({ rejection }) => rejection.reason === reason));
  /** Returns why a token's own claims do not meet a requirement, or undefined if they do. */
  const check = (claims: Claims): Rejected | undefined => {
    for (const { accepts, rejection } of checks) if (!accepts(claims)) return rejection;
    return undefined;
  };
  return { challenge, alternatives, isEmpty: checks.length === 0, isOptional, checks, check };
}

export const requirementNames = ['scope', 'acr', 'maxAge', 'optional'];

/** Whether a value can never change: it is frozen with everything in it, and nothing is read by a function. */
export function isConstant(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function';
  if (!Object.isFrozen(value) || ![Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value)))
    return false;
  return Object.values(Object.getOwnPropertyDescriptors(value)).every((own) => 'value' in own && isConstant(own.value));
}

/**
 * Returns functions that validate requirements. Errors name the route, if it is given.
 * @throws {TypeError} from these functions: an unknown name, or a value that is not a scope, an `acr` or a number of
 * seconds
 */
export function createPolicyReader(options: ScopeRules & StepUpOptions & Pick<CheckedOptions, 'requireScope'>) {
  const grantedBy = createGrantReader(options);
  const scopeOf = createScopeReader(options, grantedBy);
  const scopesOf = (claims: Claims): readonly string[] =>
    Object.freeze([...new Set(grantedBy(claims))].filter((name) => name !== ''));

  const readRequirements = (requirements: Requirements, route?: string): RoutePolicy => {
    if (!isRecord(requirements))
      throw requirementError(
        `they must be an object such as { scope: 'read:messages' }, got ${describeValue(requirements)}`,
        route,
      );
    const unknown = namesIn(requirements).find((name) => !requirementNames.includes(name));
    if (unknown !== undefined)
      throw requirementError(`${unknown} is not a requirement. Use ${requirementNames.join(', ')}`, route);
    // Each is read once, because it may be a getter.
    const given = requirementNames.map((name) => memberOf(requirements, name));
    const [wanted, acr, maxAge, optional] = given;
    // Such as an unset variable, which must not open a route.
    for (const [index, name] of requirementNames.entries())
      if (given[index] === undefined && hasMember(requirements, name))
        throw requirementError(`${name} is undefined. If it is not required, leave it out`, route);
    if (optional !== undefined && typeof optional !== 'boolean')
      throw requirementError(`optional must be true or false, got ${describeValue(optional)}`, route);
    const required = wanted === undefined ? undefined : scopeOf(wanted, route);
    const acrValues = readAcr(acr, route);
    const maxAgeSeconds = readMaxAge(maxAge, route);
    const isStepUp = acrValues !== undefined || maxAgeSeconds !== undefined;
    return createPolicy(
      { scope: required?.named, acrValues: acrValues?.join(' '), maxAge: maxAgeSeconds },
      required?.alternatives ?? [[]],
      [isStepUp ? createStepUpCheck(acrValues, maxAgeSeconds, options) : [], required?.check ?? []].flat(),
      optional === true,
    );
  };

  /** Reads the scope that a function returned, which may be an empty list. */
  const readScope = (returned: unknown, route?: string): RoutePolicy => {
    const { named, alternatives, check } = scopeOf(returned, route, true);
    return createPolicy({ scope: named }, alternatives, named === undefined ? [] : [check], false);
  };

  const noScope = rejectFor('scope_insufficient', { requireScope: true });
  const checkAnyScope = (claims: Claims) => (scopesOf(claims).length > 0 ? undefined : noScope);

  return { readRequirements, readScope, scopesOf, checkAnyScope: options.requireScope ? checkAnyScope : undefined };
}

function readAcr(acr: unknown, route?: string): readonly string[] | undefined {
  const values = typeof acr === 'string' ? [acr] : acr;
  if (values === undefined || (isListOf(values, isPlainWord) && values.length > 0)) return values && [...values];
  throw requirementError(
    `acr must be printable ASCII without spaces, quotes or backslashes, or a list of such values, got ${describeValue(acr)}`,
    route,
  );
}

function readMaxAge(maxAge: unknown, route?: string): number | undefined {
  if (maxAge === undefined) return undefined;
  if (Number.isSafeInteger(maxAge) && Number(maxAge) >= 1) return Number(maxAge);
  // In OpenID Connect, `max_age=0` requests a new login.
  const advice =
    maxAge === 0 ? '. For a new login, write the seconds in which the request must follow it, such as 60' : '';
  throw requirementError(`maxAge must be a whole number of seconds, got ${describeValue(maxAge)}${advice}`, route);
}

/** Returns the check of step-up authentication (RFC 9470). A token without the claims does not pass it. */
function createStepUpCheck(
  acrValues: readonly string[] | undefined,
  maxAge: number | undefined,
  { clockToleranceSeconds, now }: StepUpOptions,
): RequirementCheck {
  const isRecent = (claims: Claims) => {
    if (maxAge === undefined) return true;
    const authenticatedAt = ownClaim(claims, 'auth_time');
    if (typeof authenticatedAt !== 'number' || !Number.isFinite(authenticatedAt)) return false;
    const ageSeconds = now() / 1000 - authenticatedAt;
    // A time in the future is rejected, as is one that is too old.
    return ageSeconds <= maxAge + clockToleranceSeconds && ageSeconds >= -clockToleranceSeconds;
  };
  const isStrong = (claims: Claims) => acrValues?.some((value) => value === ownClaim(claims, 'acr')) ?? true;
  const expected = { acr: acrValues, maxAge };
  return claimsCheck('authentication_insufficient', expected, (claims) => isStrong(claims) && isRecent(claims));
}
