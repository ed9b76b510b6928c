import { refusals } from '../refusals.ts';
import type { RefusalDescription, RefusalReason } from '../types.ts';

/** What is sent for a reason, but for its challenge or `Retry-After`. */
export interface PreparedRejection<Reason extends RefusalDescription['reason'] = RefusalReason> {
  readonly reason: Reason;
  readonly status: number;
  readonly contentType: string;
  /** JSON, if the body was given as an object. */
  readonly text: string;
  readonly isJson: boolean;
}

/** Where a rejection has its source. A weak map of rejections would take a tenth of the time of one. */
const source = Symbol('source');

type Sourced = Response & { [source]?: PreparedRejection };

/** Notes what a rejection was made of, and returns it. */
export function sourced(rejection: Sourced, from: PreparedRejection): Response {
  rejection[source] = from;
  return rejection;
}

const graphqlCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  405: 'BAD_REQUEST',
  503: 'SERVICE_UNAVAILABLE',
} as const;

/**
 * The rejection of a request, as `guard.requireToken` throws it, with the members that Hono, Koa, Express, Fastify, h3
 * and GraphQL servers read. It contains no part of a token.
 */
export class RejectionError extends Error {
  override readonly name = 'RejectionError';
  /** The internal reason, for logs. */
  readonly reason: RefusalReason;
  /** The error of the standards, as `formatRejection` gets it, whatever the body has. */
  readonly error: RefusalDescription['error'];
  /** The same as the message: a constant sentence. */
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
  readonly #text: string;

  constructor(rejection: Response, { reason, text, isJson }: PreparedRejection) {
    const { error, description, status } = refusals[reason];
    super(description);
    this.reason = reason;
    this.error = error;
    this.description = description;
    this.status = rejection.status;
    this.statusCode = rejection.status;
    this.headers = Object.freeze(Object.fromEntries(rejection.headers));
    this.body = isJson ? JSON.parse(text) : text;
    this.extensions = Object.freeze({ code: graphqlCodes[status] });
    this.#text = text;
  }

  /** The complete rejection, ready to send: a new object each time. */
  get response(): Response {
    return new Response(this.#text, { status: this.status, headers: this.headers });
  }

  /** Returns `response`. Errors of Hono have a method of this name. */
  getResponse(): Response {
    return this.response;
  }
}

/** Returns the error for a rejection of this module. */
export function errorOf(rejection: Sourced): RejectionError {
  const from = rejection[source];
  if (from === undefined) throw new TypeError('Cannot throw a rejection: it must be a Response of a guard');
  return new RejectionError(rejection, from);
}
