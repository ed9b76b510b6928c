import { checkOptions } from '../../options/check-options.ts';
import { identifierOf, listedIssuers } from '../../options/issuers.ts';
import { rejections } from '../../rejections.ts';
import type { GuardOptions, RejectionReason } from '../../types.ts';
import { describeChecks } from '../checks/checks.ts';
import { adviceFor, changeFor, type Explained, type Proposal } from '../checks/explained.ts';
import { pageOf } from './issuer-pages.ts';
import { judge } from './judge.ts';

/* What follows from the advice to change options, so that it leads nobody in a circle. */

/** What the outcome of advice is found from. */
export interface Advised {
  readonly given: GuardOptions;
  /** With the options that were given. */
  readonly explained: Explained;
  readonly scheme: string;
}

/**
 * Returns what else has to change once the first advice was followed, and whether a guard then accepts the token. Empty
 * if it does and the signature was verified before the check that rejected it.
 */
export async function describeOutcome(
  first: Proposal['change'],
  { given, explained, scheme }: Advised,
): Promise<string> {
  const { issuer } = checkOptions(given);
  // An issuer can have options of its own.
  if (typeof issuer === 'function' || issuer.some((each) => typeof each === 'object')) return '';
  const { text, requirements } = explained;
  const said: string[] = [];
  let change: Proposal['change'] | undefined = first;
  // Fixed keys would have to change too, and none are needed here.
  let options =
    given.keys === undefined ? given : { ...given, keys: undefined, jwksUri: 'https://issuer.invalid/keys' };
  let isVerified = true;
  const changed = new Set<string>();
  while (change !== undefined) {
    for (const name of Object.keys(change)) changed.add(name);
    isVerified &&= !('issuer' in change || 'algorithms' in change || 'tokenType' in change);
    options = { ...options, ...change };
    const reason = await judge(options, text, scheme, requirements);
    if (reason === undefined) {
      const end = isVerified ? [] : ['Then the token is accepted, if its signature is good'];
      return [...said, ...end].map((each) => `. ${each}`).join('');
    }
    const checked = checkOptions(options);
    const listed = listedIssuers(checked).map(identifierOf);
    const named = listed.find((each) => each === explained.claims.iss);
    const checks = describeChecks({ ...explained, options: { ...checked, issuer: listed }, issuer: named });
    const advice = adviceFor(checks, reason);
    const next: Proposal['change'] | undefined = changeFor(checks, reason);
    change = next && Object.keys(next).some((name) => !changed.has(name)) ? next : undefined;
    said.push(
      change ? `Then ${advice}` : `Then it would still be rejected: ${advice || rejections[reason].description}`,
    );
  }
  return said.map((each) => `. ${each}`).join('');
}

/** The reasons that depend on settings which the page of an issuer has. */
const hasSettings: ReadonlySet<RejectionReason> = new Set([
  ...(['issuer_mismatch', 'audience_mismatch', 'required_claim_mismatch', 'algorithm_unsupported'] as const),
  ...(['keys_unavailable', 'key_unknown', 'scope_insufficient', 'type_unsupported'] as const),
]);

/** Returns a sentence with the page of the token's issuer, if it is known and can help. */
export function namePage(reason: RejectionReason, iss: unknown): string {
  const page = hasSettings.has(reason) ? pageOf(iss) : undefined;
  return page === undefined ? '' : `. Its settings: ${page}`;
}
