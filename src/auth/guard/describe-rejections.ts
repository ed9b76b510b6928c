import { checkOptions, type GuardOptions } from '../check-options.ts';
import { canOccur, Refusal, type RefusalReason, refusals } from '../refusals.ts';
import { coreOf, type Guard } from './guard.ts';
import { resourceMetadataUrl } from './metadata.ts';
import { rejectionHeaders } from './rejection.ts';
import { createPolicyReader, type Requirements } from './requirements.ts';

/** A rejection as a client gets it, for documents and metrics. */
export interface Rejection {
  readonly reason: RefusalReason;
  readonly status: 401 | 403 | 503;
  readonly code: string;
  readonly description: string;
  /** `WWW-Authenticate` or `Retry-After`, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns every rejection that a guard, or one with these options, can return on a route with these requirements. Does NOT
 * include the rejection by `authorize`.
 * @throws {TypeError} an option or a requirement is not valid
 */
export function describeRejections(given: GuardOptions | Guard, requirements: Requirements = {}): readonly Rejection[] {
  const checked = coreOf(given)?.options ?? checkOptions(given as GuardOptions);
  const challengeOptions = { ...checked, resourceMetadata: resourceMetadataUrl(checked) };
  const { challenge } = createPolicyReader(checked).readRequirements(requirements);
  const withoutCause = new Set<RefusalReason>(['access_denied']);
  if (challenge.scope === undefined) withoutCause.add('scope_insufficient');
  if (challenge.acrValues === undefined && challenge.maxAge === undefined)
    withoutCause.add('authentication_insufficient');
  const reasons = (Object.keys(refusals) as RefusalReason[]).filter(
    (reason) => canOccur(reason, checked) && !withoutCause.has(reason),
  );
  return reasons.map((reason) => {
    const { status, code, description } = refusals[reason];
    const scheme = checked.dpop === 'required' || reason.startsWith('proof_') ? 'DPoP' : 'Bearer';
    return {
      reason,
      status,
      code,
      description,
      headers: rejectionHeaders(new Refusal(reason, 30), scheme, challenge, challengeOptions),
    };
  });
}
