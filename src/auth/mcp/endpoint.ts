import { accept, isAccepted, type PlainResponse } from '../guard/decision.ts';
import { preflight } from '../guard/metadata.ts';
import { nonceHeaders } from '../guard/rejection.ts';
import { type Decided, preparedGuard } from '../guard/route-check.ts';
import type { CheckRequirements, Guard, GuardRequest } from '../types.ts';
import { systemClock } from '../values/clock.ts';
import { authInfoOf } from './auth-info.ts';
import { createTaskFinder, McpHandles } from './handles.ts';
import {
  isPublic,
  type McpMessage,
  McpRejection,
  type MessageBody,
  readMessages,
  scopesFor,
  taskOf,
  toolOf,
} from './message.ts';
import { type McpOptions, readMcpOptions } from './options.ts';
import { createPlaceReader, type Place } from './target.ts';

/*
 * The order in which a request to an MCP endpoint is checked, whatever server it reached. Tokens and scopes are checked
 * by the guard. How a server sends a response is in protect.ts and require.ts.
 */

/** What a server knows of a request, and can do for its response. */
export interface McpExchange {
  readonly request: GuardRequest;
  /** What the request is for, as the server reads its target. */
  readonly place: Place;
  /** What the client sent as `Host`. */
  readonly host: string | null;
  check(requirements: CheckRequirements): Promise<Decided>;
  body(): MessageBody;
  /** Adds a header to the response, whoever makes it. */
  setHeader(name: string, value: string): void;
}

/**
 * Returns a function that says whether a target is the endpoint's, and one that decides about requests for it and for
 * its metadata, and returns undefined for any other.
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is not valid
 */
export function createMcpEndpoint(guard: Guard<object>, options: McpOptions) {
  const rules = readMcpOptions(guard, options);
  const metadataFor = preparedGuard(guard).prepareMetadata({ scopes: rules.scopes });
  const admit = createAdmission(rules);
  const readers = rules.resources.map(createPlaceReader);
  const findPlace = (request: GuardRequest, target: string) => readers[rules.findName(request)]?.(target);

  async function decide(exchange: McpExchange) {
    const result = await walk(exchange);
    if (result instanceof McpRejection) rules.onRejected(exchange.request, result);
    return result;
  }

  async function walk(exchange: McpExchange) {
    const { request, place, host, setHeader } = exchange;
    const metadata = metadataFor(request);
    if (!metadata && place === undefined) return undefined;
    // DNS rebinding: a page of another site can reach a server of this machine by a name of its own.
    if (!rules.isAllowedHost(host))
      return new McpRejection('mcp_host', 403, 'Host is not allowed: it is neither of publicUrl nor in hosts');
    if (metadata) return metadata;
    const origin = request.headers.get('origin');
    if (origin === null) return admit(exchange);
    if (!rules.isAllowedOrigin(origin, rules.findName(request)))
      return new McpRejection('mcp_origin', 403, 'Origin is not allowed: it is not in origins');
    const isPreflight = request.method === 'OPTIONS';
    const headers = { ...(isPreflight ? toPreflight : exposed), 'access-control-allow-origin': origin };
    for (const [name, value] of Object.entries(headers)) setHeader(name, value);
    return isPreflight ? noContent : admit(exchange);
  }

  return { decide, findPlace };
}

const noContent: PlainResponse = { status: 204, headers: {}, body: null };
const toPreflight = { ...preflight, 'access-control-allow-methods': 'GET, POST, DELETE' };
const exposed = { 'access-control-expose-headers': 'WWW-Authenticate, Retry-After, DPoP-Nonce, Mcp-Session-Id' };

/** `setTimeout` calls back at once for a longer time, and a client opens a stream again that ends after 24 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Returns a function that checks a request to the endpoint: token, method, session, body and scopes. */
function createAdmission(rules: ReturnType<typeof readMcpOptions>) {
  const { sessions: hasSessions, publicTools } = rules;
  const [sessions, tasks] = [new McpHandles(), new McpHandles()];
  const toolOfAny = (message: McpMessage) => toolOf(message) ?? tasks.toolOf(taskOf(message) ?? '');

  return async ({ request, place, check, body, setHeader }: McpExchange) => {
    const { method, headers } = request;
    // The challenge names no scope: clients then register with, and request, all scopes of the metadata.
    const first = await check({ optional: publicTools.length > 0 && place === 'endpoint' });
    if (!isAccepted(first)) return unauthorized(first);
    if (place !== 'endpoint') return notFound;
    // Without a token there is no stream: for a 401, clients would log in though they call public tools only.
    const methods = hasSessions && first.claims ? ['GET', 'POST', 'DELETE'] : ['POST'];
    if (!methods.includes(method))
      return new McpRejection('mcp_method', 405, 'Method not allowed without sessions', undefined, {
        Allow: methods.join(', '),
      });
    const user = first.claims && authInfoOf<object>(first).extra.user;
    const session = hasSessions ? headers.get('mcp-session-id') : null;
    // What is replayed after an event ID can be of a session that this process has forgotten.
    const isReplay = hasSessions && headers.get('last-event-id') !== null;
    if (session === null ? isReplay : sessions.isForeign(session, user) || (isReplay && !sessions.isOwn(session, user)))
      return new McpRejection('mcp_session', 404, 'Session not found', -32_001);
    const read = method === 'POST' ? await readMessages(body(), rules.maxBodyBytes) : withoutBody;
    if (read instanceof McpRejection) return read;
    const { messages, message } = read;
    if (messages.some((each) => tasks.isForeign(taskOf(each) ?? '', user)))
      return new McpRejection('mcp_task', 404, 'Task not found', -32_602);
    const scope = first.claims ? scopesFor(messages, first.scopes, toolOfAny, rules) : [];
    const isDecided = first.claims
      ? scope.length === 0
      : messages.every((each) => isPublic(each, publicTools) && rules.ofMessage(each).length === 0);
    const auth = isDecided ? first : await check(scope.length > 0 ? { scope } : {});
    if (!isAccepted(auth)) return auth;
    for (const header of nonceHeaders(auth.dpopNonce)) setHeader(...header);
    const resource = new URL(rules.resources[rules.findName(request)] ?? '');
    const authInfo = auth.claims && { ...authInfoOf<object>(auth), resource };
    const isStream = method === 'GET' || messages.some((each) => each.method === 'subscriptions/listen');
    const expiresAtMs = authInfo && isStream ? authInfo.expiresAt * 1000 + rules.toleranceMs : undefined;
    /** Calls back when an event stream that is the response must end, and returns what cancels that. */
    const whenExpired =
      expiresAtMs === undefined
        ? undefined
        : (end: () => void) => systemClock.schedule(end, Math.min(expiresAtMs - Date.now(), MAX_DELAY_MS));
    /** Must be called with the response: its status, and the session that it opens. */
    function settle(status: number, opened: string | null): void {
      const used = opened ?? session;
      if (!hasSessions || used === null || user === undefined || status >= 400) return;
      if (method === 'DELETE') sessions.end(used);
      else sessions.use(used, user);
    }
    const calls = messages.filter((each) => toolOf(each) !== undefined);
    const called = (id: unknown) => calls.find((each) => each.id === id) ?? calls[0];
    /** Must be called with each part of the response, if it is there: the tasks of tools are their user's. */
    const findTasks =
      user !== undefined && calls[0] !== undefined
        ? createTaskFinder((task, id) => tasks.use(task, user, toolOf(called(id) ?? {})))
        : undefined;
    return accept({ auth, authInfo, message, whenExpired, settle, findTasks });
  };
}

export const notFound: PlainResponse = {
  status: 404,
  headers: { 'content-type': 'text/plain;charset=UTF-8' },
  body: 'Not found',
};
const withoutBody = { messages: [], message: undefined };

/** For a 400, clients would not log in: this is a malformed Authorization header. */
const unauthorized = (rejection: PlainResponse): PlainResponse =>
  rejection.status === 400 ? { ...rejection, status: 401 } : rejection;
