import { rejections } from '../rejections.ts';
import type { RejectionDescription, RejectionReason } from '../types.ts';
import { shared } from '../values/shared.ts';
import { type Rejection, toResponse } from './decision.ts';

const graphqlCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  405: 'BAD_REQUEST',
  503: 'SERVICE_UNAVAILABLE',
} as const;

const { [Symbol.hasInstance]: isInstance } = Function.prototype;

/** Errors of all copies of the package. Data cannot be one of them. */
const errors = () => shared('errors', () => new WeakSet<object>());

/**
 * The rejection of a request, as `guard.requireToken` throws it, with the members that Hono, Koa, Express, Fastify, h3
 * and GraphQL servers read. It contains no part of a token. `instanceof` knows that of another copy of the package too.
 */
export class RejectionError extends Error {
  override readonly name = 'RejectionError';
  /** The internal reason, for logs. */
  readonly reason: RejectionReason;
  /** The error of the standards, as `formatRejection` gets it, whatever the body has. */
  readonly error: RejectionDescription['error'];
  /**
   * The same as the message: a constant sentence. https://protected-api.github.io/protected-api/troubleshooting says what
   * to do for each.
   */
  readonly description: string;
  /** The HTTP status: 400, 401, 403 or 503, unless `formatRejection` changes it. */
  readonly status: number;
  /** The same as `status`. */
  readonly statusCode: number;
  /** The headers of the rejection, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The value of a JSON body, or the text of another one. */
  readonly body: unknown;
  /** Says that the message, a constant description, may be sent to clients. */
  readonly expose = true;
  /** What GraphQL servers show of an error. */
  readonly extensions: { readonly code: string };
  readonly #rejection: Rejection;

  constructor(rejection: Rejection) {
    const { reason, status, headers, body, isJson } = rejection;
    const { error, description, status: usual } = rejections[reason];
    super(description);
    this.reason = reason;
    this.error = error;
    this.description = description;
    this.status = status;
    this.statusCode = status;
    this.headers = headers;
    this.body = isJson ? JSON.parse(body) : body;
    this.extensions = Object.freeze({ code: graphqlCodes[usual] });
    this.#rejection = rejection;
    errors().add(this);
  }

  /** Whether a value is such an error, of any copy of the package; of a class that extends this one, as usual. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one inherits the method.
    return this === RejectionError ? errors().has(Object(value)) : isInstance.call(this, value);
  }

  /** The complete rejection, ready to send: a new object each time. */
  get response(): Response {
    return toResponse(this.#rejection);
  }

  /** Returns `response`. Errors of Hono have a method of this name. */
  getResponse(): Response {
    return this.response;
  }
}
