import { acceptedSchemes, type DpopMode, type Scheme } from './credentials.ts';
import { proofAlgorithms } from './proof-key.ts';

/** How a refused request is answered. `error` is the code of its challenge (RFC 6750 §3.1, RFC 9449 §7.1); none means a bare challenge. */
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

/** The outcomes that only DPoP has. */
const dpopRefusals = {
  dpop_required: {
    status: 401,
    code: 'invalid_header',
    description: 'Authorization header must start with DPoP',
  },
  token_certificate_bound: invalidToken('Token is bound to a certificate and cannot be used with a DPoP proof'),
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
  proof_replayed: invalidProof('Proof has been used already'),
  proof_key_mismatch: invalidToken('Token is bound to a key other than the one that signed the proof'),
  replay_unknown: {
    status: 503,
    code: 'replay_store_unavailable',
    description: 'Proofs cannot be checked for replay at the moment',
  },
} as const satisfies Record<string, Answer>;

/**
 * Every outcome that refuses a request. The name is the internal reason, for logs and metrics only; the client gets the
 * contract's code and a constant sentence, so nothing of a token, a key or an exception can reach it.
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
} as const satisfies Record<string, Answer>;

/** The internal reason of a refusal. */
export type RefusalReason = keyof typeof refusals;

/** The body of a refusal, before it is rendered: the Error object and the internal reason. */
export interface RefusalDescription {
  readonly status: number;
  readonly code: string;
  readonly description: string;
  readonly reason: RefusalReason;
}

/** What a refusal depends on besides its reason. */
export interface RefusalDetail {
  /** The scopes that the route requires, as a client must request them. */
  readonly scopes?: readonly string[];
  /** Whole seconds after which a retry may succeed, during an outage; defaults to 1. */
  readonly retryAfterSeconds?: number | undefined;
}

export interface ChallengeOptions {
  /** Address of the resource's metadata; challenges carry it (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
  /** Which schemes are accepted; `off` by default. */
  readonly dpop?: DpopMode | undefined;
}

export interface RefusalOptions extends ChallengeOptions {
  /** Headers that every refusal gets besides its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Returns the JSON body of a refusal instead of the Error object. */
  readonly errorBody?: ((refusal: RefusalDescription) => object) | undefined;
}

/** Makes the response to a refused request that presented its token by this scheme. */
export type Refuse = (reason: RefusalReason, scheme: Scheme, detail?: RefusalDetail) => Response;

/**
 * Returns a function from a reason to the finished response: status, JSON body, and `WWW-Authenticate` (RFC 6750 §3) on
 * every 401 and 403 or `Retry-After` on a 503. Nothing else writes a challenge.
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

/** Returns the headers that a refusal has of its own. */
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
 * Returns the headers of a refusal for documentation, by the scheme that leads to it; undefined for a reason that does not
 * occur with the schemes that are accepted.
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
  if (without[dpop]) return undefined;
  return refusalHeaders(reason, isOfDpop || dpop === 'required' ? 'DPoP' : 'Bearer', detail, options);
}
