import { type Decision, isAccepted, isDropped, type PlainResponse } from '../guard/decision.ts';
import { createRouteCheck, nonceHeaders, preparedGuard, requireAccepted } from '../guard/route-check.ts';
import type {
  Accepted,
  AuthOf,
  CheckRequirements,
  Claims,
  Guard,
  GuardRequest,
  MetadataMembers,
  OptionalAuth,
  RejectionOptions,
} from '../types.ts';
import { sharedMap } from '../values/shared.ts';
import { type IncomingRequest, requestOf } from './incoming.ts';

/** A response of `node:http`, or of the compatibility API of `node:http2`: what is called of it. */
export interface OutgoingResponse {
  /** The status. */
  statusCode: number;
  /** Whether the headers are sent already. */
  readonly headersSent: boolean;
  /** Returns the headers that are already set. */
  getHeaders(): object;
  /** Sets a header. */
  setHeader(name: string, value: string | number): unknown;
  /** Removes a header. */
  removeHeader(name: string): unknown;
  /** Sends the response, without or with a body. */
  end(): unknown;
  end(body: string): unknown;
}

/** Middleware of Express, Connect and Polka. */
export type Middleware = (
  request: IncomingRequest,
  response: OutgoingResponse,
  next: (error?: unknown) => void,
) => void;

type Check = (request: GuardRequest) => Promise<Decision>;

const results = () => sharedMap<IncomingRequest, Accepted<object, true>>('results');

/**
 * Returns middleware for Express, Connect and Polka, which rejects requests whose token does not meet the requirements.
 * Errors, such as those of `onAccepted`, go to `next`. A rejection keeps headers that are already set, such as CORS
 * headers; with `{ rejection: 'throw' }`, it goes to `next` too, as a `RejectionError`.
 * @example
 * const reader = requireToken(guard, { scope: 'read:messages' });
 * app.get('/messages', reader, (req, res) => res.json(authOf(req).claims.sub));
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function requireToken(
  guard: Guard<object>,
  requirements: CheckRequirements = {},
  options: RejectionOptions = {},
): Middleware {
  const check = createRouteCheck(guard, requirements, options);
  return (request, response, next) => {
    // Thrown at once, because Hono gives middleware no third argument.
    requestOf(request);
    respond(request, response, check).then((result) => result && next(), next);
  };
}

/**
 * Returns middleware for Express, Connect and Polka that serves the metadata of the protected resource (RFC 9728), for
 * which the guard needs `publicUrl`, and passes on every other request.
 * @example
 * app.use(serveMetadata(guard, { scopes: ['read:messages'] }));
 * @throws {TypeError} the first argument is not a guard, or a member is not valid
 */
export function serveMetadata(guard: Guard<object>, members: MetadataMembers = {}): Middleware {
  const metadataFor = preparedGuard(guard).prepareMetadata(members);
  return (request, response, next) => {
    const metadata = metadataFor(requestOf(request));
    if (metadata) send(metadata, response);
    else next();
  };
}

/**
 * Returns the authentication of a Node.js request. With `response`, a rejection is sent, and the result is undefined:
 * then return at once. Without it, a rejection is thrown: for Koa, tRPC, GraphQL servers and others that respond
 * themselves.
 * @example
 * const auth = await checkIncoming(guard, req, res, { scope: 'read:messages' });
 * if (!auth) return;
 * @throws {RejectionError} the request is rejected, and `response` is left out
 * @throws {TypeError} a requirement is not valid, or `request` is not a Node.js request
 */
export async function checkIncoming<
  AcceptedClaims extends object,
  Sending extends OutgoingResponse | undefined = undefined,
  Optional extends boolean = false,
>(
  guard: Guard<AcceptedClaims>,
  request: IncomingRequest,
  response?: Sending,
  requirements?: CheckRequirements<Optional>,
): Promise<Accepted<AcceptedClaims, Optional> | (Sending extends undefined ? never : undefined)> {
  const result = response
    ? respond(request, response, preparedGuard(guard).prepare(requirements))
    : authenticate(request, createRouteCheck(guard, requirements, { rejection: 'throw' }));
  return result as ReturnType<typeof checkIncoming<AcceptedClaims, Sending, Optional>>;
}

/** Returns the authentication of a request; or sends the rejection and returns undefined, or throws it. */
async function respond(request: IncomingRequest, response: OutgoingResponse, check: Check) {
  const result = await authenticate(request, check);
  if (!isAccepted(result)) return send(result, response);
  if (!response.headersSent) for (const header of nonceHeaders(result.dpopNonce)) response.setHeader(...header);
  return result;
}

/** Returns the result of the check, which `authOf` reads too. */
export async function authenticate(request: IncomingRequest, check: Check): Promise<Decision> {
  const result = await check(requestOf(request));
  if (isAccepted(result)) remember(request, result);
  return result;
}

/** Remembers for `authOf` what a request was accepted with. */
export function remember(request: IncomingRequest, accepted: Accepted<object, boolean>): void {
  results().set(request, accepted as Accepted<object, true>);
}

/**
 * Returns the authentication of a request that a guard accepted: that of the last guard, if there were several. On a
 * route where a token is optional, write `authOf<Claims | undefined>(req)`. For logs, which see every request, write
 * `authOf(req, { optional: true })`: undefined if no guard has accepted it. Does NOT check that the type parameter is
 * the type of the guard's claims.
 * @throws {TypeError} no guard has accepted the request, and `optional` is not set
 */
export function authOf<AcceptedClaims extends object | undefined = Claims>(
  request: IncomingRequest,
): AuthOf<AcceptedClaims>;
export function authOf<AcceptedClaims extends object = Claims>(
  request: IncomingRequest,
  options: OptionalAuth | undefined,
): AuthOf<AcceptedClaims | undefined> | undefined;
export function authOf(request: IncomingRequest, options?: OptionalAuth) {
  return requireAccepted(results().get(request), options);
}

/** Sends a response of the guard with the headers that are already set, apart from those that it drops. */
export function send({ status, headers, body }: PlainResponse, response: OutgoingResponse): undefined {
  if (response.headersSent) return;
  response.statusCode = status;
  setRejectionHeaders(response, Object.entries(headers));
  // No `Buffer`, because protected-api/mcp also runs on Cloudflare Workers.
  if (body !== null) response.setHeader('content-length', new TextEncoder().encode(body).length);
  response.end(body ?? '');
}

/** A response of Node.js, a reply of Fastify, or what a framework has of one. */
export type Carrier = Partial<
  Record<'getHeaders' | 'removeHeader' | 'header' | 'setHeader', (...given: string[]) => unknown>
>;

export const setHeader = (response: Carrier, ...named: [name: string, value: string]) =>
  (response.setHeader ?? response.header)?.call(response, ...named);

/** Sets the headers of a rejection beside those that are already set, apart from those that it drops. */
export function setRejectionHeaders(response: Carrier, headers: Iterable<[name: string, value: string]>): void {
  const earlier = Object(response.getHeaders?.());
  for (const name of Object.keys(earlier).filter(isDropped)) response.removeHeader?.(name);
  for (const [name, value] of headers)
    setHeader(response, name, name === 'vary' && earlier.vary !== undefined ? `${earlier.vary}, ${value}` : value);
}
