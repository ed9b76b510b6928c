import type { Members } from '../jose/encoding.ts';
import { type Refusal, refuse } from '../refusals.ts';

/** The claims of a verified access token (RFC 7519 §4, RFC 9068 §2.2), frozen with everything in them. */
export interface Claims {
  readonly iss: string;
  /** May be missing with the option `audienceClaim`. The claim of that name was then checked instead. */
  readonly aud?: string | readonly string[];
  readonly exp: number;
  /** The user or client that the token is about. */
  readonly sub?: string;
  /** The client that requested the token. */
  readonly client_id?: string;
  /** Other claims are not validated: check their types before using them. */
  readonly [name: string]: unknown;
}

export interface ClaimRules {
  /** Compared exactly with `iss`. */
  readonly issuer: readonly string[];
  /** `aud` must be or contain one of them. */
  readonly audience: readonly string[];
  /** The claim that names the audience of a token without `aud`. */
  readonly audienceClaim: string;
  /** Claims that must have exactly this value. */
  readonly requiredClaims: Readonly<Record<string, string>>;
  /** Tolerated clock difference for `exp` and `nbf`. */
  readonly clockToleranceSeconds: number;
}

/**
 * Returns why claims are rejected, or undefined if they are valid. Checks issuer, audience, required claims, types and time, in
 * this order. Does NOT check scopes, `jti`, revocation, or that there is a `sub`.
 */
export function checkClaims(claims: Members, rules: ClaimRules, nowSeconds: number): Refusal | undefined {
  const { issuer, audience, audienceClaim, requiredClaims } = rules;
  if (!issuer.some((name) => name === claims.iss)) return refuse('issuer_mismatch');
  const named = ownClaim(claims, Object.hasOwn(claims, 'aud') ? 'aud' : audienceClaim);
  if (!audiencesOf(named).some((name) => audience.includes(name))) return refuse('audience_mismatch');
  for (const name in requiredClaims)
    if (ownClaim(claims, name) !== requiredClaims[name]) return refuse('required_claim_mismatch');
  const { exp, nbf = exp, iat = exp, sub = '', client_id: client = '' } = claims;
  if (!Number.isFinite(exp) || !Number.isFinite(nbf) || typeof iat !== 'number') return refuse('claims_malformed');
  // RFC 7519 §4.1.2, RFC 8693 §4.3. Handlers rely on the type.
  if (typeof sub !== 'string' || typeof client !== 'string') return refuse('claims_malformed');
  return checkTime(claims, rules.clockToleranceSeconds, nowSeconds);
}

/** Returns why claims that were valid earlier are now rejected, if they are. Times are compared with fractions of a second. */
export function checkTime(
  { exp, nbf }: Members,
  clockToleranceSeconds: number,
  nowSeconds: number,
): Refusal | undefined {
  if (Number(exp) <= nowSeconds - clockToleranceSeconds) return refuse('token_expired');
  if (nbf !== undefined && Number(nbf) > nowSeconds + clockToleranceSeconds) return refuse('token_not_yet_valid');
  return undefined;
}

/** Returns a claim of the token, never an inherited property such as `constructor`. */
export function ownClaim(claims: Members, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** RFC 7519 §4.1.3: one string or a list of strings. A list with any other member names no audience. */
function audiencesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isStringList(value) ? value : [];
}

export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}

/** The characters of a scope (RFC 6749 §3.3). They need no escaping in a challenge. */
export const isScope = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value);
