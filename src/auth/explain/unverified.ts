import { identifierOf, listedIssuers } from '../options/issuers.ts';
import { Refusal } from '../refusals.ts';
import { readClaims } from '../token/claims.ts';
import type { CheckedOptions, Claims } from '../types.ts';
import type { Members } from '../values/json.ts';
import type { Check } from './checks/explained.ts';
import type { Unverified } from './render.ts';

/*
 * What the claims of a token lead to if its signature cannot be verified, so that a wrong audience shows during an outage too.
 * The claims are read as the guard reads them. Nothing of the result is to be trusted.
 */

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
  return { reason: read instanceof Refusal ? read.reason : checkRequirements(read)?.reason };
}

/** Returns a sentence on the check of the claims that would reject the token. That of the issuer is the advice already. */
export function adviseUnverified(checks: readonly Check[], unverified: Unverified | undefined): string {
  const { reason } = unverified ?? {};
  const rejecting = checks.find(({ advice }) => reason !== undefined && reason in advice);
  if (reason === undefined || reason === 'issuer_mismatch' || !rejecting) return '';
  const advice = rejecting.advice[reason];
  return `. Not verified: the ${rejecting.name} would be rejected${advice ? `: ${advice}` : ''}`;
}
