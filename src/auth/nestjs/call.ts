import { createParamDecorator, type ExecutionContext, HttpException } from '@nestjs/common';
import type { RejectionError } from '../guard/rejection-error.ts';
import type { IncomingRequest } from '../node/incoming.ts';
import { authOf, type Carrier, setRejectionHeaders } from '../node/require-token.ts';
import type { OptionalAuth } from '../types.ts';
import { isJsonObject } from '../values/json.ts';

/*
 * The request and the response of a call of NestJS: HTTP, GraphQL, or a message of a gateway. What is checked is
 * decided in token-guard.ts.
 */

const authParameter = createParamDecorator((options: OptionalAuth | undefined, context) =>
  authOf(exchangeOf(context).request, options),
);

/**
 * Passes the authentication of the request to a parameter of a method. Its type is `Authentication`, or where a token
 * is optional, `Authentication | Anonymous`. With `{ optional: true }`, it is also undefined, instead of a 500, if no
 * guard has checked the request: a public route ignores tokens.
 */
export function Auth(options?: OptionalAuth): ParameterDecorator {
  return authParameter(options);
}

const hints: Readonly<Record<string, string>> = {
  graphql: 'Its context needs req, or request',
  ws: 'With platform-ws, write client.request = request in handleConnection(client, request)',
};

/** Returns the request of Node.js that a call has, and a response, if there is one. */
export function exchangeOf(context: ExecutionContext) {
  const type = context.getType<string>();
  const http = context.switchToHttp();
  // The last arguments of a resolver are its context and the query, also those of a reference in a federation.
  const { req, request: own, res, reply } = Object(type === 'graphql' ? context.getArgs().at(-2) : undefined);
  const found: Readonly<Record<string, () => readonly unknown[]>> = {
    http: () => [http.getRequest(), http.getResponse()],
    ws: () => [Object(context.switchToWs().getClient()).request],
    // With graphql-ws, `req` is its context, whose `extra` has the request of the handshake.
    graphql: () => [req?.extra?.request ?? req ?? own ?? Object(reply).request, res ?? reply ?? Object(req).res],
  };
  const [request, response] = found[type]?.() ?? [];
  // Fastify wraps the request.
  if (request)
    return { request: (Object(request).raw ?? request) as IncomingRequest, response: Object(response) as Carrier };
  const hint = hints[type] ?? 'Mark it with @Public(), and check the token in its message';
  throw new TypeError(`Cannot check a call of the type ${type}: it has no request. ${hint}`);
}

/** Returns the exception for a rejection, whose headers it sets on the response. */
export function exceptionFor(rejection: RejectionError, type: string, response: Carrier) {
  const { body, extensions, headers, message, status } = rejection;
  // What GraphQL responds is not the body of the rejection. NestJS itself sends JSON, and a guard that calls this one
  // may still accept the request.
  const isOwn = type === 'http' && headers['content-type'] !== 'application/json';
  const sent = Object.entries(headers).filter(([name]) => name !== 'content-type' || isOwn);
  setRejectionHeaders(response, sent);
  const exception = new HttpException(isJsonObject(body) ? body : String(body), status);
  return Object.assign(exception, { message, extensions });
}
