import { proofAlgorithms } from './proof/proof-key.ts';
import { acceptedSchemes, type DpopMode, type Scheme } from './proof/schemes.ts';

/** The response to a rejection. `error` is the code of its challenge (RFC 6750 §3.1, RFC 9449 §7.1), which is bare without it. */
interface Answer {
  readonly status: 401 | 403 | 503;
  readonly code: string;
  readonly description: string;
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope' | 'invalid_dpop_proof';
}

const invalidToken = (description: string): Answer => ({
  status: 401,
  code: 'invalid_header',
  description,
  error: 'invalid_token',
});

const invalidClaims = (description: string): Answer => ({
  status: 401,
  code: 'invalid_claims',
  description,
  error: 'invalid_token',
});

const invalidProof = (description: string): Answer => ({
  status: 401,
  code: 'invalid_header',
  description,
  error: 'invalid_dpop_proof',
});

/** The outcomes that occur only with DPoP. */
const dpopRefusals = {
  dpop_required: {
    status: 401,
    code: 'invalid_header',
    description: 'Authorization header must start with DPoP',
  },
  token_certificate_bound: invalidToken('Token is bound to a certificate and cannot be used with a DPoP proof'),
  token_confirmation_unsupported: invalidToken('Token is bound in a way that is not supported'),
  token_unbound: invalidToken('Token is not bound to a key and cannot be used with a DPoP proof'),
  proof_missing: invalidProof('DPoP header is missing'),
  proof_repeated: invalidProof('Request must have one DPoP header with one proof'),
  proof_oversized: invalidProof('Proof is longer than 4096 characters'),
  proof_malformed: invalidProof('Proof is not a JWT in compact serialization'),
  proof_type: invalidProof('Proof type must be dpop+jwt'),
  proof_algorithm: invalidProof('Proof is signed with an algorithm that is not accepted'),
  proof_critical_header: invalidProof('Proof header must not contain crit'),
  proof_key: invalidProof('Proof jwk must be a public key that fits alg; RSA keys have 2048 to 4096 bits'),
  proof_method: invalidProof('Proof htm does not match the method of the request'),
  proof_url: invalidProof('Proof htu does not match the address of the request'),
  proof_time: invalidProof('Proof iat is more than 60 seconds away from the current time'),
  proof_token_hash: invalidProof('Proof ath is not the SHA-256 hash of the token'),
  proof_id: invalidProof('Proof jti must be a string of 1 to 256 characters'),
  proof_signature: invalidProof('Proof signature is invalid'),
  proof_replayed: invalidProof('Proof has already been used'),
  proof_key_mismatch: invalidToken('Token is bound to a key other than the one that signed the proof'),
  replay_unknown: {
    status: 503,
    code: 'replay_store_unavailable',
    description: 'Replay detection is currently unavailable',
  },
} as const satisfies Record<string, Answer>;

/** The outcomes that occur only with the option `clientCertificate`. */
const certificateRefusals = {
  certificate_missing: invalidToken('Token is bound to a certificate, and the request has none'),
  certificate_mismatch: invalidToken('Token is bound to a certificate other than the one of the request'),
} as const satisfies Record<string, Answer>;

/**
 * Every reason to reject a request. The reason itself is only for logs and metrics. Clients get the code and a constant
 * description, so responses never contain parts of a token, a key or an exception.
 */
export const refusals = {
  credentials_missing: {
    status: 401,
    code: 'authorization_header_missing',
    description: 'Authorization header is expected',
  },
  scheme_unsupported: {
    status: 401,
    code: 'invalid_header',
    description: 'Authorization header must start with Bearer',
  },
  credentials_malformed: {
    status: 401,
    code: 'invalid_header',
    description: 'Authorization header must be a scheme followed by one token',
    error: 'invalid_request',
  },
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
  token_expired: { status: 401, code: 'token_expired', description: 'Token is expired', error: 'invalid_token' },
  token_bound: invalidToken('Token is bound to a key or certificate and cannot be used as a plain Bearer token'),
  scope_insufficient: {
    status: 403,
    code: 'Unauthorized',
    description: 'Token does not have the scope that this resource requires',
    error: 'insufficient_scope',
  },
  keys_unavailable: {
    status: 503,
    code: 'key_set_unavailable',
    description: 'Signing keys are currently unavailable',
  },
  ...dpopRefusals,
  ...certificateRefusals,
} as const satisfies Record<string, Answer>;

/** The internal reason of a rejection. */
export type RefusalReason = keyof typeof refusals;

/** A decision to reject a request. It is a value: nothing is thrown on the way of a request. */
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

/** What the body of a rejection is made from: the Error object, the status and the internal reason. */
export interface RefusalDescription {
  readonly status: number;
  readonly code: string;
  readonly description: string;
  readonly reason: RefusalReason;
}

/** What a rejection depends on besides its reason. */
export interface RefusalDetail {
  /** The scopes that the route requires, in the form in which a client must request them. */
  readonly scopes?: readonly string[];
  /** Whole seconds after which a client should retry during an outage. Defaults to 1. */
  readonly retryAfterSeconds?: number | undefined;
}

export interface ChallengeOptions {
  /** Address of the resource's metadata, for challenges (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
  /** Determines the accepted schemes. Defaults to `off`. */
  readonly dpop?: DpopMode | undefined;
}

export interface RefusalOptions extends ChallengeOptions {
  /** Additional headers of every rejection. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Returns the JSON body of a rejection instead of the Error object. */
  readonly errorBody?: ((refusal: RefusalDescription) => object) | undefined;
}

/** Returns the response to a rejected request that used this scheme. */
export type Refuse = (reason: RefusalReason, scheme: Scheme, detail?: RefusalDetail) => Response;

/**
 * Returns a function from a reason to the complete response: status, JSON body, and `WWW-Authenticate` (RFC 6750 §3) for a 401
 * or 403, or `Retry-After` for a 503. No other code writes challenges.
 */
export function createRefuse({ headers, errorBody, ...options }: RefusalOptions): Refuse {
  const headersOf = (reason: RefusalReason, scheme: Scheme, detail: RefusalDetail) =>
    new Headers({
      ...headers,
      'content-type': 'application/json',
      ...refusalHeaders(reason, scheme, detail, options),
    });
  const prepare = (scheme: Scheme) =>
    Object.fromEntries(
      Object.entries(refusals).map(([reason, { code, description }]) => [
        reason,
        { body: JSON.stringify({ code, description }), headers: headersOf(reason as RefusalReason, scheme, {}) },
      ]),
    ) as Readonly<Record<RefusalReason, { readonly body: string; readonly headers: Headers }>>;
  const prepared = { Bearer: prepare('Bearer'), DPoP: prepare('DPoP') };

  return (reason, scheme, detail) => {
    const { status, code, description } = refusals[reason];
    const { body, headers } = prepared[scheme][reason];
    return new Response(errorBody ? JSON.stringify(errorBody({ status, code, description, reason })) : body, {
      status,
      headers: detail ? headersOf(reason, scheme, detail) : headers,
    });
  };
}

/** Returns the headers of a rejection. */
export function refusalHeaders(
  reason: RefusalReason,
  scheme: Scheme,
  { scopes, retryAfterSeconds = 1 }: RefusalDetail,
  { resourceMetadata, dpop = 'off' }: ChallengeOptions,
): Readonly<Record<string, string>> {
  const { status, description, error }: Answer = refusals[reason];
  if (status === 503) return { 'retry-after': String(retryAfterSeconds) };
  const challenge = (name: Scheme) => {
    const parameters = {
      error,
      error_description: error && description,
      scope: scopes?.join(' '),
      algs: name === 'DPoP' && proofAlgorithms.join(' '),
      resource_metadata: resourceMetadata,
    };
    const quoted = Object.entries(parameters).flatMap(([key, value]) => (value ? [`${key}="${value}"`] : []));
    return quoted.length > 0 ? `${name} ${quoted.join(', ')}` : name;
  };
  const schemes = error === undefined ? acceptedSchemes(dpop) : [scheme];
  return { 'www-authenticate': schemes.map(challenge).join(', ') };
}

/**
 * Returns the headers of a rejection for the documentation, by scheme, or undefined for a reason that cannot occur with the
 * accepted schemes.
 */
export function exampleHeaders(
  reason: RefusalReason,
  detail: RefusalDetail,
  options: ChallengeOptions,
): Readonly<Record<string, string>> | undefined {
  const { dpop = 'off' } = options;
  const isOfDpop = Object.hasOwn(dpopRefusals, reason);
  const without: Readonly<Record<DpopMode, boolean>> = {
    off: isOfDpop,
    on: reason === 'dpop_required',
    required: reason === 'scheme_unsupported' || reason === 'token_bound',
  };
  if (without[dpop] || Object.hasOwn(certificateRefusals, reason)) return undefined;
  return refusalHeaders(reason, isOfDpop || dpop === 'required' ? 'DPoP' : 'Bearer', detail, options);
}
