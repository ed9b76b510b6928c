import { type Algorithm, algorithmOf, algorithms } from './jose/algorithms.ts';
import { isSecureUrl } from './keys/address.ts';
import type { KeySetEvent } from './keys/key-set.ts';
import type { ReplayStore } from './proof/replay-store.ts';
import type { DpopMode } from './proof/schemes.ts';
import type { RefusalDescription, RefusalReason } from './refusals.ts';
import type { Claims } from './token/claims.ts';

/** Options of {@link resourceServer}. Lists are arrays; `issuer` and `audience` also take one string. */
export interface ResourceServerOptions {
  /**
   * The authorization servers whose tokens are accepted, compared exactly with `iss`: https addresses without query,
   * fragment, credentials or braces; http for loopback hosts only.
   */
  readonly issuer: string | readonly string[];
  /** The identifiers of this API; a token must name at least one in `aud`. */
  readonly audience: string | readonly string[];
  /** Address of the key set, for a single issuer. By default it is discovered, see "Your issuer" in the README. */
  readonly jwksUri?: string | undefined;
  /** Allows plain http for key sets and metadata on hosts other than loopback. Defaults to false. */
  readonly jwksAllowHttp?: boolean | undefined;
  /** Accepted signature algorithms. Defaults to `['RS256']`. `Ed25519` is another name of `EdDSA`. */
  readonly algorithms?: readonly (Algorithm | 'Ed25519')[] | undefined;
  /**
   * Claims that hold the scopes; the first that a token has decides. A name that begins with `/` is a JSON Pointer (RFC 6901).
   * Defaults to `['scope']`.
   */
  readonly scopeClaim?: readonly string[] | undefined;
  /** Only scopes with this prefix count, and they count without it. Challenges name scopes with the prefix. */
  readonly scopePrefix?: string | undefined;
  /** The claim that names the audience of a token without `aud`. By default such a token is rejected. */
  readonly audienceClaim?: string | undefined;
  /** Claims that must have exactly these values. */
  readonly requiredClaims?: Readonly<Record<string, string>> | undefined;
  /**
   * `on` accepts key-bound tokens with a DPoP proof (RFC 9449) as well as plain ones. `required` rejects plain tokens. Both need
   * `publicUrl`. Defaults to `off`.
   */
  readonly dpop?: DpopMode | undefined;
  /** Stores which proofs were used. Defaults to the memory of this process. Several processes must share a store. */
  readonly replayStore?: ReplayStore | undefined;
  /** The https address at which clients reach the API. Challenges then carry `resource_metadata` (RFC 9728 §5.1). */
  readonly publicUrl?: string | undefined;
  /** Age at which a key set is refreshed in the background: 1 to 1,000,000. Defaults to 600. */
  readonly jwksMaxAgeSeconds?: number | undefined;
  /** How long past that age keys stay trusted while the issuer cannot be reached: 0 to 1,000,000. Defaults to 86,400. */
  readonly jwksMaxStaleSeconds?: number | undefined;
  /** Minimum time between the starts of two fetches from one issuer: 1 to 3,600. Defaults to 30. */
  readonly jwksCooldownSeconds?: number | undefined;
  /** Time limit of one fetch, body included: 1 to 60. Defaults to 5. */
  readonly jwksTimeoutSeconds?: number | undefined;
  /** Tolerated clock difference for `exp` and `nbf`: 0 to 300. Defaults to 0. */
  readonly clockToleranceSeconds?: number | undefined;
  /** Verified tokens to cache, in at most 64 MiB: 0 (no cache) to 1,000,000. Defaults to 10,000. */
  readonly tokenCacheSize?: number | undefined;
  /** Called with the claims of every accepted token, before the scope is checked. An exception fails the request. */
  readonly onAccepted?: ((request: Request, claims: Claims) => void) | undefined;
  /** Called with the internal reason of every rejection. An exception fails the request. */
  readonly onRefused?: ((request: Request, reason: RefusalReason) => void) | undefined;
  /** Called when keys were fetched, could not be fetched, or expired. Exceptions are ignored. */
  readonly onKeySetEvent?: ((event: KeySetEvent) => void) | undefined;
  /** Returns the JSON body of a rejection. Defaults to the Error object. Does not change status or headers. */
  readonly errorBody?: ((refusal: RefusalDescription) => object) | undefined;
}

/** The options that are values, validated and with defaults. */
export interface CheckedOptions {
  readonly issuer: readonly string[];
  readonly audience: readonly string[];
  readonly jwksUri: string | undefined;
  readonly jwksAllowHttp: boolean;
  readonly algorithms: readonly Algorithm[];
  readonly scopeClaim: readonly string[];
  readonly scopePrefix: string | undefined;
  readonly audienceClaim: string;
  readonly requiredClaims: Readonly<Record<string, string>>;
  readonly dpop: DpopMode;
  /** Without a trailing slash. */
  readonly publicUrl: string | undefined;
  readonly jwksMaxAgeSeconds: number;
  readonly jwksMaxStaleSeconds: number;
  readonly jwksCooldownSeconds: number;
  readonly jwksTimeoutSeconds: number;
  readonly clockToleranceSeconds: number;
  readonly tokenCacheSize: number;
}

/** The format of an option in an environment variable, see `readSettings`. */
export type OptionKind = 'text' | 'list' | 'pairs' | 'boolean' | 'integer';

/** The requirements of an option. */
export interface OptionRule {
  readonly kind: OptionKind;
  /** Completes the sentence "… must be …". */
  readonly expected: string;
  readonly isValid: (value: unknown) => boolean;
  /** The default. Undefined for an option without one. */
  readonly fallback?: unknown;
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

const list = (expected: string, isMember: (value: unknown) => boolean, fallback?: readonly string[]): OptionRule => ({
  kind: 'list',
  expected,
  isValid: (value) => Array.isArray(value) && value.length > 0 && value.every(isMember),
  fallback,
});

const text = (expected: string, isValid: (value: string) => boolean, fallback?: string): OptionRule => ({
  kind: 'text',
  expected,
  isValid: (value) => isText(value) && isValid(value),
  fallback,
});

/** Returns the rule of a whole number from `min` to `max`. */
export const integer = (fallback: number | undefined, min: number, max: number): OptionRule => ({
  kind: 'integer',
  expected: `a whole number from ${min} to ${max}`,
  isValid: (value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max,
  fallback,
});

/** Returns the rule of a boolean. */
export const boolean = (fallback: boolean): OptionRule => ({
  kind: 'boolean',
  expected: 'true or false',
  isValid: (value) => typeof value === 'boolean',
  fallback,
});

/** Returns the rule of an enumeration. */
export const choice = (words: readonly string[], fallback: string): OptionRule =>
  text(`one of ${words.join(', ')}`, (value) => words.includes(value), fallback);

const isAddress = (value: unknown, allowHttp = false) =>
  typeof value === 'string' && isSecureUrl(value, allowHttp) && !value.includes('?');

/** The characters of a scope (RFC 6749 §3.3). They need no escaping in a challenge. */
export const isScopeToken = (value: unknown) => typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);

const isClaimName = (value: unknown) => isText(value) && (!value.startsWith('/') || !/~(?![01])/.test(value));

const isStringRecord = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.entries(value).every(([name, member]) => isText(name) && typeof member === 'string');

/** 11.6 days. A longer duration is a mistake. */
const maxDurationSeconds = 1_000_000;

const anHttpsAddress =
  'an https address without query, fragment, credentials, quotes or braces (http is allowed for loopback hosts)';

/** The rule of each option that is a value. `readSettings` uses them too. */
export const optionRules = {
  // findConflicts decides whether plain http is allowed for this host.
  issuer: list(`the address of the authorization server: ${anHttpsAddress}`, (value) => isAddress(value, true)),
  audience: list('the API identifier that tokens contain in aud', isText),
  jwksUri: text(
    'an https address without fragment or credentials (http is allowed for loopback hosts, and with JWKS_ALLOW_HTTP)',
    (value) => isSecureUrl(value, true),
  ),
  jwksAllowHttp: boolean(false),
  algorithms: list(`a list of ${algorithms.join(', ')} or Ed25519`, (name) => algorithmOf(name) !== undefined, [
    'RS256',
  ]),
  scopeClaim: list('a list of claim names, or JSON Pointers that begin with /', isClaimName, ['scope']),
  scopePrefix: text('printable ASCII without spaces, quotes or backslashes', isScopeToken),
  audienceClaim: text('the name of a claim', () => true, 'aud'),
  requiredClaims: { kind: 'pairs', expected: 'name=value', isValid: isStringRecord, fallback: {} },
  dpop: choice(['off', 'on', 'required'], 'off'),
  publicUrl: text(anHttpsAddress, (value) => isAddress(value)),
  jwksMaxAgeSeconds: integer(600, 1, maxDurationSeconds),
  jwksMaxStaleSeconds: integer(86_400, 0, maxDurationSeconds),
  jwksCooldownSeconds: integer(30, 1, 3600),
  jwksTimeoutSeconds: integer(5, 1, 60),
  clockToleranceSeconds: integer(0, 0, 300),
  tokenCacheSize: integer(10_000, 0, 1_000_000),
} as const satisfies Record<keyof CheckedOptions, OptionRule>;

/** Returns the options that are not allowed in combination with others, each with what it must be. */
export function findConflicts({
  issuer,
  jwksUri,
  jwksAllowHttp,
  dpop,
  publicUrl,
}: Pick<CheckedOptions, 'issuer' | 'jwksUri' | 'jwksAllowHttp' | 'dpop' | 'publicUrl'>): readonly (readonly [
  name: 'issuer' | 'jwksUri' | 'publicUrl',
  expected: string,
])[] {
  const conflicts: ['issuer' | 'jwksUri' | 'publicUrl', string][] = [];
  const isAllowed = (address: string) => isSecureUrl(address, jwksAllowHttp);
  if (!issuer.every(isAllowed)) conflicts.push(['issuer', optionRules.issuer.expected]);
  if (jwksUri !== undefined && !isAllowed(jwksUri)) conflicts.push(['jwksUri', optionRules.jwksUri.expected]);
  if (jwksUri !== undefined && issuer.length > 1) conflicts.push(['jwksUri', 'unset when there are several issuers']);
  if (dpop !== 'off' && publicUrl === undefined)
    conflicts.push(['publicUrl', `${anHttpsAddress}, which DPoP requires`]);
  return conflicts;
}

const callbacks = ['onAccepted', 'onRefused', 'onKeySetEvent', 'errorBody'] as const;

/**
 * Validates the options, and returns those that are values, with defaults.
 * @throws {TypeError} an option is missing, mistyped, out of range or unknown; the message names it
 */
export function checkOptions(options: ResourceServerOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) throw new TypeError('Cannot guard routes: options are missing');
  const { issuer, audience, ...others } = options;
  const given: Record<string, unknown> = { ...others, issuer: listOf(issuer), audience: listOf(audience) };
  const checked: Record<string, unknown> = {};
  for (const [name, { isValid, expected, fallback }] of Object.entries<OptionRule>(optionRules)) {
    const value = given[name] === undefined ? fallback : given[name];
    if (value === undefined ? isRequired(name) : !isValid(value)) throw wrongOption(name, expected);
    checked[name] = value;
  }
  for (const name of callbacks)
    if (given[name] !== undefined && typeof given[name] !== 'function') throw wrongOption(name, 'a function');
  const { replayStore } = options;
  if (replayStore !== undefined && typeof replayStore?.markUsed !== 'function')
    throw wrongOption('replayStore', 'an object with a method markUsed');
  const known = [...Object.keys(optionRules), ...callbacks, 'replayStore'];
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined) throw new TypeError(`Cannot guard routes: ${unknown} is not an option`);
  const result = normalize(checked as unknown as CheckedOptions);
  const [conflict] = findConflicts(result);
  if (conflict) throw wrongOption(...conflict);
  return result;
}

/** Other options have a default, or are optional. */
export const isRequired = (name: string) => name === 'issuer' || name === 'audience';

const listOf = (value: unknown) => (typeof value === 'string' ? [value] : value);

const wrongOption = (name: string, expected: string) =>
  new TypeError(`Cannot guard routes: ${name} must be ${expected}`);

/** Returns a normalized, frozen copy, so that later changes to the caller's objects have no effect. */
export function normalize<Options extends CheckedOptions>(options: Options): Options {
  const { issuer, audience, scopeClaim, requiredClaims, publicUrl } = options;
  return Object.freeze({
    ...options,
    issuer: [...new Set(issuer)],
    audience: [...new Set(audience)],
    algorithms: [...new Set(options.algorithms.flatMap((name) => algorithmOf(name) ?? []))],
    scopeClaim: [...scopeClaim],
    requiredClaims: { ...requiredClaims },
    publicUrl: publicUrl?.replace(/\/$/, ''),
  });
}
