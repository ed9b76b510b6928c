import { namesOf } from '../keys/algorithms.ts';
import { code, integer, text } from '../options/kinds.ts';
import { readMembers } from '../options/members.ts';
import type { PublicNames } from '../proof/public-names.ts';
import { type Rejected, rejections } from '../rejections.ts';
import type {
  CheckedOptions,
  DpopMode,
  GuardRequest,
  RejectionDescription,
  RejectionReason,
  Scheme,
} from '../types.ts';
import { isJsonObject } from '../values/json.ts';
import { ignoreRejection, isThenable } from '../values/promises.ts';
import { isDropped, type Rejection } from './decision.ts';
import type { ChallengeParameters, RoutePolicy } from './requirements.ts';

/** What is sent for a reason, but for its challenge or `Retry-After`. */
export interface PreparedRejection extends Pick<Rejection, 'status' | 'isJson'> {
  readonly contentType: string;
  /** JSON, if the body was given as an object. */
  readonly text: string;
}

type PreparedRejections = Readonly<Record<RejectionDescription['reason'], PreparedRejection>>;

/** The part of a route's policy that its rejections show. */
export type Shown = Pick<RoutePolicy, 'challenge' | 'isOptional'>;

/**
 * Returns a function that calls `onRejected`, and makes the complete rejection for a rejection: status, body, and
 * challenge (RFC 6750 §3) or `Retry-After`.
 */
export function createReject(
  options: CheckedOptions,
  names: PublicNames,
  prepared: PreparedRejections,
  onRejection?: (rejected: Rejected) => void,
) {
  const own = Object.entries(options.errorHeaders ?? {}).filter(([name]) => !isDropped(name));
  const always = Object.fromEntries(new Headers(own));
  const known = new WeakMap<Shown, Map<string, Rejection>>();

  function create(rejected: Rejected, scheme: Scheme, { challenge, isOptional }: Shown, name: number): Rejection {
    const { reason } = rejected;
    const { status, text, isJson, contentType } = prepared[reason];
    const headers = {
      ...always,
      'content-type': contentType,
      'cache-control': 'no-store',
      ...rejectionHeaders(rejected, scheme, challenge, options, names.all[name]),
      ...(isOptional && { vary: [always.vary ?? [], 'Authorization'].flat().join(', ') }),
    };
    return Object.freeze({ reason, status, headers: Object.freeze(headers), body: text, isJson });
  }

  /** A route passes the same object each time, and needs the same rejection, unless that is for one client. */
  function find(rejected: Rejected, scheme: Scheme, shown: Shown, name: number): Rejection {
    if (rejected.retryAfterSeconds > 1 || rejected.nonce !== undefined) return create(rejected, scheme, shown, name);
    const ofRoute = known.get(shown) ?? new Map<string, Rejection>();
    known.set(shown, ofRoute);
    const key = `${scheme} ${rejected.reason} ${name}`;
    const rejection = ofRoute.get(key) ?? create(rejected, scheme, shown, name);
    ofRoute.set(key, rejection);
    return rejection;
  }

  return (request: GuardRequest, rejected: Rejected, scheme: Scheme, shown: Shown): Rejection => {
    onRejection?.(rejected);
    ignoreRejection(options.onRejected?.(request, rejected.reason, { expected: rejected.expected?.url }));
    return find(rejected, scheme, shown, names.find(request));
  };
}

/**
 * Returns what is sent for each reason: the error and its description (RFC 6749 §5.2), or what the application makes of
 * them.
 * @throws {TypeError} `formatRejection` throws, or returns what cannot be sent; the message names the reason
 */
export function prepareRejections(format: CheckedOptions['formatRejection']): PreparedRejections {
  const entries = Object.entries({ ...rejections, method_not_allowed: notAllowed }).map(([reason, details]) => [
    reason,
    prepareRejection({ ...details, reason: reason as RejectionDescription['reason'] }, format),
  ]);
  return Object.fromEntries(entries);
}

/** Only the metadata have methods of their own. */
const notAllowed = { status: 405, error: 'invalid_request', description: 'Method not allowed for this path' } as const;

function prepareRejection(
  { reason, status, error, description }: RejectionDescription,
  format: CheckedOptions['formatRejection'],
): PreparedRejection {
  const text = JSON.stringify({ error, error_description: description });
  const usual = { status, contentType: 'application/json', text, isJson: true };
  if (format === undefined) return usual;
  try {
    return { ...usual, ...readFormat(format({ reason, status, error, description })) };
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new TypeError(`Cannot create a guard: formatRejection for ${reason}: ${detail}`, { cause });
  }
}

/** RFC 9110 §8.3.1, without quotes. */
const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?: ?; ?[\w-]+=[\w.-]+)*$/;

const formatRules = {
  status: integer(400, 599),
  contentType: text('a media type', (value) => mediaType.test(value)),
  body: code('an object, or a string with a contentType', () => true),
};

function readFormat(returned: unknown): Partial<PreparedRejection> {
  ignoreRejection(returned);
  if (!isJsonObject(returned) || isThenable(returned)) throw new TypeError('it must return an object, not a promise');
  const { values, fault } = readMembers(formatRules, returned);
  if (fault !== undefined) throw new TypeError(fault);
  const { status, body, contentType } = values;
  const isJson = typeof body === 'object' && body !== null && !isThenable(body);
  const text: unknown = isJson ? JSON.stringify(body) : body;
  if (body !== undefined && (typeof text !== 'string' || (!isJson && contentType === undefined)))
    throw new TypeError('body must be an object, or a string with a contentType');
  const given = { status, contentType, text, isJson: text === undefined || isJson };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Returns the accepted schemes, the preferred one last. */
export function acceptedSchemes(dpop: DpopMode): readonly Scheme[] {
  if (dpop === 'off') return ['Bearer'];
  return dpop === 'on' ? ['Bearer', 'DPoP'] : ['DPoP'];
}

/** A client of the scheme Bearer learns from the challenge that it needs the other scheme (RFC 9449 §7.1). */
const wantingProofs: readonly RejectionReason[] = ['dpop_required', 'token_key_bound'];

/** Returns `WWW-Authenticate` or `Retry-After` of a rejection. No other code writes challenges. */
export function rejectionHeaders(
  { reason, retryAfterSeconds, nonce }: Rejected,
  scheme: Scheme,
  challenge: ChallengeParameters,
  options: CheckedOptions,
  name: PublicNames['all'][number] | undefined,
): Readonly<Record<string, string>> {
  const { dpop } = options;
  const { status, description, error } = rejections[reason];
  if (status === 503) return { 'retry-after': String(retryAfterSeconds) };
  // Another token would not help the client.
  if (reason === 'access_denied') return {};
  // RFC 6750 §3.1: no error for a request without credentials.
  const isBare = error === 'missing_token';
  const write = (written: Scheme) => {
    const parameters = {
      error: isBare ? undefined : error,
      error_description: isBare ? undefined : description,
      scope: challenge.scope,
      acr_values: challenge.acrValues,
      max_age: challenge.maxAge,
      algs: written === 'DPoP' ? options.dpopAlgorithms.flatMap(namesOf).join(' ') : undefined,
      resource_metadata: name?.metadataUrl,
    };
    const quoted = Object.entries(parameters).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key}="${value}"`],
    );
    return quoted.length > 0 ? `${written} ${quoted.join(', ')}` : written;
  };
  const schemes = isBare ? acceptedSchemes(dpop) : [wantingProofs.includes(reason) ? 'DPoP' : scheme];
  return { 'www-authenticate': schemes.map(write).join(', '), ...(nonce !== undefined && { 'dpop-nonce': nonce }) };
}
