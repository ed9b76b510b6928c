/** What `formatRejection` gets: what a client gets by default, and the internal reason. */
export interface RejectionDescription {
  /** The internal reason, as `onRejected` gets it; `method_not_allowed` for a request for the metadata. */
  readonly reason: RejectionReason | 'method_not_allowed';
  /** The status that a client gets by default. */
  readonly status: 400 | 401 | 403 | 503 | 405;
  /** The body has it by default (RFC 6749 §5.2), and the challenge if there were credentials (RFC 6750 §3.1). */
  readonly error:
    | 'missing_token'
    | 'invalid_request'
    | 'invalid_token'
    | 'invalid_dpop_proof'
    | 'use_dpop_nonce'
    | 'insufficient_user_authentication'
    | 'insufficient_scope'
    | 'access_denied'
    | 'temporarily_unavailable';
  /**
   * A constant sentence, without parts of the token. https://protected-api.github.io/protected-api/troubleshooting says
   * what to do for each.
   */
  readonly description: string;
}

/** What the options of a guard can enable, and a reason can need. */
export type Feature =
  | ('bearer' | 'dpop' | 'dpopOnly' | 'nonces' | 'certificates' | 'binding')
  | ('schema' | 'revocation' | 'introspection' | 'issuerLookup' | 'maxTokenAge');

/** What a client gets for a rejection by default. */
interface ReasonDetails extends Omit<RejectionDescription, 'reason'> {
  readonly status: 400 | 401 | 403 | 503;
  /** What the guard must have. Undefined for a reason of every guard. */
  readonly needs: Feature | undefined;
}

const rejection =
  (status: ReasonDetails['status'], error: ReasonDetails['error'], usually?: Feature) =>
  (description: string, needs = usually): ReasonDetails => ({ status, error, description, needs });

const missingToken = rejection(401, 'missing_token');
const invalidRequest = rejection(400, 'invalid_request');
const invalidToken = rejection(401, 'invalid_token');
const invalidProof = rejection(401, 'invalid_dpop_proof', 'dpop');
const useNonce = rejection(401, 'use_dpop_nonce', 'nonces');
const insufficientLogin = rejection(401, 'insufficient_user_authentication');
const insufficientScope = rejection(403, 'insufficient_scope');
const accessDenied = rejection(403, 'access_denied');
const unavailable = rejection(503, 'temporarily_unavailable');

/**
 * Of a token, in characters. Generous: most access tokens are below 2 KiB, but one of a person with 200 groups is not.
 * Bun and Node.js limit all headers of a request to as much, so there a server rejects it first.
 */
export const maxTokenLength = 16_384;

/**
 * Every reason to reject a request, for logs and metrics. Clients get the error and a constant description, so
 * responses never contain parts of a token, a key or an exception.
 */
export const rejections = {
  credentials_missing: missingToken('Authorization header is expected'),
  scheme_unsupported: missingToken('Authorization header must start with Bearer', 'bearer'),
  scheme_not_dpop: missingToken('Authorization header must start with DPoP', 'dpopOnly'),
  dpop_required: invalidToken('Token must be sent with the scheme DPoP and a proof', 'dpopOnly'),
  credentials_malformed: invalidRequest('Authorization header must be a scheme followed by one token'),
  token_oversized: invalidToken(`Token is longer than ${maxTokenLength} characters`),
  token_opaque: invalidToken('Token is opaque, not a JWT: request a token for the audience of this API'),
  token_encrypted: invalidToken(
    'Token is encrypted: configure the issuer to sign access tokens without encrypting them',
  ),
  token_malformed: invalidToken('Token is not a JWT in compact serialization'),
  algorithm_unsupported: invalidToken('Token is signed with an algorithm that is not accepted'),
  key_id_missing: invalidToken('Token header has no kid'),
  critical_header: invalidToken('Token header must not contain crit'),
  type_unsupported: invalidToken('Token is not an access token according to its typ or its claims'),
  key_unknown: invalidToken('No key in the key set of the issuer matches the token'),
  signature_invalid: invalidToken('Token signature is invalid'),
  claims_malformed: invalidToken('Token claims are malformed'),
  issuer_mismatch: invalidToken('Incorrect claims: the issuer is not accepted'),
  audience_mismatch: invalidToken('Incorrect claims: the required audience is missing'),
  required_claim_mismatch: invalidToken('Incorrect claims: a required claim is missing or has another value'),
  token_not_yet_valid: invalidToken('Token is not valid yet'),
  token_expired: invalidToken('Token is expired'),
  token_too_old: invalidToken('Token was issued too long ago, or its iat is missing or ahead of time', 'maxTokenAge'),
  token_bound: invalidToken(
    'Token is bound to a key or certificate and cannot be used as a plain Bearer token',
    'bearer',
  ),
  token_key_bound: invalidToken('Token is bound to a key: send it with the scheme DPoP and a proof', 'dpop'),
  certificate_missing: invalidToken('Token is bound to a certificate, but the request has none', 'certificates'),
  certificate_unreadable: invalidToken(
    'Token is bound to a certificate, and that of the request cannot be read',
    'certificates',
  ),
  certificate_mismatch: invalidToken(
    "Token is bound to another certificate, not to this request's certificate",
    'certificates',
  ),
  token_certificate_bound: invalidToken('Token is bound to a certificate and cannot be used with a DPoP proof', 'dpop'),
  token_confirmation_unsupported: invalidToken('Token is bound in a way that is not supported', 'binding'),
  token_unbound: invalidToken('Token is not bound to a key and cannot be used with a DPoP proof', 'dpop'),
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
  proof_time: invalidProof('Proof iat, exp or nbf does not fit the current time'),
  proof_token_hash: invalidProof('Proof ath is not the SHA-256 hash of the token'),
  proof_id: invalidProof('Proof jti must be a string of 1 to 256 characters'),
  proof_signature: invalidProof('Proof signature is invalid'),
  proof_nonce_missing: useNonce('Proof must have the nonce of the DPoP-Nonce header'),
  proof_nonce_stale: useNonce('Proof nonce is old or unknown: use that of the DPoP-Nonce header'),
  proof_replayed: invalidProof('Proof has already been used'),
  proof_key_mismatch: invalidToken('Token is bound to another key, not to the key that signed the proof', 'dpop'),
  claims_unexpected: invalidToken('Incorrect claims: a claim does not match the schema of this API', 'schema'),
  token_revoked: invalidToken('Token is revoked', 'revocation'),
  token_inactive: invalidToken('Token is not active', 'introspection'),
  authentication_insufficient: insufficientLogin(
    'This resource requires a stronger or more recent authentication of the user',
  ),
  scope_insufficient: insufficientScope('Token does not have the scope that this resource requires'),
  access_denied: accessDenied('This token may not make this request'),
  revocation_unavailable: unavailable('Revocation checks are currently unavailable', 'revocation'),
  introspection_unavailable: unavailable('Token introspection is currently unavailable', 'introspection'),
  replay_unknown: unavailable('Replay detection is currently unavailable', 'dpop'),
  issuer_unavailable: unavailable('Issuers cannot be looked up at the moment', 'issuerLookup'),
  keys_unavailable: unavailable('Signing keys are currently unavailable'),
} as const;

/**
 * The internal reason of a rejection, for logs and metrics.
 * @useDeclaredType
 */
export type RejectionReason = keyof typeof rejections;

/** What a check expected, by the option or requirement that says it, or the URL that a proof must have. */
export interface Expected {
  readonly url?: string | undefined;
  readonly [name: string]: unknown;
}

/** A decision to reject a request. It is a value, which is returned and never thrown. */
export class Rejected {
  /**
   * @param reason internal, for logs and metrics
   * @param retryAfterSeconds whole seconds after which a client should retry during an outage
   * @param nonce for the next proof of the client (RFC 9449 §9)
   * @param expected for logs and `explain`, never for clients
   */
  constructor(
    readonly reason: RejectionReason,
    readonly retryAfterSeconds = 1,
    readonly nonce?: string,
    readonly expected?: Expected,
  ) {
    Object.freeze(this);
  }
}

const constants = Object.fromEntries(
  Object.keys(rejections).map((reason) => [reason, new Rejected(reason as RejectionReason)]),
) as Readonly<Record<RejectionReason, Rejected>>;

/** Returns the rejection with this reason: always the same object, unless it says what was expected. */
export function rejectFor(reason: RejectionReason, expected?: Expected): Rejected {
  return expected === undefined ? constants[reason] : new Rejected(reason, 1, undefined, expected);
}
