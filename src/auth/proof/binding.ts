import { type Refusal, refuse } from '../refusals.ts';
import { ownClaim } from '../token/claims.ts';
import type { CheckedOptions, Claims, ClientCertificate, GuardRequest, Scheme } from '../types.ts';
import { isJsonObject, type Members } from '../values/json.ts';
import { whenSettled } from '../values/promises.ts';
import { refuseCertificate } from './certificate.ts';
import type { Presentation } from './presentation.ts';
import { createProofVerifier, type ProofVerifierOptions } from './proof.ts';
import { sharedMemoryStore } from './replay-store.ts';

export type BindingOptions = Omit<ProofVerifierOptions, 'publicUrl' | 'replayStore'> &
  Pick<CheckedOptions, 'dpop' | 'publicUrl' | 'replayStore' | 'clientCertificate'>;

/** Returns why a verified token cannot be used by this request, or undefined if it can. */
export type RefuseBinding = (
  request: GuardRequest,
  scheme: Scheme,
  presented: Presentation,
  claims: Claims,
) => Refusal | undefined | Promise<Refusal | undefined>;

const keyMethod = 'jkt';
const certificateMethod = 'x5t#S256';
/** The other registered methods. Unregistered members are ignored (RFC 7800 §3.1). */
const unsupportedMethods = ['jwk', 'jwe', 'kid', 'jku', 'osc'];

/**
 * Returns a function that decides whether a request may use its token. Anyone may use a plain token. A token that is bound to a
 * key requires a proof of that key (RFC 9449 §7), one that is bound to a certificate requires that certificate (RFC 8705 §3),
 * and one that is bound to both requires both. A token that is bound in any other way is rejected.
 */
export function createBindingCheck(options: BindingOptions): RefuseBinding {
  const { dpop, publicUrl = '', clientCertificate, replayStore = sharedMemoryStore() } = options;
  if (dpop === 'off') return createBearerCheck(clientCertificate);
  const verifyProof = createProofVerifier({ ...options, publicUrl, replayStore });
  const refuseBearer =
    dpop === 'required' ? () => refuse('dpop_required') : createBearerCheck(clientCertificate, 'token_key_bound');

  return (request, scheme, presented, claims) => {
    if (scheme === 'Bearer') return refuseBearer(request, scheme, presented, claims);
    const confirmation = confirmationOf(claims);
    const thumbprint = ownClaim(confirmation, keyMethod);
    if (hasUnsupportedMethod(confirmation)) return refuse('token_confirmation_unsupported');
    if (Object.hasOwn(confirmation, certificateMethod) && !clientCertificate) return refuse('token_certificate_bound');
    if (typeof thumbprint !== 'string') return refuse('token_unbound');
    return whenSettled(
      refuseConfirmation(request, confirmation, clientCertificate),
      (refusal) => refusal ?? verifyProof(request, presented, thumbprint),
    );
  };
}

/** @param keyBound why a token that is bound to a key is rejected, which depends on whether proofs are accepted */
function createBearerCheck(
  clientCertificate: ClientCertificate | undefined,
  keyBound: 'token_bound' | 'token_key_bound' = 'token_bound',
): RefuseBinding {
  return (request, _scheme, _presented, claims) => {
    if (!Object.hasOwn(claims, 'cnf')) return undefined;
    const confirmation = confirmationOf(claims);
    if (Object.hasOwn(confirmation, keyMethod)) return refuse(keyBound);
    if (!clientCertificate || !Object.hasOwn(confirmation, certificateMethod)) return refuse('token_bound');
    if (hasUnsupportedMethod(confirmation)) return refuse('token_confirmation_unsupported');
    return refuseConfirmation(request, confirmation, clientCertificate);
  };
}

function refuseConfirmation(
  request: GuardRequest,
  confirmation: Members,
  clientCertificate: ClientCertificate | undefined,
): Promise<Refusal | undefined> | undefined {
  if (!Object.hasOwn(confirmation, certificateMethod)) return undefined;
  return refuseCertificate(clientCertificate?.(request), confirmation[certificateMethod]);
}

/** Returns the methods by which a token is bound (RFC 7800 §3.1). */
function confirmationOf(claims: Claims): Members {
  const confirmation = ownClaim(claims, 'cnf');
  return isJsonObject(confirmation) ? confirmation : {};
}

function hasUnsupportedMethod(confirmation: Members): boolean {
  return unsupportedMethods.some((name) => Object.hasOwn(confirmation, name));
}
