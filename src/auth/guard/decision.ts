import type { VerifiedToken } from '../token/verifier.ts';
import type { Anonymous, Authentication, Claims, RejectionReason } from '../types.ts';
import { shared } from '../values/shared.ts';

/*
 * What a guard decides about a request: a value, which each door sends in its own way. How it decides is in decide.ts,
 * and what a rejection says in rejection.ts.
 */

/** A response before it is one. Names of headers are in lower case. */
export interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A rejection as it is sent, frozen: a route sends the same one each time. */
export interface Rejection extends PlainResponse {
  readonly reason: RejectionReason;
  readonly body: string;
  /** Whether the body was given as an object. */
  readonly isJson: boolean;
}

/** What a request is accepted with, which has the mark of what is accepted, or the rejection. */
export type Decision = Authentication | Anonymous | Rejection;

/** The constructor of a subclass adds its private fields to what this one returns. */
class Same {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the way to add a private field to any object.
    return value;
  }
}

/**
 * The mark of what is accepted: nothing that a client, an application or the prototype of all objects has can be taken
 * for it. A private field, because a `WeakSet` does the same and takes up to a microsecond a request on Node.js. All
 * copies of the package share it.
 */
const mark = () =>
  shared(
    'accepted',
    () =>
      class Mark extends Same {
        readonly #ownClaims: Claims | undefined;

        constructor(value: object, ownClaims: Claims | undefined) {
          super(value);
          this.#ownClaims = ownClaims;
        }

        static isOn(value: object): boolean {
          return #ownClaims in value;
        }

        static ownClaimsOf(value: object): Claims | undefined {
          return #ownClaims in value ? value.#ownClaims : undefined;
        }
      },
  );

/** Marks what a request is accepted with, once because that costs time, and returns it. */
export function accept<Value extends object>(value: Value, ownClaims?: Claims): Value {
  const Mark = mark();
  return new Mark(value, ownClaims) as Value;
}

/** The claims as the token of an accepted request has them, which no schema has changed. */
export const ownClaimsOf = (accepted: object): Claims | undefined => mark().ownClaimsOf(accepted);

/** Whether a request was accepted with this value. Nothing else in the package says so. */
export function isAccepted<Decided>(
  decided: Decided,
): decided is Exclude<Decided, PlainResponse | Response | undefined> {
  return typeof decided === 'object' && decided !== null && mark().isOn(decided);
}

/** What a token says of its client. */
type Client = Pick<Authentication, 'clientId' | 'scopes'>;

/**
 * Returns a function that makes what a request is accepted with. The scopes of a token are read once for as long as it
 * is cached, and are values: on Node.js, an object with getters takes a microsecond.
 */
export function createAuthentication(scopesOf: (claims: Claims) => readonly string[]) {
  const clients = new WeakMap<VerifiedToken, Client>();
  const clientOf = (verified: VerifiedToken): Client => {
    const known = clients.get(verified);
    if (known) return known;
    const client = { clientId: clientIdOf(verified.claims), scopes: scopesOf(verified.claims) };
    clients.set(verified, client);
    return client;
  };
  /** @param claims those of the token, or the output of a schema */
  return (verified: VerifiedToken, claims: Claims, token: string, dpopNonce: string | undefined): Authentication => {
    const { clientId, scopes } = clientOf(verified);
    return accept({ claims, token, clientId, scopes, dpopNonce }, verified.claims);
  };
}

/** RFC 9068 §2.2 names it client_id; Auth0 and Keycloak azp, Okta cid, Entra azp or appid. */
const clientIdOf = ({ client_id, azp, cid, appid }: Claims): string | undefined =>
  [client_id, azp, cid, appid].find((client) => typeof client === 'string');

/** Returns what a request without credentials is accepted with, where a token is optional. */
export const createAnonymous = (): Anonymous =>
  Object.freeze(
    accept({
      claims: undefined,
      token: undefined,
      scopes: Object.freeze([]),
      clientId: undefined,
      dpopNonce: undefined,
    }),
  );

const headersOf = new WeakMap<PlainResponse, Headers>();
let [tested, keepsHeaders]: [unknown, boolean] = [undefined, false];

/** Returns a response as a server of Web standards sends it. */
export function toResponse(plain: PlainResponse): Response {
  const { status, body } = plain;
  // Copying a Headers object takes a third of the time of an object literal.
  const headers = headersOf.get(plain) ?? toHeaders(plain);
  headersOf.set(plain, headers);
  if (Response !== tested) {
    const probed = new Headers();
    [tested, keepsHeaders] = [Response, new Response(null, { headers: probed }).headers === probed];
  }
  // That of @hono/node-server keeps the headers it gets, to which applications add cookies.
  return new Response(body, { status, headers: keepsHeaders ? new Headers(headers) : headers });
}

function toHeaders(plain: PlainResponse): Headers {
  const headers = new Headers();
  // Bun sends this name as it is written here, and the others as the standards write them.
  for (const [name, value] of Object.entries(plain.headers))
    headers.set(name === 'www-authenticate' ? 'WWW-Authenticate' : name, value);
  return headers;
}

/**
 * Whether a rejection drops a header that is already set. It may describe another body (RFC 9110 §8), or let caches
 * keep the rejection, which would then reach clients with a good token too (RFC 9449 §8.2). nginx prefers
 * `X-Accel-Expires` to `Cache-Control`, and CDNs prefer their own forms of it.
 */
export const isDropped = (name: string) =>
  /^(?:content-(?:encoding|language|length|range)|transfer-encoding|trailer)$/i.test(name) ||
  /^(?:expires|x-accel-expires|etag|last-modified|edge-control|surrogate-control|(?:.+-)?cache-control)$/i.test(name);
