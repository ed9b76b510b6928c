import { Buffer } from 'node:buffer';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Authentication } from '../guard/authenticate.ts';
import { type Anonymous, coreOf, type Guard } from '../guard/guard.ts';
import type { Requirements } from '../guard/requirements.ts';
import type { Claims } from '../token/claims.ts';
import { type IncomingRequest, requestOf } from './incoming.ts';

/** A response of `node:http`, or of the compatibility API of `node:http2`. */
export type OutgoingResponse = ServerResponse | Http2ServerResponse;

/** Middleware of Express, Connect and NestJS. */
export type Middleware = (
  request: IncomingRequest,
  response: OutgoingResponse,
  next: (error?: unknown) => void,
) => void;

type Optional = Requirements & { readonly optional: true };
type Strict = Requirements & { readonly optional?: false | undefined };

/** What `authOf` returns. For a route where a token is optional, the type parameter is `Claims | undefined`. */
export type AuthOf<AcceptedClaims extends Claims | undefined> = AcceptedClaims extends Claims
  ? Authentication<AcceptedClaims>
  : Anonymous;

const results = new WeakMap<IncomingRequest, Authentication | Anonymous>();

/**
 * Returns middleware for Express, Connect and NestJS. It rejects requests whose token does not meet the requirements, and passes
 * errors, such as those of `onAccepted`, to `next`. A rejection keeps headers that are already set, such as CORS headers.
 * @example
 * app.get('/reports', requireToken(guard, { scope: 'read:reports' }), (req, res) => res.json(authOf(req).claims.sub));
 * @throws {TypeError} a requirement is not valid
 */
export function requireToken(guard: Guard, requirements: Optional | Strict = {}): Middleware {
  coreOf(guard)?.readRequirements(requirements);
  return (request, response, next) => {
    checkIncoming(guard, request, response, requirements as Strict).then((result) => result && next(), next);
  };
}

/**
 * For Fastify and Koa: returns the authentication of a Node.js request, or sends the rejection and returns undefined.
 * @throws {TypeError} a requirement is not valid, or `request` is not a Node.js request
 */
export function checkIncoming<AcceptedClaims extends Claims>(
  guard: Guard<AcceptedClaims>,
  request: IncomingRequest,
  response: OutgoingResponse,
  requirements: Optional,
): Promise<Authentication<AcceptedClaims> | Anonymous | undefined>;
export function checkIncoming<AcceptedClaims extends Claims>(
  guard: Guard<AcceptedClaims>,
  request: IncomingRequest,
  response: OutgoingResponse,
  requirements?: Strict,
): Promise<Authentication<AcceptedClaims> | undefined>;
export async function checkIncoming(
  guard: Guard,
  request: IncomingRequest,
  response: OutgoingResponse,
  requirements?: Optional | Strict,
): Promise<Authentication | Anonymous | undefined> {
  const result = await guard.check(requestOf(request), requirements as Optional);
  if (result instanceof Response) return send(result, response);
  results.set(request, result);
  return result;
}

/**
 * Returns the authentication of a request that a guard accepted: that of the last guard, if there were several. On a route where
 * a token is optional, write `authOf<Claims | undefined>(req)`. Does NOT check that the type parameter is the type of the guard's
 * claims.
 * @throws {TypeError} no guard has accepted the request
 */
export function authOf<AcceptedClaims extends Claims | undefined = Claims>(
  request: IncomingRequest,
): AuthOf<AcceptedClaims> {
  const result = results.get(request);
  if (result === undefined)
    throw new TypeError('Cannot read claims: no guard has accepted the request. Add requireToken before the handler');
  return result as AuthOf<AcceptedClaims>;
}

/** Sends a rejection with the headers that the application has already set, unless a response was sent meanwhile. */
async function send(rejection: Response, response: OutgoingResponse): Promise<undefined> {
  const body = await rejection.text();
  if (response.headersSent) return undefined;
  response.statusCode = rejection.status;
  for (const [name, value] of rejection.headers) {
    const earlier = name === 'vary' ? response.getHeader(name) : undefined;
    response.setHeader(name, earlier === undefined ? value : `${earlier}, ${value}`);
  }
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
  return undefined;
}
