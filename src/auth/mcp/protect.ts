import { isAccepted, toResponse } from '../guard/decision.ts';
import type { Accepted, Guard } from '../types.ts';
import { ifPossible } from '../values/faults.ts';
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
 * Protects an MCP server: returns a function of a Web-standard Request that serves the metadata (RFC 9728) and the
 * endpoint, which is the path of the guard's `resource` or `publicUrl`, with or without a slash at its end. Any other
 * path is a 404. It checks `Host`, `Origin`, token, method, session, body and scopes, in this order, and then calls the
 * handler. A stream for GET or `subscriptions/listen` ends when the token expires. Does NOT bind sessions that have no
 * header `Mcp-Session-Id`.
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
  if (typeof handler !== 'function')
    throw new TypeError('Cannot set up an MCP endpoint: the handler must be a function');
  return async (request) => {
    if (request.bodyUsed) throw new TypeError('Cannot read a message: the body of the request was already read');
    // What only some routers read as the endpoint is no other's here.
    const place = findPlace(request, request.url) === 'endpoint' ? 'endpoint' : undefined;
    // A copy, because the handler gets the request that the guard has checked.
    const { result, headers } = await decide(request, place, () => partsOf(request.clone().body));
    if (!isAccepted(result)) return finished(toResponse(result ?? notFound), headers);
    const { whenExpired, settle, findTasks, ...context } = result;
    // Compressed by the handler, the tasks could not be read. Some runtimes do not let a header change.
    if (findTasks) ifPossible(() => request.headers.set('accept-encoding', 'identity'));
    const response = await handler(request, context as Parameters<typeof handler>[1]);
    settle(response.status, response.headers.get('mcp-session-id'));
    const ending = response.headers.get('content-type')?.startsWith('text/event-stream') ? whenExpired : undefined;
    const body = (ending || findTasks) && response.body ? watch(response.body, ending, findTasks) : response.body;
    return finished(response, headers, body);
  };
}

/** Returns the parts of a copy. Its own iterator would not end early, before the original is read or canceled too. */
async function* partsOf(copy: Request['body']): AsyncGenerator<Uint8Array> {
  const reader = copy?.getReader();
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) yield part.value;
}

/** Returns a stream that is read, and that ends when a token expires, as if the handler had ended it. */
function watch(
  stream: ReadableStream<Uint8Array>,
  whenExpired?: (end: () => void) => () => void,
  read?: (part: Uint8Array) => void,
): ReadableStream<Uint8Array> {
  let cancelEnd: (() => void) | undefined;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({
    start(controller) {
      cancelEnd = whenExpired?.(() => controller.terminate());
    },
    transform(part, controller) {
      read?.(part);
      controller.enqueue(part);
    },
  });
  // However it ends, also by an error: otherwise the timer would keep it until then.
  const ended = () => cancelEnd?.();
  stream.pipeTo(writable).then(ended, ended);
  return readable;
}

/** Returns a response with more headers: those of a response of `fetch` cannot be changed. */
function finished(response: Response, added: readonly [string, string][], body = response.body): Response {
  if (body === response.body && added.length === 0) return response;
  const copy = new Response(body, response);
  for (const [name, value] of added) copy.headers.set(name, value);
  return copy;
}
