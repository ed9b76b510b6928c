import { decodeJwt } from 'jose';
import type { mcpRows } from '../../../src/probe/mcp/mcp.ts';
import type { mcpMetadataRows } from '../../../src/probe/mcp/mcp-metadata.ts';
import type { mcpTokenRows } from '../../../src/probe/mcp/mcp-tokens.ts';
import {
  adding,
  at,
  bearer,
  credentials,
  header,
  isMetadata,
  publishing,
  rejecting,
  rejection,
  tokenOf,
} from './faults.ts';
import { audience, type Planted } from './server.ts';

// For each rule of MCP clients, a server that fails it, and one that keeps them all.

export type McpRow = (typeof mcpMetadataRows | typeof mcpRows | typeof mcpTokenRows)[number]['id'];

const metadataUrl = `${audience}/.well-known/oauth-protected-resource`;
const allowed = {
  'access-control-allow-headers': 'Authorization, Content-Type, MCP-Protocol-Version',
  'access-control-expose-headers': 'WWW-Authenticate, Mcp-Session-Id',
};
/** A server that a client has no complaint about: what is guarded is POST, from one host and no page. */
export const goodMcp: Planted = async (request, right, parts) => {
  if (isRoot(request)) return rejection(404);
  if (isPath(request)) return publishing({ resource: `${audience}/messages` })(new Request(metadataUrl), right, parts);
  if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: allowed });
  const isBare = credentials(request) === undefined;
  if (!isBare && (header(request, 'origin') ?? header(request, 'host'))) return rejection(403);
  const response = await right(request);
  const session = header(request, 'mcp-session-id');
  const { sub } = response.ok ? decodeJwt(tokenOf(request)) : {};
  if (response.ok && session !== undefined && session !== sub) return rejection(404);
  if (response.ok && request.method !== 'POST') return rejection(405);
  if (response.ok && session === undefined) response.headers.set('mcp-session-id', String(sub));
  const told = response.headers.get('www-authenticate')?.replace(metadataUrl, `${metadataUrl}/messages`);
  if (told !== undefined) response.headers.set('www-authenticate', told);
  return adding(allowed, () => true)(request, () => response, parts);
};
const but =
  (fault: Planted): Planted =>
  (request, right, parts) =>
    fault(request, (given) => goodMcp(given, right, parts), parts);
const answering = (test: (request: Request) => unknown, respond: () => Response): Planted =>
  but((request, right) => (test(request) ? respond() : right(request)));
const isBare = (method: string) => (request: Request) =>
  request.method === method && !isMetadata(request) && credentials(request) === undefined;
const isPath = (request: Request) => at(request).pathname.endsWith('oauth-protected-resource/messages');
const isRoot = (request: Request) => at(request).pathname.endsWith('oauth-protected-resource');
const shell = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
/** Responds to GET with a stream of events, which ends with its token or never. */
const streaming = (ends: boolean): Planted =>
  but(async (request, right) => {
    if (request.method !== 'GET' || isMetadata(request)) return right(request);
    const accepted = await right(new Request(request.url, { method: 'POST', headers: request.headers }));
    if (!accepted.ok) return accepted;
    const body = new ReadableStream({
      async start(controller) {
        const { exp = 0 } = decodeJwt(tokenOf(request));
        while (ends && exp * 1000 > Date.now()) await new Promise((done) => setTimeout(done, 1));
        if (ends) controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  });
/** A server that is right, and has streams. */
export const streamingMcp = streaming(true);
const withoutCors = answeringWith((response) => response.headers.delete('access-control-expose-headers'));

function answeringWith(change: (response: Response) => void): Planted {
  return but(async (request, right) => {
    const response = await right(request);
    change(response);
    return response;
  });
}

/**
 * A server that keeps a task, events and state of a user, and binds them to the user unless one of them is shared: with
 * everybody, or with tokens of the user that may not call the tool.
 */
export const keepingMcp = (shared?: 'events' | 'task' | 'list' | 'scope' | 'state') =>
  but(async (request, right, { verify }) => {
    if (isMetadata(request) || credentials(request) === undefined) return right(request);
    const { method = '', params = {} } = Object(request.method === 'POST' ? await request.clone().json() : {});
    const { sub = '' } = decodeJwt(tokenOf(request));
    const isOwn = (named: unknown) => named === `of ${sub}`;
    const event = header(request, 'last-event-id');
    if (event !== undefined) {
      await verify(tokenOf(request));
      const isShown = isOwn(event) || shared === 'events';
      return new Response(isShown ? 'id: 2\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n' : ': nothing\n\n');
    }
    const isTask = /^tasks.get/.test(method);
    const accepted = shared === 'scope' && isTask ? new Response() : await right(request);
    const answer = (result?: object) =>
      Response.json({ jsonrpc: '2.0', id: 1, ...(result ? { result } : { error: { code: -32_602 } }) });
    if (!accepted.ok) return accepted;
    if (method === 'initialize') return new Response(`id: of ${sub}\ndata: {"result":{}}\n\n`, accepted);
    if (method === 'tasks/list')
      return answer({
        tasks: [{ taskId: `of ${sub}` }, ...(shared === 'list' ? [{ taskId: 'of probe-control' }] : [])],
      });
    if (isTask) return answer(isOwn(params.taskId) || shared === 'task' ? { taskId: params.taskId } : undefined);
    if (params.task) return answer({ task: { taskId: `of ${sub}` } });
    const { requestState = `of ${sub}` } = params;
    return answer(
      isOwn(requestState) || shared === 'state' ? { resultType: 'input_required', requestState } : undefined,
    );
  });

export const plantedMcp: Readonly<Record<McpRow, Planted>> = {
  'mcp-metadata-found': answering(isMetadata, () => rejection(404)),
  'mcp-metadata-path': answering(isPath, shell),
  'mcp-metadata-root': answering(isRoot, () => new Response(null, { status: 500 })),
  'mcp-resource-sdk': but(publishing({ resource: 'https://api.invalid/other' })),
  'mcp-resource-vscode': but(publishing({ resource: 'https://api.invalid' })),
  'mcp-resource-gemini': but(publishing({ resource: `${audience}/messages/` })),
  'mcp-challenge-post': answering(isBare('POST'), () => rejection(403)),
  'mcp-challenge-get': answering(isBare('GET'), () => rejection(404)),
  'mcp-challenge-delete': answering(isBare('DELETE'), () => new Response(null, { status: 204 })),
  'mcp-challenge-readable': but(
    rejecting(() =>
      rejection(401, { 'www-authenticate': 'DPoP algs="ES256", Bearer resource_metadata="https://api.invalid/"' }),
    ),
  ),
  'mcp-bad-token': answering(
    (request) => tokenOf(request).startsWith('e30'),
    () => rejection(400),
  ),
  'mcp-expired-token': but(
    rejecting((rejected, request) => (tokenOf(request).length > 100 ? new Response(null, { status: 500 }) : rejected)),
  ),
  'mcp-stream': answering(
    (request) => request.method === 'GET' && credentials(request) !== undefined,
    () => Response.json({}),
  ),
  'mcp-origin': answering(
    ({ headers }) => headers.has('origin') && headers.has('authorization'),
    () => Response.json({}),
  ),
  'mcp-host': answering(
    ({ headers }) => headers.has('host') && headers.has('authorization'),
    () => Response.json({}),
  ),
  'mcp-preflight': answering(
    ({ method }) => method === 'OPTIONS',
    () => rejection(401),
  ),
  'mcp-exposed': withoutCors,
  'mcp-session': but((request, right) => {
    const headers = new Headers(request.headers);
    // Whoever sends a session has it.
    if (headers.has('mcp-session-id')) headers.set('mcp-session-id', String(decodeJwt(tokenOf(request)).sub));
    return right(new Request(request, { headers }));
  }),
  'mcp-events': keepingMcp('events'),
  'mcp-task': keepingMcp('task'),
  'mcp-task-scope': keepingMcp('scope'),
  'mcp-request-state': keepingMcp('state'),
  'mcp-tool-scope': but(
    rejecting((rejected) =>
      rejected.status === 403 ? rejection(403, bearer('error="insufficient_scope"')) : rejected,
    ),
  ),
  'mcp-stream-end': streaming(false),
};
