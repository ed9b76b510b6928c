import type { DpopMode } from './schemes.ts';

/** What a client gets for a refusal. `error` is the code of its challenge (RFC 6750 §3.1, RFC 9449 §7.1), which is bare without it. */
interface RefusalDetails {
  readonly status: 401 | 403 | 503;
  readonly code: string;
  readonly description: string;
  readonly error?:
    | 'invalid_request'
    | 'invalid_token'
    | 'insufficient_scope'
    | 'insufficient_user_authentication'
    | 'invalid_dpop_proof'
    | undefined;
  /** Whether the settings of a guard allow it. Always, if undefined. */
  readonly when?: ((settings: Circumstances) => boolean) | undefined;
}

/** The settings of a guard that decide which rejections can occur. */
export interface Circumstances {
  readonly dpop: DpopMode;
  readonly clientCertificate?: unknown;
  readonly claims?: unknown;
  readonly isRevoked?: unknown;
}

const withDpopOnly = ({ dpop }: Circumstances) => dpop === 'required';
const withSchema = ({ claims }: Circumstances) => claims !== undefined;
const withDpop = ({ dpop }: Circumstances) => dpop !== 'off';
const withBearer = ({ dpop }: Circumstances) => dpop !== 'required';
const withBoundTokens = (settings: Circumstances) => withDpop(settings) || withCertificates(settings);
const withCertificates = ({ clientCertificate }: Circumstances) => clientCertificate !== undefined;

const refusal =
  (status: RefusalDetails['status'], code: string, error?: RefusalDetails['error'], usually?: RefusalDetails['when']) =>
  (description: string, when = usually): RefusalDetails => ({ status, code, description, error, when });

const invalidHeader = refusal(401, 'invalid_header');
const invalidToken = refusal(401, 'invalid_header', 'invalid_token');
const invalidClaims = refusal(401, 'invalid_claims', 'invalid_token');
const invalidRequest = refusal(401, 'invalid_header', 'invalid_request');
const insufficientLogin = refusal(401, 'insufficient_user_authentication', 'insufficient_user_authentication');
const insufficientScope = refusal(403, 'Unauthorized', 'insufficient_scope');
const invalidProof = refusal(401, 'invalid_header', 'invalid_dpop_proof', withDpop);

/**
 * Every reason to reject a request. The reason itself is only for logs and metrics. Clients get the code and a constant
 * description, so responses never contain parts of a token, a key or an exception.
 */
export const refusals = {
  credentials_missing: refusal(401, 'authorization_header_missing')('Authorization header is expected'),
  scheme_unsupported: invalidHeader('Authorization header must start with Bearer', withBearer),
  dpop_required: invalidHeader('Authorization header must start with DPoP', withDpopOnly),
  credentials_malformed: invalidRequest('Authorization header must be a scheme followed by one token'),
  token_oversized: invalidToken('Token is longer than 8192 characters'),
  token_opaque: invalidToken('Token is opaque, not a JWT: request a token for the audience of this API'),
  token_encrypted: invalidToken(
    'Token is encrypted: configure the issuer to sign access tokens without encrypting them',
  ),
  token_malformed: invalidToken('Token is not a JWT in compact serialization'),
  algorithm_unsupported: invalidToken('Token is signed with an algorithm that is not accepted'),
  key_id_missing: invalidToken('Token header has no kid'),
  critical_header: invalidToken('Token header must not contain crit'),
  type_unsupported: invalidToken('Token type must be JWT or at+jwt'),
  key_unknown: invalidToken('No key in the key set of the issuer matches the token'),
  signature_invalid: invalidToken('Token signature is invalid'),
  claims_malformed: invalidToken('Token claims are malformed'),
  issuer_mismatch: invalidClaims('Incorrect claims: the issuer is not accepted'),
  audience_mismatch: invalidClaims('Incorrect claims: the required audience is missing'),
  required_claim_mismatch: invalidClaims('Incorrect claims: a required claim is missing or has another value'),
  token_not_yet_valid: invalidToken('Token is not valid yet'),
  token_expired: refusal(401, 'token_expired', 'invalid_token')('Token is expired'),
  token_bound: invalidToken(
    'Token is bound to a key or certificate and cannot be used as a plain Bearer token',
    withBearer,
  ),
  certificate_missing: invalidToken('Token is bound to a certificate, but the request has none', withCertificates),
  certificate_mismatch: invalidToken(
    'Token is bound to a certificate other than the one of the request',
    withCertificates,
  ),
  token_certificate_bound: invalidToken(
    'Token is bound to a certificate and cannot be used with a DPoP proof',
    withDpop,
  ),
  token_confirmation_unsupported: invalidToken('Token is bound in a way that is not supported', withBoundTokens),
  token_unbound: invalidToken('Token is not bound to a key and cannot be used with a DPoP proof', withDpop),
  proof_missing: invalidProof('DPoP header is missing'),
  proof_repeated: invalidProof('Request must have one DPoP header with one proof'),
  proof_oversized: invalidProof('Proof is longer than 4096 characters'),
  proof_malformed: invalidProof('Proof is not a JWT in compact serialization'),
  proof_type: invalidProof('Proof type must be dpop+jwt'),
  proof_algorithm: invalidProof('Proof is signed with an algorithm that is not accepted'),
  proof_critical_header: invalidProof('Proof header must not contain crit'),
  proof_key: invalidProof('Proof jwk must be a public key for alg; RSA keys must have 2048 to 4096 bits'),
  proof_method: invalidProof('Proof htm does not match the method of the request'),
  proof_url: invalidProof('Proof htu does not match the URL of the request'),
  proof_time: invalidProof('Proof iat is more than 60 seconds away from the current time'),
  proof_token_hash: invalidProof('Proof ath is not the SHA-256 hash of the token'),
  proof_id: invalidProof('Proof jti must be a string of 1 to 256 characters'),
  proof_signature: invalidProof('Proof signature is invalid'),
  proof_replayed: invalidProof('Proof has already been used'),
  proof_key_mismatch: invalidToken('Token is bound to a key other than the one that signed the proof', withDpop),
  claims_unexpected: invalidClaims('Incorrect claims: a claim does not match the schema of this API', withSchema),
  token_revoked: invalidToken('Token is revoked', ({ isRevoked }) => isRevoked !== undefined),
  authentication_insufficient: insufficientLogin(
    'This resource requires a stronger or more recent authentication of the user',
  ),
  scope_insufficient: insufficientScope('Token does not have the scope that this resource requires'),
  access_denied: refusal(403, 'Unauthorized')('Token does not allow this request'),
  replay_unknown: refusal(503, 'replay_store_unavailable')('Replay detection is currently unavailable', withDpop),
  keys_unavailable: refusal(503, 'key_set_unavailable')('Signing keys are currently unavailable'),
} as const;

/** The internal reason of a rejection. */
export type RefusalReason = keyof typeof refusals;

/** A decision to reject a request. It is a value, which is returned and never thrown. */
export class Refusal {
  /**
   * @param reason internal, for logs and metrics
   * @param retryAfterSeconds whole seconds after which a client should retry during an outage
   */
  constructor(
    readonly reason: RefusalReason,
    readonly retryAfterSeconds = 1,
  ) {
    Object.freeze(this);
  }
}

const constants = Object.fromEntries(
  Object.keys(refusals).map((reason) => [reason, new Refusal(reason as RefusalReason)]),
) as Readonly<Record<RefusalReason, Refusal>>;

/** Returns the refusal with this reason, always the same object. */
export function refuse(reason: RefusalReason): Refusal {
  return constants[reason];
}

/** Whether a guard with these settings can reject a request for this reason. */
export function canOccur(reason: RefusalReason, settings: Circumstances): boolean {
  return refusals[reason].when?.(settings) ?? true;
}

/** What the body of a rejection is made from: the Error object, the status and the internal reason. */
export interface RefusalDescription {
  readonly status: number;
  readonly code: string;
  readonly description: string;
  readonly reason: RefusalReason;
}

/** The body of a rejection: a JSON object, or any body with its media type, such as `application/problem+json`. */
export type ErrorBody = object | { readonly body: object | string; readonly contentType: string };
