import type { CheckedOptions } from '../check-options.ts';
import { ignoreRejection, isPromise } from '../jose/promises.ts';
import { type Refusal, refusals } from '../refusals.ts';
import { acceptedSchemes, type Scheme } from '../schemes.ts';
import type { ChallengeParameters } from './requirements.ts';

export interface ChallengeOptions extends Pick<CheckedOptions, 'dpop' | 'dpopAlgorithms'> {
  /** URL of the resource's metadata (RFC 9728 §5.1). */
  readonly resourceMetadata: string | undefined;
}

export interface RejectionOptions
  extends ChallengeOptions,
    Partial<Pick<CheckedOptions, 'errorBody' | 'errorHeaders'>> {}

/** Returns the response to a request that is rejected on a route with these requirements. */
export type Reject = (refusal: Refusal, scheme: Scheme, challenge?: ChallengeParameters) => Response;

/**
 * Returns a function from a refusal to the complete response: status, JSON body, and `WWW-Authenticate` (RFC 6750 §3) for a 401
 * or 403, or `Retry-After` for a 503.
 */
export function createReject({ errorBody, errorHeaders = {}, ...options }: RejectionOptions): Reject {
  // Copying a Headers object takes a third of the time of an object literal.
  const prepared = new WeakMap<ChallengeParameters, Record<Scheme, Map<string, Headers>>>();
  const nothing: ChallengeParameters = {};

  function createHeaders(refusal: Refusal, scheme: Scheme, challenge: ChallengeParameters): Headers {
    const headers = new Headers(errorHeaders);
    const own = { 'content-type': 'application/json', ...rejectionHeaders(refusal, scheme, challenge, options) };
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    return headers;
  }

  function headersOf(refusal: Refusal, scheme: Scheme, challenge: ChallengeParameters): Headers {
    if (refusal.retryAfterSeconds > 1) return createHeaders(refusal, scheme, challenge);
    // A route passes the same object each time.
    let known = prepared.get(challenge);
    if (!known) {
      known = { Bearer: new Map(), DPoP: new Map() };
      prepared.set(challenge, known);
    }
    let headers = known[scheme].get(refusal.reason);
    if (!headers) {
      headers = createHeaders(refusal, scheme, challenge);
      known[scheme].set(refusal.reason, headers);
    }
    return headers;
  }

  return (refusal, scheme, challenge = nothing) => {
    const { status, code, description } = refusals[refusal.reason];
    const headers = headersOf(refusal, scheme, challenge);
    if (errorBody === undefined) return new Response(errorObjects.get(refusal.reason), { status, headers });
    const given = errorBody({ status, code, description, reason: refusal.reason });
    if (isPromise(given)) {
      ignoreRejection(given);
      throw new TypeError('Cannot reject a request: errorBody must be synchronous, but it returned a promise');
    }
    if (!('contentType' in given && 'body' in given)) return new Response(JSON.stringify(given), { status, headers });
    const response = new Response(typeof given.body === 'string' ? given.body : JSON.stringify(given.body), {
      status,
      headers,
    });
    response.headers.set('content-type', String(given.contentType));
    return response;
  };
}

/** The body of each rejection without an `errorBody`. */
const errorObjects = new Map(
  Object.entries(refusals).map(([reason, { code, description }]) => [reason, JSON.stringify({ code, description })]),
);

/** Returns `WWW-Authenticate` or `Retry-After` of a rejection. No other code writes challenges. */
export function rejectionHeaders(
  { reason, retryAfterSeconds }: Refusal,
  scheme: Scheme,
  challenge: ChallengeParameters,
  { dpop, dpopAlgorithms, resourceMetadata }: ChallengeOptions,
): Readonly<Record<string, string>> {
  const { status, description, error } = refusals[reason];
  if (status === 503) return { 'retry-after': String(retryAfterSeconds) };
  // Another token would not help the client.
  if (reason === 'access_denied') return {};
  const write = (name: Scheme) => {
    const parameters = {
      error,
      error_description: error && description,
      scope: challenge.scope,
      acr_values: challenge.acrValues,
      max_age: challenge.maxAge,
      algs: name === 'DPoP' ? dpopAlgorithms.join(' ') : undefined,
      resource_metadata: resourceMetadata,
    };
    const quoted = Object.entries(parameters).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}="${value}"`],
    );
    return quoted.length > 0 ? `${name} ${quoted.join(', ')}` : name;
  };
  const schemes = error === undefined ? acceptedSchemes(dpop) : [scheme];
  return { 'www-authenticate': schemes.map(write).join(', ') };
}
