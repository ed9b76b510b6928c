import { accept, isAccepted, type PlainResponse } from '../guard/decision.ts';
import { preflight } from '../guard/metadata.ts';
import type { PreparedGuard } from '../guard/prepared-guard.ts';
import { nonceHeaders, preparedGuard } from '../guard/route-check.ts';
import type { Guard, GuardRequest } from '../types.ts';
import { systemClock } from '../values/clock.ts';
import { authInfoOf } from './auth-info.ts';
import { createTaskFinder, McpHandles } from './handles.ts';
import { type MessageBody, readMessages, tasksOf, toolOf } from './message.ts';
import { type McpOptions, readMcpOptions } from './options.ts';
import type { Place } from './target.ts';

/*
 * The order in which a request to an MCP endpoint is checked, whatever server it reached. Tokens and scopes are checked
 * by the guard. How a server sends a response is in protect.ts and require.ts.
 */

/** Headers of the response, whatever it is. */
type Added = [name: string, value: string][];

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

  async function walk(request: GuardRequest, place: Place, body: () => MessageBody, added: Added) {
    const metadata = metadataFor(request);
    if (!metadata && place === undefined) return undefined;
    // DNS rebinding: a page of another site can reach a server of this machine by a name of its own.
    if (!rules.isAllowedHost(request)) return rules.reject(request, 'host');
    const origin = request.headers.get('origin');
    if (metadata || origin === null) return metadata ?? admit(request, place, body, added);
    if (!rules.isAllowedOrigin(origin, request)) return rules.reject(request, 'origin');
    if (request.method === 'OPTIONS') return ofPreflight;
    added.push(['access-control-allow-origin', origin], exposed);
    return admit(request, place, body, added);
  }

  return {
    findPlace: (request: GuardRequest, target: string) => rules.nameOf(request).readPlace(target),

    async decide(request: GuardRequest, place: Place, body: () => MessageBody) {
      const headers: Added = [];
      return { result: await walk(request, place, body, headers), headers };
    },
  };
}

const toPreflight = { ...preflight, 'access-control-allow-methods': 'GET, POST, DELETE' };
const ofPreflight: PlainResponse = { status: 204, headers: toPreflight, body: null };
const exposed: Added[0] = [
  'access-control-expose-headers',
  'WWW-Authenticate, Retry-After, DPoP-Nonce, Mcp-Session-Id',
];
const asText = { 'content-type': 'text/plain;charset=UTF-8' };
export const notFound: PlainResponse = { status: 404, headers: asText, body: 'Not found' };

/** `setTimeout` calls back at once for a longer time, and a client opens a stream again that ends after 24 days. */
const MAX_DELAY_MS = 2 ** 31 - 1;

/** Returns a function that checks a request to the endpoint: token, method, session, body and scopes. */
function createAdmission(rules: ReturnType<typeof readMcpOptions>, { prepare }: PreparedGuard) {
  const { sessions: hasSessions, publicTools } = rules;
  const [sessions, tasks] = [new McpHandles(), new McpHandles()];

  return async (request: GuardRequest, place: Place, body: () => MessageBody, added: Added) => {
    const { method, headers } = request;
    // The challenge names no scope: clients then register with, and request, all scopes of the metadata.
    const first = await prepare({ optional: publicTools.length > 0 && place === 'endpoint' })(request);
    // For a 400, clients would not log in: this is a malformed Authorization header.
    if (!isAccepted(first)) return first.status === 400 ? { ...first, status: 401 } : first;
    if (place !== 'endpoint') return notFound;
    // Without a token there is no stream: for a 401, clients would log in though they call public tools only.
    const methods = hasSessions && first.claims ? ['GET', 'POST', 'DELETE'] : ['POST'];
    if (!methods.includes(method)) return rules.reject(request, 'method', { Allow: methods.join(', ') });
    const user = first.claims && authInfoOf<object>(first).extra.user;
    const session = hasSessions ? headers.get('mcp-session-id') : null;
    const owner = sessions.ownerOf(session);
    // What is replayed after an event ID can be of a session that this process has forgotten.
    if (owner ? owner.user !== user : hasSessions && headers.get('last-event-id') !== null)
      return rules.reject(request, 'session');
    const read =
      method === 'POST' ? await readMessages(body(), rules.maxBodyBytes) : { messages: [], message: undefined };
    if (typeof read === 'string') return rules.reject(request, read);
    const { messages, message } = read;
    const taskOwners = messages.flatMap(tasksOf).map((task) => tasks.ownerOf(task));
    if (taskOwners.some((each) => each && each.user !== user)) return rules.reject(request, 'task');
    const called = [...messages.map(toolOf), ...taskOwners.map((each) => each?.tool)];
    const scope = first.claims ? rules.scopesFor(messages, called, first.scopes) : [];
    const isDecided = first.claims ? scope.length === 0 : messages.every(rules.isPublic);
    const auth = isDecided ? first : await prepare(scope.length > 0 ? { scope } : {})(request);
    if (!isAccepted(auth)) return auth;
    added.push(...nonceHeaders(auth.dpopNonce));
    const authInfo = auth.claims && {
      ...authInfoOf<object>(auth),
      resource: new URL(rules.nameOf(request).resource),
    };
    const isStream = method === 'GET' || messages.some((each) => each.method === 'subscriptions/listen');
    const endsIn = (expiresAt: number) => Math.min(expiresAt * 1000 + rules.toleranceMs - Date.now(), MAX_DELAY_MS);
    /** Calls back when an event stream that is the response must end, and returns what cancels that. */
    const whenExpired =
      authInfo && isStream ? (end: () => void) => systemClock.schedule(end, endsIn(authInfo.expiresAt)) : undefined;
    /** Must be called with the response: its status, and the session that it opens. */
    function settle(status: number, opened: unknown): void {
      const used = String(opened ?? session ?? '');
      if (!hasSessions || used === '' || user === undefined || status >= 400) return;
      if (method === 'DELETE') sessions.end(used);
      else sessions.use(used, user);
    }
    const calls = messages.filter((each) => toolOf(each) !== undefined);
    const toolOfCall = (id: unknown) => toolOf(calls.find((each) => each.id === id) ?? calls[0] ?? {});
    const keepTask = (task: string, id: unknown) => user !== undefined && tasks.use(task, user, toolOfCall(id));
    /** Must be called with each part of the response, if it is there: the tasks of tools are their user's. */
    const findTasks = user !== undefined && calls.length > 0 ? createTaskFinder(keepTask) : undefined;
    return accept({ auth, authInfo, message, whenExpired, settle, findTasks });
  };
}
