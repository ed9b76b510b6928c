import { isAccepted, toResponse } from '../guard/decision.ts';
import { preparedGuard } from '../guard/route-check.ts';
import type { Accepted, Guard } from '../types.ts';
import { parseUrl } from '../values/url.ts';
import type { McpAuthInfo } from './auth-info.ts';
import { createMcpEndpoint, notFound } from './endpoint.ts';
import type { McpOptions } from './options.ts';

/** What a handler gets besides the request. */
export interface McpContext<AcceptedClaims extends object, IsPublic extends boolean = false> {
  /** Who sent the request. Its claims can be undefined only with `publicTools`. */
  readonly auth: Accepted<AcceptedClaims, IsPublic>;
  /** What the SDKs pass to tools. It can be undefined only with `publicTools`. */
  readonly authInfo: McpAuthInfo<AcceptedClaims> | (IsPublic extends true ? undefined : never);
  /** The body of a POST: a message, or a list of messages. Undefined for GET and DELETE. */
  readonly message: unknown;
}

/**
 * Protects an MCP server: returns a function of a Web-standard Request that serves the endpoint, which is the path of
 * the guard's `resource` or `publicUrl`, with or without a slash at its end, and the metadata (RFC 9728). Any other
 * path is a 404. It checks `Host` and `Origin`, the token, the method, the session, the body and the scopes, in this
 * order, and then calls the handler. A stream for GET or `subscriptions/listen` ends when the token expires. Does NOT
 * bind sessions that have no header `Mcp-Session-Id`.
 * @example
 * const handler = createMcpHandler(createServer);
 * const fetch = protectMcp(guard, { tools: { 'add-note': 'notes:write' } }, (request, { authInfo, message }) =>
 *   handler.fetch(request, { authInfo, parsedBody: message }),
 * );
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, an option is not valid, or the handler is no
 * function
 */
export function protectMcp<AcceptedClaims extends object, PublicTools extends readonly string[] = never>(
  guard: Guard<AcceptedClaims>,
  options: McpOptions<PublicTools>,
  handler: (
    request: Request,
    context: McpContext<AcceptedClaims, [PublicTools] extends [never] ? false : true>,
  ) => Response | Promise<Response>,
): (request: Request) => Promise<Response> {
  const { decide, findPlace } = createMcpEndpoint(guard, options);
  const { prepare } = preparedGuard(guard);
  if (typeof handler !== 'function')
    throw new TypeError('Cannot set up an MCP endpoint: the handler must be a function');
  return async (request) => {
    if (request.bodyUsed) throw new TypeError('Cannot read a message: the body of the request was already read');
    const added = new Headers();
    const result = await decide({
      request,
      // What only some routers read as the endpoint is no other's here.
      place: findPlace(request, request.url) === 'endpoint' ? 'endpoint' : undefined,
      host: request.headers.get('host') ?? parseUrl(request.url)?.host ?? null,
      check: (requirements) => prepare(requirements)(request),
      // A copy, because the handler gets the request that the guard has checked.
      body: () => partsOf(request.clone().body),
      setHeader: (name, value) => added.set(name, value),
    });
    if (!result) return toResponse(notFound);
    if (!isAccepted(result)) return withHeaders(toResponse(result), added);
    const { whenExpired, settle, findTasks, ...context } = result;
    const response = await handler(request, context as Parameters<typeof handler>[1]);
    settle(response.status, response.headers.get('mcp-session-id'));
    const type = response.headers.get('content-type') ?? '';
    const isStream = type.startsWith('text/event-stream');
    const ending =
      isStream && whenExpired && response.body && new Response(endedBy(whenExpired, response.body), response);
    const isRead = findTasks && response.body && (isStream || type.startsWith('application/json'));
    const read = isRead && new Response(response.body.pipeThrough(readBy(findTasks)), response);
    return withHeaders(ending || read || response, added);
  };
}

/** Returns the parts of a copy. Its own iterator would not end early, before the original is read or canceled too. */
async function* partsOf(copy: Request['body']): AsyncGenerator<Uint8Array> {
  const reader = copy?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) yield part.value;
}

/** Returns a stream that ends as if the handler had ended it. */
function endedBy(
  whenExpired: (end: () => void) => () => void,
  stream: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> {
  let cancelEnd: (() => void) | undefined;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      cancelEnd = whenExpired(() => controller.terminate());
    },
  });
  // However it ends, also by an error: otherwise the timer would keep it until then.
  stream.pipeTo(writable).then(cancelEnd, cancelEnd);
  return readable;
}

const readBy = (read: (part: Uint8Array) => void) =>
  new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      read(part);
      controller.enqueue(part);
    },
  });

function withHeaders(response: Response, added: Headers): Response {
  if ([...added].length === 0) return response;
  // The headers of a response of `fetch` cannot be changed.
  const copy = new Response(response.body, response);
  for (const [name, value] of added) copy.headers.set(name, value);
  return copy;
}
