import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAccepted } from '../guard/decision.ts';
import { requestOf } from '../node/incoming.ts';
import { type Middleware, remember, send } from '../node/require-token.ts';
import type { Guard } from '../types.ts';
import { createMcpEndpoint, notFound } from './endpoint.ts';
import type { MessageBody } from './message.ts';
import type { McpOptions } from './options.ts';

/** What frameworks add to a request of Node.js. */
type RoutedRequest = IncomingMessage & { readonly [name in 'route' | 'body' | 'originalUrl']?: unknown };

/**
 * Returns middleware for Express, Connect and Polka that protects an MCP server as `protectMcp` does: it serves the
 * metadata, and responds to requests to the endpoint that are not accepted. For accepted ones, it sets `req.auth`,
 * which the SDK 1.x passes to tools, and `req.body`, the message; and `authOf(req)` works. A path below the endpoint,
 * and a target that a router may read as the endpoint, such as `/x/../mcp`, need a token and are then a 404, because
 * another handler could get them. Requests for other paths are passed on, or get a 404 if the middleware is on a route.
 * @example
 * app.use(requireMcp(guard, { tools: { 'add-note': 'notes:write' } }));
 * app.post('/mcp', (req, res) => handle(req, res, req.body));
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is not valid
 */
export function requireMcp(guard: Guard<object>, options: McpOptions): Middleware {
  const { decide, findPlace } = createMcpEndpoint(guard, options);

  /** Returns whether the request is passed on. */
  async function respond(incoming: RoutedRequest, response: ServerResponse): Promise<boolean> {
    const request = requestOf(incoming);
    const { url, originalUrl = url } = incoming;
    // What was sent, and what an application or a router has made of it.
    const place = findPlace(request, String(originalUrl)) ?? findPlace(request, String(url));
    const { result, headers } = await decide(request, place, () => bodyOf(incoming));
    for (const header of headers) response.setHeader(...header);
    if (isAccepted(result)) {
      const { auth, authInfo, message, whenExpired, settle, findTasks } = result;
      remember(incoming, auth);
      // `_body` keeps the parser of Express 4, and so of NestJS 10, from reading the body again.
      Object.assign(incoming, { auth: authInfo }, message !== undefined && { body: message, _body: true });
      before(response, 'writeHead', (given) => settle(Number(given[0]), sessionOf(response, given.at(-1))));
      if (findTasks) {
        // Compressed by what comes after, the tasks could not be read.
        incoming.headers['accept-encoding'] = 'identity';
        for (const name of ['write', 'end'] as const) before(response, name, ([part]) => findTasks(part));
      }
      // What the handler still writes is then an error of the response, which would end the process.
      const end = () => void response.on('error', () => {}).end();
      if (whenExpired) response.once('close', whenExpired(end));
      return true;
    }
    if (!result && incoming.route === undefined) return true;
    // Otherwise, what is left of a long body would stay in the connection.
    incoming.resume();
    send(result ?? notFound, response);
    return false;
  }

  return (request, response, next) => {
    respond(request as RoutedRequest, response as ServerResponse).then((isPassed) => isPassed && next(), next);
  };
}

/** Returns the parsed body, or the body itself. Express 4 sets an empty object where it has read nothing. */
function bodyOf(incoming: RoutedRequest): MessageBody {
  const { body, readableEnded } = incoming;
  // Otherwise the connection would end with the iterator, before the response.
  if (body === undefined || !readableEnded) return incoming.iterator({ destroyOnReturn: false });
  return typeof body === 'string' || body instanceof Uint8Array ? [body] : { parsed: body };
}

/** Calls back with what a method is called with, before it runs. */
function before(response: ServerResponse, name: 'writeHead' | 'write' | 'end', callback: (given: unknown[]) => void) {
  const method = Reflect.get(response, name);
  const observed = (...given: unknown[]) => {
    callback(given);
    return Reflect.apply(method, response, given);
  };
  Object.assign(response, { [name]: observed });
}

/** Returns the session that a response opens. Headers that are passed to `writeHead` are none for `getHeader`. */
function sessionOf(response: ServerResponse, headers: unknown): unknown {
  const pairs: readonly unknown[] = Array.isArray(headers) ? headers.flat() : Object.entries(Object(headers)).flat();
  const at = pairs.findIndex((each, index) => index % 2 === 0 && String(each).toLowerCase() === 'mcp-session-id');
  return at < 0 ? response.getHeader('mcp-session-id') : pairs[at + 1];
}
