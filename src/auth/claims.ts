import type { RefusalReason } from './refusal.ts';

/** The claims of a verified access token (RFC 7519 §4, RFC 9068 §2.2), frozen: requests that present the same token share them. */
export interface Claims {
  readonly iss: string;
  /** With the option `audienceClaim` it may be missing, and the claim of that name is what was checked. */
  readonly aud: string | readonly string[];
  readonly exp: number;
  /** Any other claim is as the issuer wrote it: check its type before using it. */
  readonly [name: string]: unknown;
}

export interface ClaimRules {
  /** Compared exactly with `iss`. */
  readonly issuer: readonly string[];
  /** One of them must be, or be among, `aud`. */
  readonly audience: readonly string[];
  /** The claim that names the audience of a token without `aud`. */
  readonly audienceClaim: string;
  /** Claims that must be exactly this string. */
  readonly requiredClaims: Readonly<Record<string, string>>;
  /** Leeway for `exp` and `nbf`. */
  readonly clockToleranceSeconds: number;
}

type TimeClaims = Readonly<Record<string, unknown>>;

/**
 * Returns why claims are refused, undefined when they are good; in the order issuer, audience, required claims, time.
 * It checks no scope, no `sub`, no `jti` and no revocation.
 */
export function refuseClaims(claims: TimeClaims, rules: ClaimRules, nowSeconds: number): RefusalReason | undefined {
  const { issuer, audience, audienceClaim, requiredClaims } = rules;
  if (!issuer.some((name) => name === claims.iss)) return 'issuer_mismatch';
  const named = ownClaim(claims, Object.hasOwn(claims, 'aud') ? 'aud' : audienceClaim);
  if (!audiencesOf(named).some((name) => audience.includes(name))) return 'audience_mismatch';
  for (const name in requiredClaims)
    if (ownClaim(claims, name) !== requiredClaims[name]) return 'required_claim_mismatch';
  const { exp, nbf = exp, iat = exp } = claims;
  if (!Number.isFinite(exp) || !Number.isFinite(nbf) || typeof iat !== 'number') return 'claims_malformed';
  return refuseTime(claims, rules.clockToleranceSeconds, nowSeconds);
}

/** Returns why claims that were good before are refused now. Times are compared to the fraction of a second. */
export function refuseTime(
  { exp, nbf }: TimeClaims,
  clockToleranceSeconds: number,
  nowSeconds: number,
): RefusalReason | undefined {
  if (Number(exp) <= nowSeconds - clockToleranceSeconds) return 'token_expired';
  if (nbf !== undefined && Number(nbf) > nowSeconds + clockToleranceSeconds) return 'token_not_yet_valid';
  return undefined;
}

/** Returns a claim of the token itself, never a member that every object inherits. */
export function ownClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** RFC 7519 §4.1.3: one string or a list of strings. A list with anything else in it names no audience. */
function audiencesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return isStringList(value) ? value : [];
}

export function isStringList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((member) => typeof member === 'string');
}
