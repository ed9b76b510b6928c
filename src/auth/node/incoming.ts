import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { GuardRequest } from '../guard/guard.ts';

/** A request of `node:http`, or of the compatibility API of `node:http2`. */
export type IncomingRequest = IncomingMessage | Http2ServerRequest;

const requests = new WeakMap<IncomingRequest, GuardRequest>();

/**
 * Returns what a guard checks: the same object each time, so that all checks of a request share one use of its proof.
 * @throws {TypeError} the value is not a Node.js request
 */
export function requestOf(incoming: IncomingRequest): GuardRequest {
  const request = requests.get(incoming) ?? createRequest(incoming);
  requests.set(incoming, request);
  return request;
}

/**
 * The result is not a `Request`, whose constructor throws for TRACE, CONNECT and some URLs. Headers come from `rawHeaders`,
 * because `headers` has only the first of two Authorization headers.
 */
function createRequest(incoming: IncomingRequest): GuardRequest {
  const { method, rawHeaders } = incoming;
  if (!Array.isArray(rawHeaders))
    throw new TypeError(
      'Cannot check a request: it must be a Node.js request (request.raw in Fastify, ctx.req in Koa)',
    );
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    // HTTP/2 has pseudo-headers, such as `:path`, which are not header names.
    if (!name.startsWith(':')) headers.append(name, value);
  }
  return { method: String(method), url: urlOf(incoming), headers };
}

/**
 * The origin does not come from the Host header: with a Host such as `a/b`, a client could change the path. The targets of
 * CONNECT and of `OPTIONS *` have no path and stay as they are.
 */
function urlOf(incoming: IncomingRequest & { readonly originalUrl?: unknown }): string {
  // Express, Connect and Fastify rewrite `url`, and keep what the client sent.
  const target = String(incoming.originalUrl ?? incoming.url);
  return target.startsWith('/') ? `http://localhost${target}` : target;
}
