import { type IncomingRequest, requestOf } from '../node/incoming.ts';
import { authenticate, type Middleware, type OutgoingResponse, sendReturned } from '../node/require-token.ts';
import type { Guard } from '../types.ts';
import { pathOf } from '../values/text.ts';
import { type AcceptedMessage, createMcpEndpoint, type McpExchange } from './endpoint.ts';
import { callAt } from './expiry.ts';
import { readText } from './message.ts';
import { type McpOptions, readMcpOptions } from './options.ts';

/** What frameworks add to a request of Node.js. */
type RoutedRequest = IncomingRequest & {
  readonly originalUrl?: string;
  readonly route?: unknown;
  readonly body?: unknown;
};

/**
 * Returns middleware for Express, Connect and Polka that protects an MCP server as `protectMcp` does: it serves the metadata, and
 * responds to requests to the endpoint that are not accepted. For accepted ones, it sets `req.auth`, which the SDK 1.x hands to
 * tools, and `req.body`, the message; and `authOf(req)` works. A request for any other path is passed on, unless the middleware
 * is on a route, or on the path of the endpoint: then it is a 404, because it would reach the handler without a token. A handler
 * that is mounted, as all are in Connect, gets the paths below too: put the middleware on its mount as well.
 * @example
 * app.use(requireMcp(guard, { tools: { 'add-note': 'notes:write' } }));
 * app.post('/mcp', (req, res) => handle(req, res, req.body));
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is not valid
 */
export function requireMcp(guard: Guard<object>, options: McpOptions): Middleware {
  const decide = createMcpEndpoint(guard, options);
  const endpoint = plainPath(readMcpOptions(guard, options).resource);

  /** Returns whether the request is passed on. */
  async function respond(incoming: RoutedRequest, response: OutgoingResponse): Promise<boolean> {
    const request = requestOf(incoming);
    const sent = plainPath(request.url);
    // Rewritten by an application, or by the mount of a router.
    const routed = plainPath(`http://localhost${incoming.url}`);
    const exchange: McpExchange = {
      request,
      host: request.headers.get('host') ?? request.headers.get(':authority'),
      check: (requirements) => authenticate(guard, incoming, requirements, false),
      readBody: (maxBytes) => readBody(incoming, maxBytes),
      setHeader: (name, value) => response.setHeader(name, value),
    };
    const isEndpoint = sent === endpoint || routed === endpoint || !hasPlainPath(request.url);
    const result = await decide(exchange, isEndpoint);
    if (result && 'settle' in result) {
      const { authInfo, message, endsAtMs, settle } = result;
      Object.assign(incoming, { auth: authInfo }, message !== undefined && { body: message });
      onHead(response, settle);
      const end = () => {
        // What the handler still writes is an error of the response, which would end the process.
        response.on('error', () => {});
        response.end();
      };
      if (endsAtMs !== undefined) response.once('close', callAt(endsAtMs, end));
      return true;
    }
    const mount = sent.endsWith(routed) ? sent.slice(0, sent.length - routed.length) : sent;
    // Below a mount, Connect also has `/mcp.x`.
    const isMounted = mount.startsWith(endpoint) && /^[/.]/.test(`${mount.slice(endpoint.length)}/`) && mount !== '';
    if (!result && !isMounted && incoming.route === undefined) return true;
    await sendReturned(result ?? new Response('Not found', { status: 404 }), response);
    return false;
  }

  return (request, response, next) => {
    respond(request, response).then((isPassed) => isPassed && next(), next);
  };
}

/** Routers take these for equal: other letters in upper case, and slashes at the end. */
function plainPath(url: string): string {
  const path = pathOf(url)?.toLowerCase() ?? '';
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/**
 * Whether routers agree on the path of a URL. Express reads one of any scheme or without a host, and takes a backslash for a
 * slash. `*` is the target of OPTIONS for the whole server.
 */
const hasPlainPath = (url: string) => url === '*' || (pathOf(url) !== undefined && !/^[^?]*\\/.test(url));

/** Takes the body that the application has parsed, or reads it. Express 4 sets an empty object where it has read nothing. */
async function readBody(incoming: RoutedRequest, maxBytes: number): Promise<unknown> {
  if (incoming.body !== undefined && incoming.readableEnded) {
    const { body } = incoming;
    return body instanceof Uint8Array ? new TextDecoder().decode(body) : body;
  }
  // Otherwise the connection would end with the iterator, before the response.
  const text = await readText(incoming.iterator({ destroyOnReturn: false }), maxBytes);
  if (text === undefined) incoming.resume();
  return text;
}

/** Calls back when the head of a response is sent, with its status and session. */
function onHead(response: OutgoingResponse, settle: AcceptedMessage['settle']): void {
  const name = 'mcp-session-id';
  const { writeHead } = response;
  const write = (...given: readonly unknown[]) => {
    Object.assign(response, { writeHead });
    const last: unknown = given.at(-1);
    const pairs: readonly unknown[] = Array.isArray(last) ? last.flat() : Object.entries(Object(last)).flat();
    const at = pairs.findIndex((each, index) => index % 2 === 0 && String(each).toLowerCase() === name);
    const session = at < 0 ? response.getHeader(name) : pairs[at + 1];
    settle(Number(given[0]), session === undefined ? null : String(session));
    return Reflect.apply(writeHead, response, given);
  };
  Object.assign(response, { writeHead: write });
}
