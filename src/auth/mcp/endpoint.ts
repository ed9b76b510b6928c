import { accept, isAccepted, type PlainResponse } from '../guard/decision.ts';
import { preflight } from '../guard/metadata.ts';
import type { PreparedGuard } from '../guard/prepared-guard.ts';
import { nonceHeaders, preparedGuard } from '../guard/route-check.ts';
import type { Guard, GuardRequest } from '../types.ts';
import { systemClock } from '../values/clock.ts';
import { parseUrl } from '../values/url.ts';
import { authInfoOf } from './auth-info.ts';
import { createTaskFinder, McpHandles } from './handles.ts';
import { type McpMessage, McpRejection, type MessageBody, readMessages, taskOf, toolOf } from './message.ts';
import { type McpOptions, readMcpOptions } from './options.ts';
import type { Place } from './target.ts';

/*
 * The order in which a request to an MCP endpoint is checked, whatever server it reached. Tokens and scopes are checked
 * by the guard. How a server sends a response is in protect.ts and require.ts.
 */

/**
 * Returns a function that says whether a target is the endpoint's, and one that decides about requests for it and for
 * its metadata: with the headers of the response, and no result for any other request.
 * @throws {TypeError} the first argument is not a guard with `publicUrl`, or an option is not valid
 */
export function createMcpEndpoint(guard: Guard<object>, options: McpOptions) {
  const rules = readMcpOptions(guard, options);
  const prepared = preparedGuard(guard);
  const metadataFor = prepared.prepareMetadata({ scopes: rules.scopes });
  const admit = createAdmission(rules, prepared);

  async function walk(request: GuardRequest, place: Place, body: () => MessageBody, headers: Map<string, string>) {
    const metadata = metadataFor(request);
    if (!metadata && place === undefined) return undefined;
    // In HTTP/1.0, a request of Node.js has no host.
    const host = request.headers.get('host') ?? (request.incoming ? undefined : parseUrl(request.url)?.host);
    // DNS rebinding: a page of another site can reach a server of this machine by a name of its own.
    if (!rules.isAllowedHost(host))
      return new McpRejection('mcp_host', 403, 'Host is not allowed: it is neither of publicUrl nor in hosts');
    if (metadata) return metadata;
    const origin = request.headers.get('origin');
    const isPreflight = origin !== null && request.method === 'OPTIONS';
    if (origin !== null) {
      if (!rules.isAllowedOrigin(origin, request))
        return new McpRejection('mcp_origin', 403, 'Origin is not allowed: it is not in origins');
      headers.set('access-control-allow-origin', origin);
      for (const header of Object.entries(isPreflight ? toPreflight : exposed)) headers.set(...header);
    }
    return isPreflight ? noContent : admit(request, place, body, headers);
  }

  return {
    findPlace: (request: GuardRequest, target: string) => rules.nameOf(request).readPlace(target),

    async decide(request: GuardRequest, place: Place, body: () => MessageBody) {
      const headers = new Map<string, string>();
      const result = await walk(request, place, body, headers);
      if (result instanceof McpRejection) rules.onRejected(request, result);
      return { result, headers };
    },
  };
}

const noContent: PlainResponse = { status: 204, headers: {}, body: null };
const toPreflight = { ...preflight, 'access-control-allow-methods': 'GET, POST, DELETE' };
const exposed = { 'access-control-expose-headers': 'WWW-Authenticate, Retry-After, DPoP-Nonce, Mcp-Session-Id' };

/** `setTimeout` calls back at once for a longer time, and a client opens a stream again that ends after 24 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Returns a function that checks a request to the endpoint: token, method, session, body and scopes. */
function createAdmission(rules: ReturnType<typeof readMcpOptions>, { prepare }: PreparedGuard) {
  const { sessions: hasSessions, publicTools } = rules;
  const [sessions, tasks] = [new McpHandles(), new McpHandles()];

  return async (request: GuardRequest, place: Place, body: () => MessageBody, added: Map<string, string>) => {
    const { method, headers } = request;
    // The challenge names no scope: clients then register with, and request, all scopes of the metadata.
    const first = await prepare({ optional: publicTools.length > 0 && place === 'endpoint' })(request);
    // For a 400, clients would not log in: this is a malformed Authorization header.
    if (!isAccepted(first)) return first.status === 400 ? { ...first, status: 401 } : first;
    if (place !== 'endpoint') return notFound;
    // Without a token there is no stream: for a 401, clients would log in though they call public tools only.
    const methods = hasSessions && first.claims ? ['GET', 'POST', 'DELETE'] : ['POST'];
    const Allow = methods.join(', ');
    if (!methods.includes(method))
      return new McpRejection('mcp_method', 405, 'Method not allowed without sessions', -32_000, { Allow });
    const user = first.claims && authInfoOf<object>(first).extra.user;
    const session = hasSessions ? headers.get('mcp-session-id') : null;
    const owner = sessions.ownerOf(session);
    // What is replayed after an event ID can be of a session that this process has forgotten.
    if (owner ? owner.user !== user : hasSessions && headers.get('last-event-id') !== null)
      return new McpRejection('mcp_session', 404, 'Session not found', -32_001);
    const read = method === 'POST' ? await readMessages(body(), rules.maxBodyBytes) : withoutBody;
    if (read instanceof McpRejection) return read;
    const { messages, message } = read;
    const taskOwners = messages.map((each) => tasks.ownerOf(taskOf(each)));
    if (taskOwners.some((each) => each && each.user !== user))
      return new McpRejection('mcp_task', 404, 'Task not found', -32_602);
    const called = [...messages.map(toolOf), ...taskOwners.map((each) => each?.tool)];
    const scope = first.claims ? rules.scopesFor(messages, called, first.scopes) : [];
    const isDecided = first.claims ? scope.length === 0 : messages.every(rules.isPublic);
    const auth = isDecided ? first : await prepare(scope.length > 0 ? { scope } : {})(request);
    if (!isAccepted(auth)) return auth;
    for (const header of nonceHeaders(auth.dpopNonce)) added.set(...header);
    const resource = new URL(rules.nameOf(request).resource);
    const authInfo = auth.claims && { ...authInfoOf<object>(auth), resource };
    const isStream = method === 'GET' || messages.some((each) => each.method === 'subscriptions/listen');
    const endsIn = (expiresAt: number) => Math.min(expiresAt * 1000 + rules.toleranceMs - Date.now(), MAX_DELAY_MS);
    /** Calls back when an event stream that is the response must end, and returns what cancels that. */
    const whenExpired =
      authInfo && isStream ? (end: () => void) => systemClock.schedule(end, endsIn(authInfo.expiresAt)) : undefined;
    /** Must be called with the response: its status, and the session that it opens. */
    function settle(status: number, opened: string | null): void {
      const used = opened ?? session;
      if (!hasSessions || used === null || user === undefined || status >= 400) return;
      if (method === 'DELETE') sessions.end(used);
      else sessions.use(used, user);
    }
    const calls = messages.filter((each) => toolOf(each) !== undefined);
    const toolOfCall = (id: unknown) => toolOf(calls.find((each) => each.id === id) ?? calls[0] ?? {});
    /** Must be called with each part of the response, if it is there: the tasks of tools are their user's. */
    const findTasks =
      user !== undefined && calls.length > 0
        ? createTaskFinder((task, id) => tasks.use(task, user, toolOfCall(id)))
        : undefined;
    return accept({ auth, authInfo, message, whenExpired, settle, findTasks });
  };
}

const asText = { 'content-type': 'text/plain;charset=UTF-8' };
export const notFound: PlainResponse = { status: 404, headers: asText, body: 'Not found' };
const withoutBody = { messages: [] as readonly McpMessage[], message: undefined };
