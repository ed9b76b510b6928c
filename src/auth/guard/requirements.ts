import { isJsonObject, isListOf, namesIn } from '../jose/encoding.ts';
import { type Refusal, refuse } from '../refusals.ts';
import { type Claims, ownClaim } from '../token/claims.ts';
import { createGrantReader, createScopeReader, type FixedScope, type ScopeRules } from './scopes.ts';

/** Step-up authentication (RFC 9470). */
interface StepUp {
  /** The accepted authentication context class references: the token's `acr` must be one of them (RFC 9470 §4). */
  readonly acr?: string | readonly string[] | undefined;
  /** Maximum seconds since the end user was authenticated, by the token's `auth_time` (RFC 9470 §4). */
  readonly maxAge?: number | undefined;
}

interface StepUpOptions {
  readonly clockToleranceSeconds: number;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

interface StepUpRequirement {
  readonly wanted: { readonly acrValues?: string; readonly maxAge?: number };
  judge(claims: Claims): Refusal | undefined;
}

/** What a token must have besides being valid. */
export interface Requirements extends StepUp {
  /** One scope; a list, all of which are required; or `anyOf`, one of which is required. */
  readonly scope?: FixedScope | undefined;
}

/** What challenges name (RFC 6750 §3, RFC 9470 §3), whether the token has it or not. */
export interface Wanted {
  readonly scope?: string | undefined;
  readonly acrValues?: string | undefined;
  readonly maxAge?: number | undefined;
}

/** Requirements that were validated once, and are judged for each request. */
export interface Requirement {
  readonly wanted: Wanted;
  /** All scopes that it names, in the form in which a client requests them. */
  readonly scopes: readonly string[];
  /** Whether it asks for anything. */
  readonly isEmpty: boolean;
  /** Returns why the token's own claims do not meet it: step-up first, then scope. */
  judge(claims: Claims): Refusal | undefined;
}

export type RequirementOptions = ScopeRules & StepUpOptions;

/** Returns the requirement that is met if all of these are. */
export function allOf(requirements: readonly Requirement[]): Requirement {
  const [only] = requirements;
  if (only !== undefined && requirements.length === 1) return only;
  const scopes = [...new Set(requirements.flatMap((requirement) => requirement.scopes))];
  const wantedScopes = [...new Set(requirements.flatMap(({ wanted }) => wanted.scope?.split(' ') ?? []))];
  return {
    wanted: Object.assign({}, ...requirements.map(({ wanted }) => wanted), {
      scope: wantedScopes.join(' ') || undefined,
    }),
    scopes,
    isEmpty: requirements.every(({ isEmpty }) => isEmpty),
    judge(claims) {
      for (const requirement of requirements) {
        const refusal = requirement.judge(claims);
        if (refusal) return refusal;
      }
      return undefined;
    },
  };
}

const requirementNames = ['scope', 'acr', 'maxAge', 'optional'];

/**
 * Returns functions that validate requirements.
 * @throws {TypeError} from these functions: an unknown name, or a value that is not a scope, an `acr` or a number of seconds
 */
export function createRequirementReader(options: RequirementOptions) {
  const grantedBy = createGrantReader(options);
  const readScope = createScopeReader(options, grantedBy);
  const scopesOf = (claims: Claims): readonly string[] =>
    Object.freeze([...new Set(grantedBy(claims))].filter((name) => name !== ''));

  const readRequirements = (requirements: Requirements): Requirement => {
    if (!isJsonObject(requirements)) throw new TypeError('Cannot read requirements: they must be an object');
    const unknown = namesIn(requirements).find((name) => !requirementNames.includes(name));
    if (unknown !== undefined) throw new TypeError(`Cannot read requirements: ${unknown} is not a requirement`);
    // Each is read once, because it may be a getter.
    const {
      scope: given,
      acr,
      maxAge,
      optional = false,
    } = requirements as Requirements & { readonly optional?: unknown };
    if (typeof optional !== 'boolean') throw new TypeError('Cannot read requirements: optional must be true or false');
    const scope = given === undefined ? undefined : readScope(given);
    const stepUp = readStepUp({ acr, maxAge }, options);
    return {
      wanted: { ...(scope && { scope: scope.wanted }), ...stepUp?.wanted },
      scopes: scope?.scopes ?? [],
      isEmpty: scope === undefined && stepUp === undefined,
      judge: (claims) => stepUp?.judge(claims) ?? scope?.judge(claims),
    };
  };

  /** Reads the scope that a function returned, which may be none. */
  const readReturnedScope = (returned: unknown): Requirement => {
    const { wanted, ...scope } = readScope(returned, true);
    return { ...scope, wanted: { scope: wanted }, isEmpty: scope.scopes.length === 0 };
  };

  return { readRequirements, readReturnedScope, scopesOf };
}

const isAcr = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

/**
 * Validates `acr` and `maxAge` (RFC 9470), and returns how they are judged, or undefined if neither is required. A token
 * without these claims does not meet them.
 * @throws {TypeError} `acr` is no value or list of values that a challenge can carry, or `maxAge` no number of seconds
 */
function readStepUp(
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
