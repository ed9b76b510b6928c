import { isAccepted } from './guard/decision.ts';
import { createRouteCheck, nonceHeaders } from './guard/route-check.ts';
import type { IncomingRequest } from './node/incoming.ts';
import { authenticate, authOf as authOfIncoming, setRejectionHeaders } from './node/require-token.ts';
import type { AuthOf, CheckRequirements, Claims, Guard, OptionalAuth, RejectionOptions } from './types.ts';

export type { AuthOf };

/** The part of a Fastify request that a guard reads. */
export interface HookRequest {
  /** The request of Node.js. */
  readonly raw: IncomingRequest;
}

/** The part of a Fastify reply with which a rejection is sent. */
export interface HookReply {
  /** Sets the status. */
  code(status: number): unknown;
  /** Returns the headers that are already set. */
  getHeaders(): object;
  /** Removes a header. */
  removeHeader(name: string): unknown;
  /** Sets a header. */
  header(name: string, value: string): unknown;
  /** Sends the rejection. */
  send(body: string): unknown;
}

/**
 * Returns an `onRequest` hook of Fastify, which runs before the body is read. It rejects requests whose token does not
 * meet the requirements. A rejection is sent through the reply, so it has the headers of plugins such as @fastify/cors.
 * With `{ rejection: 'throw' }`, it is thrown as a `RejectionError`, for `setErrorHandler` and @fastify/auth.
 * @example
 * const onRequest = requireToken(guard, { scope: 'read:messages' });
 * app.get('/messages', { onRequest }, (request) => authOf(request).claims.sub);
 * @throws {TypeError} the first argument is not a guard, or a requirement is not valid
 */
export function requireToken(
  guard: Guard<object>,
  requirements: CheckRequirements = {},
  options: RejectionOptions = {},
): (request: HookRequest, reply: HookReply) => Promise<unknown> {
  const check = createRouteCheck(guard, requirements, options);
  return async ({ raw }, reply) => {
    const result = await authenticate(raw, check);
    if (isAccepted(result)) {
      for (const header of nonceHeaders(result.dpopNonce)) reply.header(...header);
      return undefined;
    }
    reply.code(result.status);
    setRejectionHeaders(reply, Object.entries(result.headers));
    return reply.send(result.body);
  };
}

/**
 * Returns the authentication of a request that a guard accepted: that of the last guard, if there were several. On a
 * route where a token is optional, write `authOf<Claims | undefined>(request)`. For logs, which see every request,
 * write `authOf(request, { optional: true })`: undefined if no guard has accepted it. Does NOT check that the type
 * parameter is the type of the guard's claims.
 * @throws {TypeError} no guard has accepted the request, and `optional` is not set
 */
export function authOf<AcceptedClaims extends object | undefined = Claims>(
  request: HookRequest,
): AuthOf<AcceptedClaims>;
export function authOf<AcceptedClaims extends object = Claims>(
  request: HookRequest,
  options: OptionalAuth | undefined,
): AuthOf<AcceptedClaims | undefined> | undefined;
export function authOf({ raw }: HookRequest, options?: OptionalAuth) {
  return authOfIncoming(raw, options);
}
