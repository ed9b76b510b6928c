import type { GuardRequest } from '../types.ts';
import { sharedMap } from '../values/shared.ts';

/*
 * What a guard checks of a Node.js request: what the client sent, whatever a framework made of it. What is accepted is
 * decided in guard/, and what is sent in require-token.ts.
 */

/**
 * A request of `node:http`, or of the compatibility API of `node:http2`: what is read of it, because applications on
 * other runtimes import doors with this type, and have no types of Node.js.
 */
export interface IncomingRequest {
  /** The method. */
  readonly method?: string | undefined;
  /** The target: a path, or in an absolute form a URL. */
  readonly url?: string | undefined;
  /** The headers, by their name in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Names and values as the client sent them, in turn. */
  readonly rawHeaders: readonly string[];
  /** The connection, which may be encrypted and have a certificate. */
  readonly socket: NonNullable<GuardRequest['incoming']>['socket'];
  /** Calls the listener when the connection ends. */
  on(event: 'close', listener: () => void): unknown;
}

const guardRequests = () => sharedMap<IncomingRequest, GuardRequest>('requests');

/**
 * Returns what a guard checks: the same object each time, so that all checks of a request share one use of its proof.
 * It is not a `Request`, whose constructor throws for TRACE, CONNECT and some URLs.
 * @throws {TypeError} the value is not a Node.js request
 */
export function requestOf(incoming: IncomingRequest): GuardRequest {
  const known = guardRequests().get(incoming);
  if (known) return known;
  // JavaScript may call the door of another framework. The requests of node-mocks-http have no raw headers.
  const { rawHeaders, headers, on } = Object(incoming) as Partial<IncomingRequest>;
  if (!Array.isArray(rawHeaders) && (typeof headers !== 'object' || typeof on !== 'function'))
    throw new TypeError(
      'Cannot check a request: it must be a Node.js request (request.raw in Fastify, ctx.req in Koa). For Hono, use protected-api/hono',
    );
  const request = new NodeRequest(incoming);
  guardRequests().set(incoming, request);
  return request;
}

/** Whatever prints it, such as a log in `onRejected`, prints neither the token nor the connection. */
class NodeRequest implements GuardRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: GuardRequest['headers'];
  readonly #incoming: IncomingRequest;

  constructor(incoming: IncomingRequest) {
    this.method = methodOf(incoming);
    this.url = urlOf(incoming);
    this.headers = { get: (name) => headerOf(incoming, name.toLowerCase()) ?? authorityOf(incoming, name) };
    this.#incoming = incoming;
  }

  get incoming(): IncomingRequest {
    return this.#incoming;
  }
}

/** HTTP/2 has a pseudo-header in place of `Host`. */
const authorityOf = (incoming: IncomingRequest, name: string) =>
  name.toLowerCase() === 'host' ? headerOf(incoming, ':authority') : null;

/**
 * Returns all values of a header: `headers` has only the first of two Authorization headers. No other is read: with
 * `insecureHTTPParser`, it may have a value that `Headers` rejects.
 */
function headerOf({ headers, rawHeaders = [] }: IncomingRequest, name: string): string | null {
  const isNamed = (_: string, at: number) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name;
  // Adapters of functions, such as serverless-http, make requests with `headers` only.
  const values = rawHeaders.length > 0 ? rawHeaders.filter(isNamed) : [headers[name] ?? []].flat();
  return values.length > 0 ? values.join(', ') : null;
}

/** Like Express with the URL, method-override keeps what the client sent, which a proof names. */
function methodOf({ method, originalMethod }: IncomingRequest & { readonly originalMethod?: unknown }): string {
  return String(originalMethod ?? method);
}

/**
 * The origin does not come from the Host header: with a Host such as `a/b`, a client could change the path. The targets
 * of CONNECT and of `OPTIONS *` have no path and stay as they are.
 */
function urlOf(incoming: IncomingRequest & { readonly originalUrl?: unknown }): string {
  // Express, Connect, Polka and Fastify rewrite `url`, and keep what the client sent.
  const target = String(incoming.originalUrl ?? incoming.url);
  return target.startsWith('/') ? `http://localhost${target}` : target;
}
