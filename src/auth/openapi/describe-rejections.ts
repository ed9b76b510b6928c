import { createGuardCore, type GuardCore } from '../guard/core.ts';
import { coreOf } from '../guard/guard.ts';
import { rejectionHeaders } from '../guard/rejection.ts';
import type { RejectionError } from '../guard/rejection-error.ts';
import type { ChallengeParameters } from '../guard/requirements.ts';
import { optionsByIssuer } from '../options/issuers.ts';
import { type Feature, Rejected, rejections } from '../rejections.ts';
import type { CheckedOptions, Guard, GuardOptions, RejectionReason, Requirements } from '../types.ts';

/** A rejection as a client gets it, for documents and metrics. */
export interface Rejection extends Pick<RejectionError, 'reason' | 'error' | 'description' | 'status' | 'body'> {
  /** `WWW-Authenticate` or `Retry-After`, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The media type of the body. */
  readonly contentType: string;
}

/**
 * Returns every rejection that a guard, or one with these options, can return on a route with these requirements. Does
 * NOT include the rejection by `authorize`.
 * @throws {TypeError} an option or a requirement is not valid
 */
export function describeRejections(given: GuardOptions | Guard, requirements: Requirements = {}): readonly Rejection[] {
  const core = coreOf(given) ?? createGuardCore(given as GuardOptions);
  const { challenge } = core.readRequirements(requirements);
  return rejectionsOf(core, challenge, []);
}

const isEnabled: Readonly<Record<Feature, (options: CheckedOptions) => boolean>> = {
  bearer: ({ dpop }) => dpop !== 'required',
  dpop: ({ dpop }) => dpop !== 'off',
  dpopOnly: ({ dpop }) => dpop === 'required',
  nonces: ({ dpop, dpopNonceSecret }) => dpop !== 'off' && dpopNonceSecret !== undefined,
  certificates: ({ clientCertificate }) => clientCertificate !== undefined,
  binding: ({ dpop, clientCertificate }) => dpop !== 'off' || clientCertificate !== undefined,
  schema: ({ claims }) => claims !== undefined,
  revocation: ({ isRevoked }) => isRevoked !== undefined,
  introspection: (options) => [options, ...optionsByIssuer(options).values()].some(({ introspect }) => introspect),
  issuerLookup: ({ issuer }) => typeof issuer === 'function',
  maxTokenAge: ({ maxTokenAgeSeconds }) => maxTokenAgeSeconds !== undefined,
};

/**
 * Returns every rejection on a route with this challenge.
 * @param required the names of the requirements of the route, whose functions the challenge does not have
 */
export function rejectionsOf(
  { options, names, prepared }: GuardCore,
  challenge: ChallengeParameters,
  required: readonly string[],
): readonly Rejection[] {
  const { scope, acrValues, maxAge } = challenge;
  const isRequired: Partial<Record<RejectionReason, boolean>> = {
    scope_insufficient: scope !== undefined || options.requireScope || required.includes('scope'),
    authentication_insufficient: acrValues !== undefined || maxAge !== undefined,
    access_denied: required.includes('authorize'),
  };
  const reasons = (Object.keys(rejections) as RejectionReason[]).filter((reason) => {
    const { needs } = rejections[reason];
    return isRequired[reason] ?? (needs === undefined || isEnabled[needs](options));
  });
  return reasons.map((reason) => {
    const { error, description } = rejections[reason];
    const { status, contentType, text, isJson } = prepared[reason];
    const scheme = options.dpop === 'required' || reason.startsWith('proof_') ? 'DPoP' : 'Bearer';
    // A cooldown may have begun some seconds ago.
    const rejection = new Rejected(reason, reason === 'keys_unavailable' ? options.jwksCooldownSeconds : 1);
    const headers = rejectionHeaders(rejection, scheme, challenge, options, names.all[0]);
    return { reason, status, error, description, headers, contentType, body: isJson ? JSON.parse(text) : text };
  });
}
