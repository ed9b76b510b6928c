import type { AnonymousIf, Authentication, Guard } from '../types.ts';
import { parseUrl } from '../values/url.ts';
import type { McpAuthInfo } from './auth-info.ts';
import { createMcpEndpoint } from './endpoint.ts';
import { endedAt } from './expiry.ts';
import { readText } from './message.ts';
import type { McpOptions } from './options.ts';

/** What a handler gets besides the request. */
export interface McpContext<AcceptedClaims extends object, IsPublic extends boolean = false> {
  /** Who sent the request. Only with `publicTools`, its claims can be undefined. */
  readonly auth: Authentication<AcceptedClaims> | AnonymousIf<IsPublic>;
  /** What the SDKs hand to tools. Only with `publicTools`, it can be undefined. */
  readonly authInfo: McpAuthInfo<AcceptedClaims> | (IsPublic extends true ? undefined : never);
  /** The body of a POST: a message, or a list of messages. Undefined for GET and DELETE. */
  readonly message: unknown;
}

/**
 * Protects an MCP server: returns a function of a Web-standard Request that serves the endpoint, which is the path of the guard's
 * `resource` or `publicUrl`, and the metadata (RFC 9728). Any other path is a 404. It checks `Host` and `Origin`, the token, the
 * method, the session, the body and the scopes, in this order, and then calls the handler. A stream for GET or
 * `subscriptions/listen` ends when the token expires. Does NOT bind a session that `handler` knows by anything but the header
 * `Mcp-Session-Id`.
 * @example
 * const handler = createMcpHandler(createServer);
 * const fetch = protectMcp(guard, { tools: { 'add-note': 'notes:write' } }, (request, { authInfo, message }) =>
 *   handler.fetch(request, { authInfo, parsedBody: message }),
 * );
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, an option is not valid, or the handler is no function
 */
export function protectMcp<AcceptedClaims extends object, PublicTools extends readonly string[] = never>(
  guard: Guard<AcceptedClaims>,
  options: McpOptions<PublicTools>,
  handler: (
    request: Request,
    context: McpContext<AcceptedClaims, [PublicTools] extends [never] ? false : true>,
  ) => Response | Promise<Response>,
): (request: Request) => Promise<Response> {
  const decide = createMcpEndpoint(guard, options);
  if (typeof handler !== 'function')
    throw new TypeError('Cannot set up an MCP endpoint: the handler must be a function');
  return async (request) => {
    if (request.bodyUsed) throw new TypeError('Cannot read a message: the body of the request was already read');
    const added = new Headers();
    const result = await decide({
      request,
      host: request.headers.get('host') ?? parseUrl(request.url)?.host ?? null,
      check: (requirements) => guard.check(request, requirements),
      readBody: (maxBytes) => readBody(request, maxBytes),
      setHeader: (name, value) => added.set(name, value),
    });
    if (!result) return new Response('Not found', { status: 404 });
    if (!('settle' in result)) return withHeaders(result, added);
    const { endsAtMs, settle, ...context } = result;
    const response = await handler(request, context as Parameters<typeof handler>[1]);
    settle(response.status, response.headers.get('mcp-session-id'));
    const isEvents = response.headers.get('content-type')?.startsWith('text/event-stream');
    const isEnding = endsAtMs !== undefined && isEvents && response.body;
    return withHeaders(isEnding ? new Response(endedAt(response.body, endsAtMs), response) : response, added);
  };
}

/** Reads a copy, because the handler gets the request that the guard has checked. */
async function readBody(request: Request, maxBytes: number): Promise<string | undefined> {
  const { body } = request.clone();
  return body ? readText(body, maxBytes) : '';
}

function withHeaders(response: Response, added: Headers): Response {
  if ([...added].length === 0) return response;
  // The headers of a response of `fetch` cannot be changed.
  const copy = new Response(response.body, response);
  for (const [name, value] of added) copy.headers.set(name, value);
  return copy;
}
