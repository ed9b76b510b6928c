/** How a refused request is answered. `error` is the RFC 6750 §3.1 code of its challenge; none means a bare challenge. */
interface Answer {
  readonly status: 401 | 403 | 503;
  readonly code: string;
  readonly description: string;
  readonly error?: 'invalid_request' | 'invalid_token' | 'insufficient_scope';
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
    description: 'Authorization header must be Bearer followed by one token',
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

export interface RefusalOptions {
  /** Address of the resource's metadata; challenges carry it (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined;
  /** Headers that every refusal gets besides its own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Returns the JSON body of a refusal instead of the Error object. */
  readonly errorBody?: ((refusal: RefusalDescription) => object) | undefined;
}

/** Makes the response to a refused request. */
export type Refuse = (reason: RefusalReason, detail?: RefusalDetail) => Response;

/**
 * Returns a function from a reason to the finished response: status, JSON body, and `WWW-Authenticate` (RFC 6750 §3) on
 * every 401 and 403 or `Retry-After` on a 503. Nothing else writes a challenge.
 */
export function createRefuse({ resourceMetadata, headers, errorBody }: RefusalOptions): Refuse {
  const headersOf = (reason: RefusalReason, detail: RefusalDetail) =>
    new Headers({
      ...headers,
      'content-type': 'application/json',
      ...refusalHeaders(reason, detail, resourceMetadata),
    });
  const prepared = Object.fromEntries(
    Object.entries(refusals).map(([reason, { code, description }]) => [
      reason,
      { body: JSON.stringify({ code, description }), headers: headersOf(reason as RefusalReason, {}) },
    ]),
  ) as Readonly<Record<RefusalReason, { readonly body: string; readonly headers: Headers }>>;

  return (reason, detail) => {
    const { status, code, description } = refusals[reason];
    const { body, headers } = prepared[reason];
    return new Response(errorBody ? JSON.stringify(errorBody({ status, code, description, reason })) : body, {
      status,
      headers: detail ? headersOf(reason, detail) : headers,
    });
  };
}

/** Returns the headers that a refusal has of its own. */
export function refusalHeaders(
  reason: RefusalReason,
  { scopes, retryAfterSeconds = 1 }: RefusalDetail,
  resourceMetadata?: string,
): Readonly<Record<string, string>> {
  const { status, description, error }: Answer = refusals[reason];
  if (status === 503) return { 'retry-after': String(retryAfterSeconds) };
  const parameters = {
    error,
    error_description: error && description,
    scope: scopes?.join(' '),
    resource_metadata: resourceMetadata,
  };
  const quoted = Object.entries(parameters).flatMap(([name, value]) => (value ? [`${name}="${value}"`] : []));
  return { 'www-authenticate': quoted.length > 0 ? `Bearer ${quoted.join(', ')}` : 'Bearer' };
}
