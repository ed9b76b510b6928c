import { nonceHeaders } from '../guard/rejection.ts';
import type { Anonymous, Authentication, CheckRequirements, Guard, GuardRequest } from '../types.ts';
import { pathOf } from '../values/text.ts';
import { authInfoOf, type McpAuthInfo } from './auth-info.ts';
import { createMessageRules, readMessage, rejectMessage } from './message.ts';
import { type McpOptions, readMcpOptions } from './options.ts';
import { McpSessions } from './sessions.ts';

/*
 * The order in which a request to an MCP endpoint is checked, whatever server it reached.
 * Tokens and scopes are checked by the guard. How a server sends a response is in protect.ts and require.ts.
 */

/** What a server knows of a request, and can do for its response. */
export interface McpExchange {
  readonly request: GuardRequest;
  /** What the client sent as `Host`. */
  readonly host: string | null;
  check(requirements?: CheckRequirements): Promise<Authentication<object> | Anonymous | Response>;
  /** Returns the body, as text or parsed; undefined if it is longer. */
  readBody(maxBytes: number): Promise<unknown>;
  /** Adds a header to the response, whoever makes it. */
  setHeader(name: string, value: string): void;
}

/** An accepted request. */
export interface AcceptedMessage {
  readonly auth: Authentication<object> | Anonymous;
  readonly authInfo: McpAuthInfo<object> | undefined;
  /** The body of a POST. */
  readonly message: unknown;
  /** When an event stream that is the response must end, in milliseconds since 1970. */
  readonly endsAtMs: number | undefined;
  /** Must be called with the response. */
  settle(status: number, session: string | null): void;
}

/** The wildcard does not include Authorization. */
const allowedHeaders = 'Content-Type, Authorization, *';
const exposedHeaders = 'WWW-Authenticate, Retry-After, DPoP-Nonce, Mcp-Session-Id';

/**
 * Returns a function that decides about requests to the endpoint and for its metadata, and returns undefined for any other.
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is not valid
 */
export function createMcpEndpoint(guard: Guard<object>, options: McpOptions) {
  const rules = readMcpOptions(guard, options);
  const { scopes } = createMessageRules(rules);
  const path = pathOf(rules.resource);
  const admit = createAdmission(rules);

  /** @param isEndpoint whether the path is another form of the endpoint's, which the server takes for the same */
  return async (exchange: McpExchange, isEndpoint = false): Promise<Response | AcceptedMessage | undefined> => {
    const { request, host, setHeader } = exchange;
    const metadata = guard.metadata(request, { scopes });
    if (!metadata && !isEndpoint && pathOf(request.url) !== path) return undefined;
    // DNS rebinding: a page of another site can reach a server of this machine by a name of its own.
    if (!rules.isAllowedHost(host)) return rejectMessage(403, -32_000, 'Host is not allowed');
    if (metadata) return metadata;
    const origin = request.headers.get('origin');
    if (origin === null) return admit(exchange);
    if (!rules.isAllowedOrigin(origin)) return rejectMessage(403, -32_000, 'Origin is not allowed');
    setHeader('access-control-allow-origin', origin);
    setHeader('access-control-expose-headers', exposedHeaders);
    if (request.method !== 'OPTIONS') return admit(exchange);
    setHeader('access-control-allow-methods', rules.hasSessions ? 'GET, POST, DELETE' : 'POST');
    setHeader('access-control-allow-headers', allowedHeaders);
    setHeader('access-control-max-age', '86400');
    return new Response(null, { status: 204 });
  };
}

/** Returns a function that checks a request to the endpoint: token, method, session, body, and the scopes of the message. */
function createAdmission(rules: ReturnType<typeof readMcpOptions>) {
  const { hasSessions, publicTools, resource, clockToleranceSeconds } = rules;
  const { scopesFor, isPublic } = createMessageRules(rules);
  const sessions = new McpSessions();

  return async ({ request, check, readBody, setHeader }: McpExchange): Promise<Response | AcceptedMessage> => {
    const { method, headers } = request;
    // The challenge names no scope: clients then register with, and request, all scopes of the metadata.
    const first = await check(publicTools && { optional: true });
    // No `instanceof Response`: @hono/node-server replaces that global.
    if (!('claims' in first)) return unauthorized(first);
    // Without a token there is no stream: for a 401, clients would log in though they call public tools only.
    const methods = hasSessions && first.claims ? ['GET', 'POST', 'DELETE'] : ['POST'];
    if (!methods.includes(method))
      return rejectMessage(405, -32_000, 'Method not allowed', { Allow: methods.join(', ') });
    const owner = ownerOf(first);
    const session = hasSessions ? headers.get('mcp-session-id') : null;
    if (session !== null && sessions.isForeign(session, owner)) return rejectMessage(404, -32_001, 'Session not found');
    const read = method === 'POST' ? await readMessage(readBody, rules.maxBodyBytes) : { messages: [] };
    if (!('messages' in read)) return read;
    const { messages, message } = read;
    const scope = first.claims ? scopesFor(messages, first.scopes) : [];
    const isDecided = first.claims ? scope.length === 0 : messages.every(isPublic);
    const auth = isDecided ? first : await check(scope.length > 0 ? { scope } : undefined);
    if (!('claims' in auth)) return unauthorized(auth);
    if (auth.dpopNonce !== undefined) for (const header of nonceHeaders(auth.dpopNonce)) setHeader(...header);
    const isStream = method === 'GET' || messages.some((each) => each.method === 'subscriptions/listen');
    const authInfo = auth.claims && { ...authInfoOf<object>(auth), resource: new URL(resource) };
    const endsAtMs = authInfo && isStream ? (authInfo.expiresAt + clockToleranceSeconds) * 1000 : undefined;
    function settle(status: number, opened: string | null): void {
      const used = opened ?? session;
      if (!hasSessions || used === null || status >= 400) return;
      if (method === 'DELETE') sessions.end(used);
      else if (!sessions.isForeign(used, owner)) sessions.use(used, owner);
    }
    return { auth, authInfo, message, endsAtMs, settle };
  };
}

/** For a 400, clients would not log in: this is a malformed Authorization header. */
const unauthorized = (rejection: Response): Response =>
  rejection.status === 400 ? new Response(rejection.body, { status: 401, headers: rejection.headers }) : rejection;

/** A user of one client; '' for nobody. */
const ownerOf = ({ claims, clientId }: Authentication<object> | Anonymous): string =>
  claims ? JSON.stringify([Reflect.get(claims, 'iss'), Reflect.get(claims, 'sub'), clientId]) : '';
