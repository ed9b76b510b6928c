import { Elysia, ElysiaCustomStatusResponse, NotFoundError, ParseError, ValidationError } from 'elysia';
import { type CommonHeaders, createResponses } from './responses.ts';
import { createRouteTable, sentPathOf } from './route-table.ts';
import { whenSettled } from './when-settled.ts';

export type FetchHandler = (request: Request) => Response | Promise<Response>;

/** Returns the pattern of the route of a request, or undefined for an unknown path. */
export type RouteOf = (request: Request) => string | undefined;

export interface HttpPluginOptions {
  readonly commonHeaders: CommonHeaders;
  /** Returns the routes of the application. Called on its first request. */
  readonly routes: () => Parameters<typeof createRouteTable>[0];
  /** Called with an unexpected error. The client gets a 500 without details. */
  readonly onInternalError: (error: unknown, request: Request) => void;
  /** Returns the response to a preflight for a path that allows more than the others, or undefined. */
  readonly respondPreflight?: ((request: Request) => Response | undefined | Promise<Response>) | undefined;
  /** Wraps the function that handles requests, to count and log them. */
  readonly observe?: ((fetch: FetchHandler, routeOf: RouteOf) => FetchHandler) | undefined;
  /** Whether every response ends its connection, because the process is about to end. Defaults to never. */
  readonly isClosing?: (() => boolean) | undefined;
}

/**
 * Options of the application that uses the plugin. Elysia looks for the path behind the 7 characters of `http://`; with
 * `standardHostname` it would skip 11, and a short host such as `api` would shift the path.
 * @see https://github.com/elysiajs/elysia/blob/1.4.30/src/adapter/web-standard/index.ts (`composeGeneralHandler`)
 */
export const elysiaOptions = { strictPath: true, handler: { standardHostname: false } } as const;

/**
 * Returns the plugin that gives all responses of an application common headers, exact content types and Error objects,
 * and responds to preflights. Use it before any route. It relies on undocumented behaviour of Elysia and Bun, each with
 * a link.
 */
export function createHttpPlugin(options: HttpPluginOptions) {
  const { commonHeaders, routes, respondPreflight, onInternalError, observe, isClosing = () => false } = options;
  const { json, fail, complete, preflight } = createResponses(commonHeaders);
  let table = createRouteTable([]);
  let pipeline: FetchHandler | undefined;

  return (
    new Elysia()
      .wrap((inner) => {
        // Elysia calls this for each request, always with the same function:
        // https://github.com/elysiajs/elysia/blob/1.4.30/src/compose.ts (`createHoc`)
        if (pipeline === undefined) {
          table = createRouteTable(routes());
          const handle = inner as unknown as FetchHandler;
          const respondOptions: FetchHandler = (request) => {
            const path = sentPathOf(request.url);
            const isPreflight = request.headers.has('access-control-request-method') || !table.takesOptions(path);
            return isPreflight ? preflight(request, table.methodsOf(path)) : handle(request);
          };
          const respond: FetchHandler = (request) =>
            request.method === 'OPTIONS' ? (respondPreflight?.(request) ?? respondOptions(request)) : handle(request);
          const observed = observe ? observe(respond, table.routeOf) : respond;
          pipeline = withConnections(observed, isClosing);
        }
        return pipeline;
      })
      // Without `return f(...)`: Elysia takes a hook that contains it for an asynchronous one, and every response for a
      // Promise (`isAsync` in its compose.ts), which costs a request a tenth.
      .mapResponse({ as: 'global' }, ({ responseValue, request, set }) => {
        const isStatus = responseValue instanceof ElysiaCustomStatusResponse;
        const body: unknown = isStatus ? responseValue.response : responseValue;
        let response: Response | undefined;
        if (isJson(responseValue) && isEmpty(set.headers)) response = json(200, responseValue);
        else if (body instanceof Error) {
          // Elysia would send the message of an Error that a handler returns:
          // https://github.com/elysiajs/elysia/blob/1.4.30/src/adapter/bun/handler.ts (`errorToResponse`)
          onInternalError(body, request);
          response = fail('internal_error');
        } else if (body instanceof Response) {
          if (body.status !== 200) sendUncopied(set);
          response = complete(body, set.headers);
        } else {
          if (isJson(body)) set.headers['content-type'] ??= 'application/json';
          for (const [name, value] of Object.entries(commonHeaders)) set.headers[name] ??= value;
        }
        return response;
      })
      .onError({ as: 'global' }, ({ error, request, path, set }) => {
        if (error instanceof ElysiaCustomStatusResponse) return undefined;
        sendUncopied(set);
        if (error instanceof NotFoundError) {
          const allowed = table.allowedFor(path);
          const isFound = table.find(request.method, path) !== undefined;
          return isFound || allowed.length === 0 ? fail('not_found') : fail('method_not_allowed', allowed);
        }
        const isInvalid =
          error instanceof ParseError || (error instanceof ValidationError && error.type !== 'response');
        // Without the second, a client that ends its connection within the body would be counted as an error of the
        // service.
        if (isInvalid || (request.signal.aborted && error instanceof DOMException && error.name === 'AbortError'))
          return fail('invalid_request');
        onInternalError(error, request);
        return fail('internal_error');
      })
  );
}

/**
 * Gives requests an `http:` URL. Closes connections on which no further request may follow: Bun treats that of a
 * CONNECT as a tunnel (https://github.com/oven-sh/bun/pull/37585), and responds to the trailer of a chunked body with
 * an extra 400, which a proxy would send to the next client.
 */
function withConnections(fetch: FetchHandler, isClosing: () => boolean): FetchHandler {
  const close = (response: Response) => {
    response.headers.set('connection', 'close');
    return response;
  };
  const closeAtEnd = (response: Response) => (isClosing() ? close(response) : response);
  return (received) => {
    const isLast = received.method === 'CONNECT' || received.headers.has('transfer-encoding');
    return whenSettled(fetch(withHttpUrl(received)), isLast ? close : closeAtEnd);
  };
}

/**
 * Returns the request with a URL of the form `http://host/path`: callers may pass https, and HTTP/1.0 without a Host
 * header a path.
 */
function withHttpUrl(request: Request): Request {
  const { url } = request;
  if (url.startsWith('http:')) return request;
  if (url.startsWith('https:')) return new Request(`http${url.slice('https'.length)}`, request);
  return url.startsWith('/') ? new Request(`http://localhost${url}`, request) : request;
}

/** Whether the value of a handler is sent as JSON: a plain object or an array, not a Response, file or stream. */
function isJson(value: unknown): value is object {
  return typeof value === 'object' && value !== null && (value.constructor === Object || Array.isArray(value));
}

/**
 * Makes Elysia send a Response without copying it. Elysia copies it if `set.status` is not 200, which takes a third of
 * the time of a rejection. The status of the Response itself is sent in any case, unless it is 200.
 * @see https://github.com/elysiajs/elysia/blob/1.4.30/src/adapter/utils.ts (`createResponseHandler`)
 */
function sendUncopied(set: { status?: number | string }): void {
  set.status = 200;
}

function isEmpty(record: object): boolean {
  for (const _ in record) return false;
  return true;
}
