/** What a refused request is answered with. `error` is the RFC 6750 §3.1 code of its challenge; none means a bare challenge. */
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

/**
 * Every outcome that refuses a request. The name is the fine reason, for logs and metrics only; the client learns the
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
    description: 'Authorization header must be the word Bearer and one token',
    error: 'invalid_request',
  },
  token_oversized: invalidToken('Token is longer than 8192 characters'),
  token_malformed: invalidToken('Token is not a JWT in compact serialization'),
  algorithm_unsupported: invalidToken('Token must be signed with RS256'),
  key_id_missing: invalidToken('Token header must name its key in kid'),
  critical_header: invalidToken('Token header must not have crit'),
  type_unsupported: invalidToken('Token type must be JWT or at+jwt'),
  key_unknown: invalidToken('No key of the issuer matches the token'),
  signature_invalid: invalidToken('Token signature cannot be verified'),
  claims_malformed: invalidToken('Token claims are malformed'),
  issuer_mismatch: {
    status: 401,
    code: 'invalid_claims',
    description: 'Incorrect claims: the issuer is not the expected one',
    error: 'invalid_token',
  },
  audience_mismatch: {
    status: 401,
    code: 'invalid_claims',
    description: 'Incorrect claims: the required audience is missing',
    error: 'invalid_token',
  },
  token_not_yet_valid: invalidToken('Token is not valid yet'),
  token_expired: { status: 401, code: 'token_expired', description: 'Token is expired', error: 'invalid_token' },
  token_bound: invalidToken('Token is bound to a key and cannot be used as a plain Bearer token'),
  scope_insufficient: {
    status: 403,
    code: 'Unauthorized',
    description: 'Token does not carry the scope this resource requires',
    error: 'insufficient_scope',
  },
  keys_unavailable: {
    status: 503,
    code: 'key_set_unavailable',
    description: 'The keys of the issuer cannot be had at the moment',
  },
} as const satisfies Record<string, Answer>;

/** The fine reason of a refusal. */
export type RefusalReason = keyof typeof refusals;

/** Thrown to refuse a request, so that a guard which is reached can only fail closed. */
export class RefusedError extends Error {
  /**
   * @param reason what is wrong, see {@link refusals}
   * @param detail `scope` that is missing; `retryAfterSeconds`, a whole number, for an outage
   */
  constructor(
    readonly reason: RefusalReason,
    readonly detail: { readonly scope?: string; readonly retryAfterSeconds?: number } = {},
  ) {
    super(refusals[reason].description);
  }
}

const withoutDetail = Object.fromEntries(
  Object.keys(refusals).map((reason) => {
    const error = new RefusedError(reason as RefusalReason, Object.freeze({}));
    return [reason, Object.freeze(error)];
  }),
) as Readonly<Record<RefusalReason, RefusedError>>;

/** Returns the error for a reason without detail, always the same one: taking its stack would be a fifth of what a refusal costs. */
export function refused(reason: RefusalReason): RefusedError {
  return withoutDetail[reason];
}

/**
 * Returns a function from a refusal to its headers: `WWW-Authenticate` (RFC 6750 §3) on every 401 and 403, `Retry-After`
 * on a 503. With `resourceMetadata`, an absolute address, challenges carry it (RFC 9728 §5.1).
 */
export function createRefusalHeaders(
  resourceMetadata: string | undefined,
): (refused: RefusedError) => Readonly<Record<string, string>> {
  const challenge = ({ error, description }: Answer, scope?: string) => {
    const parameters = { error, error_description: error && description, scope, resource_metadata: resourceMetadata };
    const quoted = Object.entries(parameters).flatMap(([name, value]) => (value ? [`${name}="${value}"`] : []));
    return { 'www-authenticate': quoted.length > 0 ? `Bearer ${quoted.join(', ')}` : 'Bearer' };
  };
  // A flood of bad tokens is answered from here.
  const ready = new Map(Object.entries(refusals).map(([reason, answer]) => [reason, challenge(answer)]));

  return ({ reason, detail: { scope, retryAfterSeconds = 1 } }) => {
    if (reason === 'keys_unavailable') return { 'retry-after': String(retryAfterSeconds) };
    return (scope === undefined && ready.get(reason)) || challenge(refusals[reason], scope);
  };
}
