import { type Rejected, rejectFor } from '../rejections.ts';
import { ownClaim } from '../token/claims.ts';
import type { CheckedOptions, Claims, GuardRequest, Scheme } from '../types.ts';
import { createFaultWarning, nameOfFault } from '../values/faults.ts';
import { isJsonObject, type Members } from '../values/json.ts';
import { isThenable, whenSettled } from '../values/promises.ts';
import { rejectCertificate, unreadable } from './certificate.ts';
import type { Presentation } from './presentation.ts';
import { createProofVerifier, type ProofVerifierOptions, type VerifiedProof } from './proof.ts';

export type BindingOptions = ProofVerifierOptions & Pick<CheckedOptions, 'dpop' | 'clientCertificate'>;

/** Returns why this request cannot use a verified token, otherwise the proof that it has to use, if any. */
export type CheckBinding = (
  request: GuardRequest,
  scheme: Scheme,
  presented: Presentation,
  claims: Claims,
) => Binding | Promise<Binding>;
type Binding = Rejected | VerifiedProof | undefined;

const keyMethod = 'jkt';
const certificateMethod = 'x5t#S256';
const certificateForms = 'DER, PEM or X509Certificate';
/** The other registered methods. Unregistered members are ignored (RFC 7800 §3.1). */
const unsupportedMethods = ['jwk', 'jwe', 'kid', 'jku', 'osc'];

/**
 * Returns a function that decides whether a request may use its token. Anyone may use a plain token. A token that is
 * bound to a key requires a proof of that key (RFC 9449 §7), one that is bound to a certificate requires that
 * certificate (RFC 8705 §3), and one that is bound to both requires both. Any other bound token is rejected.
 */
export function createBindingCheck(options: BindingOptions): CheckBinding {
  const { dpop, clientCertificate } = options;
  const verifyProof = createProofVerifier(options);
  const warn = createFaultWarning(
    'read client certificates',
    'the function clientCertificate',
    'Tokens that are bound to a certificate are rejected',
  );

  /** The function may read what a client sent, so an exception counts as a certificate that cannot be read. */
  async function rejectHolder(request: GuardRequest, confirmation: Members): Promise<Rejected | undefined> {
    let certificate: unknown = unreadable;
    try {
      certificate = clientCertificate?.(request);
    } catch (fault) {
      warn(`threw ${nameOfFault(fault)}`);
    }
    const rejection = await rejectCertificate(certificate, confirmation[certificateMethod]);
    if (rejection?.reason === 'certificate_unreadable' && certificate !== unreadable)
      warn(
        isThenable(certificate) ? 'returned a promise, but it must be synchronous' : `returned no ${certificateForms}`,
      );
    return rejection;
  }

  function rejectBearer(request: GuardRequest, claims: Claims): ReturnType<CheckBinding> {
    if (dpop === 'required') return rejectFor('dpop_required');
    if (!Object.hasOwn(claims, 'cnf')) return undefined;
    const confirmation = confirmationOf(claims);
    if (Object.hasOwn(confirmation, keyMethod)) return rejectFor(dpop === 'off' ? 'token_bound' : 'token_key_bound');
    if (!clientCertificate || !Object.hasOwn(confirmation, certificateMethod)) return rejectFor('token_bound');
    if (hasUnsupportedMethod(confirmation)) return rejectFor('token_confirmation_unsupported');
    return rejectHolder(request, confirmation);
  }

  return (request, scheme, presented, claims) => {
    if (scheme === 'Bearer') return rejectBearer(request, claims);
    const confirmation = confirmationOf(claims);
    const thumbprint = ownClaim(confirmation, keyMethod);
    const needsCertificate = Object.hasOwn(confirmation, certificateMethod);
    if (hasUnsupportedMethod(confirmation)) return rejectFor('token_confirmation_unsupported');
    if (needsCertificate && !clientCertificate) return rejectFor('token_certificate_bound');
    if (typeof thumbprint !== 'string') return rejectFor('token_unbound');
    return whenSettled(
      needsCertificate ? rejectHolder(request, confirmation) : undefined,
      (rejection) => rejection ?? verifyProof(request, presented, thumbprint),
    );
  };
}

/** Returns the methods by which a token is bound (RFC 7800 §3.1). */
function confirmationOf(claims: Claims): Members {
  const confirmation = ownClaim(claims, 'cnf');
  return isJsonObject(confirmation) ? confirmation : {};
}

function hasUnsupportedMethod(confirmation: Members): boolean {
  return unsupportedMethods.some((name) => Object.hasOwn(confirmation, name));
}
