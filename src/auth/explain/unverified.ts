import { identifierOf, listedIssuers } from '../options/issuers.ts';
import { Refusal } from '../refusals.ts';
import { readClaims } from '../token/claims.ts';
import type { CheckedOptions, Claims, RefusalReason } from '../types.ts';
import type { Members } from '../values/json.ts';
import { adviceFor, type Check } from './checks/explained.ts';

/*
 * What the claims of a token lead to if its signature cannot be verified, so that a wrong audience shows during an
 * outage too. The claims are read as the guard reads them. Nothing of the result is to be trusted.
 */

/** Why the claims would be rejected if the token had been verified, or that they would be accepted. */
export type Unverified = RefusalReason | 'accepted';

/**
 * @param options of the issuer that the token names, or of the only one; without them, nothing is known
 * @param checkRequirements what the application requires besides a valid token
 */
export function judgeUnverified(
  claims: Members,
  options: CheckedOptions | undefined,
  nowSeconds: number,
  checkRequirements: (claims: Claims) => Refusal | undefined,
): Unverified | undefined {
  const [issuer] = options ? listedIssuers(options).map(identifierOf) : [];
  if (!options || issuer === undefined) return undefined;
  const read = readClaims(claims, { ...options, issuer }, nowSeconds);
  const refusal = read instanceof Refusal ? read : checkRequirements(read);
  return refusal?.reason ?? 'accepted';
}

/** Returns a sentence on the check that would reject the claims. That of the issuer is the advice already. */
export function adviseUnverified(checks: readonly Check[], outcome: Unverified | undefined): string {
  if (outcome === undefined || outcome === 'accepted' || outcome === 'issuer_mismatch') return '';
  const name = checks.find(({ advice }) => outcome in advice)?.name;
  const advice = adviceFor(checks, outcome);
  return `. Not verified: the ${name} would be rejected${advice && `: ${advice}`}`;
}
