import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { certificate } from '../support/certificates.ts';
import { runToEnd } from '../support/child-process.ts';
import { isNight } from '../support/node-versions.ts';
import { pages, readText } from '../support/repository.ts';
import { audience, blocks, folder, github, isServed, passes, type Special, send, url, write } from './blocks.ts';

/**
 * A request to a block, the claims of its token, and its response: the status, and a part of headers and body. Last,
 * what is special about the request.
 */
type Row = readonly [
  block: string,
  request: string,
  claims: object | undefined,
  status: number,
  part: string,
  special?: Special,
];

const [one, another] = [certificate('a'), certificate('b')];
const deployment = {
  ...{ iss: github, aud: 'https://deploy.example.com' },
  ...{ repository_id: '123456', ref: 'refs/heads/main', event_name: 'push' },
};
const lookUp = 'Issuers that a function looks up';
const allTenants = 'issuers/entra#Several tenants';
const ofTenant = (tid: string) => ({
  ...{ iss: `${url}${tid}/v2.0`, tid, aud: '11112222-bbbb-3333-cccc-4444dddd5555' },
  scp: 'read:messages',
});
const atMcp = { aud: `${audience}/mcp`, sub: 'ada' };
const notes = { aud: 'http://localhost:3010/mcp', sub: 'ada', scope: 'notes:read' };
const ofMcp = { headers: { accept: 'application/json, text/event-stream' } };
const atApi = { headers: { ...ofMcp.headers, host: 'api.example.com' } };
const atOther = { headers: { ...ofMcp.headers, host: 'mcp.example.org' } };
const callOf = (name: string, method = 'tools/call') =>
  `POST /mcp ${JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { name } })}`;
const taskCall = callOf('report').replace('}}', ',"task":{"ttl":60000}}}');
const reports = { sub: 'ada', scope: 'read:messages' };
const entra = (scp: string) => ({ iss: `${url}TENANT_ID/v2.0`, aud: 'APPLICATION_ID', scp });
const delegated = (sub: string, act?: object) => ({ sub: 'ada', act: { sub, act }, scope: 'read:orders' });
const ofAdmin = { aud: 'https://admin.example.com', sub: 'ada' };
const ofGarbage = { headers: { authorization: 'Bearer garbage' } };
const rows: readonly Row[] = [
  ['index', 'GET /messages', undefined, 401, 'Bearer scope="read:messages"'],
  ['index', 'GET /messages', reports, 200, '{"hello":"ada"}'],
  ['index', 'GET /messages', {}, 403, 'Bearer error="insufficient_scope"'],
  ['quick-reference#Any fetch server', 'GET /', reports, 200, '"hello":"ada"'],
  ['quick-reference#Any fetch server', 'GET /', undefined, 401, 'scope="read:messages"'],
  ['quick-reference#Express, Connect', 'GET /messages', reports, 200, '"hello":"ada"'],
  ['quick-reference#Express, Connect', 'GET /messages', undefined, 401, 'scope="read:messages"'],
  ['quick-reference#Fastify', 'GET /messages', reports, 200, '"hello":"ada"'],
  ['quick-reference#Fastify', 'GET /messages', undefined, 401, 'scope="read:messages"'],
  ['quick-reference#Hono', 'GET /messages', reports, 200, '"hello":"ada"'],
  ['quick-reference#Hono', 'GET /messages', undefined, 401, 'scope="read:messages"'],
  ['quick-reference#Elysia', 'GET /messages', reports, 200, '[]'],
  ['quick-reference#Elysia', 'GET /messages', {}, 403, 'scope="read:messages"'],
  ['quick-reference#MCP servers', callOf('add-note'), { ...atMcp, scope: 'notes:read' }, 403, 'notes:write', atApi],
  ['README', 'GET /messages', reports, 200, '{"hello":"ada"}'],
  ['start/elysia', 'GET /messages', reports, 200, '[]'],
  ['start/elysia#Public routes', 'GET /health', undefined, 200, 'ok'],
  ['start/elysia#Public routes', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['start/elysia', 'GET /messages', undefined, 401, 'Bearer scope="read:messages"'],
  ['start/elysia#Pass the user on', 'GET /orders', { sub: 'ada', scope: 'read:orders' }, 200, 'ada'],
  ['start/elysia#Pass the user on', 'GET /orders', {}, 403, 'scope="read:orders"'],
  ['start/elysia#Your own macros', 'GET /plan', { tenant: 'a' }, 200, 'Plan of a'],
  ['start/elysia#Your own macros', 'GET /plan', {}, 403, 'No tenant'],
  ['start/elysia#Other plugins and rejections', 'GET /orders', undefined, 401, 'Bearer'],
  ['start/elysia#Rate limits', 'GET /orders', {}, 200, '[]'],
  ['start/elysia#One guard for several instances', 'GET /messages/', {}, 200, 'messages'],
  ['start/elysia#One guard for several instances', 'GET /orders/', undefined, 401, 'Bearer'],
  ['start/elysia#One guard for several instances', 'GET /ready', undefined, 200, 'ready'],
  ['start/fetch', 'GET /', undefined, 401, 'Bearer scope="read:messages"'],
  ['start/fetch', 'GET /', reports, 200, 'ada'],
  ['start/fetch#check returns the rejection', 'GET /', undefined, 401, 'Bearer'],
  ['start/fetch#check returns the rejection 2', 'GET /', reports, 200, 'ada'],
  ...[
    ['start/express#In your application', '/me'],
    ['start/fastify#In your application', '/me'],
    ['start/hono#In your application', '/orders/mine'],
  ].flatMap(([block = '', path]): Row[] => [
    [block, 'GET /health', undefined, 200, 'ok'],
    [block, `GET ${path}`, undefined, 401, 'Bearer'],
    [block, `GET ${path}`, { sub: 'ada' }, 200, 'ada'],
  ]),
  ['start/hono', 'GET /messages', reports, 200, '[]'],
  ['start/hono', 'GET /messages', { scope: 'other' }, 403, 'scope="read:messages"'],
  ['start/fastify', 'GET /messages', reports, 200, '[]'],
  ['start/fastify', 'GET /messages', { scope: 'other' }, 403, 'scope="read:messages"'],
  ['start/fastify#Rate limits', 'GET /orders', undefined, 401, 'Bearer'],
  ['start/fastify#Rate limits', 'GET /orders', {}, 200, '[]'],
  ['guides/websockets#On Node.js', 'GET /', undefined, 401, 'Bearer'],
  ['start/express', 'GET /messages', reports, 200, '[]'],
  ['start/express', 'GET /messages', { scope: 'other' }, 403, 'scope="read:messages"'],
  ['start/nestjs#In an empty folder', 'GET /health', undefined, 200, 'ok'],
  ['start/nestjs#In an empty folder', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['start/nestjs#In an empty folder', 'GET /me', undefined, 401, 'Bearer'],
  ['start/nestjs#In an empty folder', 'GET /messages', { scope: 'other' }, 403, 'scope="read:messages"'],
  ['start/nestjs#Which routes are guarded', 'GET /news', undefined, 200, 'for everyone'],
  ['start/nestjs#Which routes are guarded', 'GET /news', { sub: 'ada' }, 200, 'for ada'],
  ['start/nestjs#Which routes are guarded', 'GET /news', undefined, 401, 'invalid_token', ofGarbage],
  ['start/nestjs#Which routes are guarded', 'GET /news/drafts', undefined, 401, 'Bearer'],
  ['start/nestjs#Which routes are guarded', 'GET /news/drafts', { sub: 'ada' }, 401, 'audience'],
  ['start/nestjs#Which routes are guarded', 'GET /news/drafts', ofAdmin, 200, 'for ada'],
  ['start/full-stack#h3', 'GET /messages', reports, 200, 'ada'],
  ['start/full-stack#h3', 'GET /messages', {}, 403, 'scope="read:messages"'],
  ['start/full-stack#h3', 'GET /messages', undefined, 401, '{"error":"missing_token"'],
  ['start/graphql#tRPC', 'GET /trpc/health', undefined, 200, 'ok'],
  ['start/graphql#tRPC', 'GET /trpc/messages', reports, 200, '"hello":"ada"'],
  // With one content type.
  ['start/graphql#tRPC', 'GET /trpc/messages', undefined, 401, '401  application/json Bearer scope="read:messages"'],
  ['start/graphql#tRPC', 'GET /trpc/messages', {}, 403, 'FORBIDDEN'],
  ['start/graphql#tRPC', 'POST /trpc/addMessage {}', reports, 403, 'scope="write:messages"'],
  ['start/express#Koa', 'GET /', undefined, 401, 'Bearer scope="read:messages"'],
  ['start/express#Koa', 'GET /', reports, 200, 'ada'],
  ['mcp/index', 'POST /mcp', undefined, 401, '/.well-known/oauth-protected-resource/mcp'],
  [
    'mcp/index',
    'GET /.well-known/oauth-protected-resource/mcp',
    undefined,
    200,
    '"resource":"http://localhost:3010/mcp"',
  ],
  ['mcp/index', callOf('read-notes'), notes, 200, 'You are ada', ofMcp],
  ['mcp/index', callOf('add-note'), notes, 403, 'scope="notes:read notes:write"', ofMcp],
  ['mcp/index', callOf('add-note', 'prompts/get'), notes, 200, 'Method not found', ofMcp],
  ['mcp/index', callOf('unknown'), notes, 200, 'Tool unknown', ofMcp],
  ['mcp/index', 'POST /mcp {', notes, 400, 'not JSON', ofMcp],
  ['mcp/index', 'GET /mcp', notes, 405, '', ofMcp],
  ['mcp/index', 'GET /.well-known/oauth-authorization-server', undefined, 404, ''],
  ['mcp/index', callOf('read-notes').replace('/mcp', '/other'), notes, 404, '', ofMcp],
  ['mcp/index', callOf('read-notes'), notes, 403, 'Origin', { headers: { origin: 'https://evil.example' } }],
  ['mcp/index', callOf('read-notes'), notes, 403, 'Host', { headers: { host: 'evil.example' } }],
  ['mcp/tools', callOf('add-note'), { ...atMcp, scope: 'notes:read' }, 403, 'scope="notes:read notes:write"', atApi],
  ['mcp/tools#Public tools', callOf('search'), undefined, 200, 'You are a guest', atApi],
  ['mcp/tools#Public tools', callOf('search'), atMcp, 200, 'You are ada', atApi],
  ['mcp/tools#Public tools', callOf('', 'tools/list'), undefined, 200, '"securitySchemes":[{"type":"noauth"}', atApi],
  ['mcp/tools#Public tools', callOf('order'), undefined, 401, 'resource_metadata', atApi],
  ['mcp/tools#Public tools', callOf('order'), atMcp, 403, 'scope="orders:write"', atApi],
  ['examples/mcp#A URL for the login', callOf('search'), undefined, 200, '"result"', atApi],
  ['examples/mcp#A URL for the login', callOf('search').replace('/mcp', '/mcp?login'), undefined, 401, '/mcp"', atApi],
  ['examples/mcp#A URL for the login', callOf('search').replace('/mcp', '/mcp?login'), atMcp, 200, '"result"', atApi],
  ...['#Hono', '#Servers with a verifier', '#Sessions'].map(
    (server): Row => [
      `examples/mcp${server}`,
      callOf('whoami'),
      { aud: audience },
      401,
      'resource_metadata="https://api.',
      atApi,
    ],
  ),
  ...['examples/mcp#Hono', 'examples/mcp#Servers with a verifier', 'mcp/tools#Public tools'].map(
    (block): Row => [
      block,
      'GET /.well-known/oauth-protected-resource/mcp',
      undefined,
      200,
      'api.example.com/mcp"',
      atApi,
    ],
  ),
  ['mcp/connect#Several names', callOf('a'), atMcp, 200, '"https://api.example.com/mcp"', atApi],
  ['mcp/connect#Several names', callOf('a'), atMcp, 200, '"https://mcp.example.org/mcp"', atOther],
  ['mcp/connect#Several names', callOf('a'), undefined, 401, 'resource_metadata="https://mcp.example.org', atOther],
  ['examples/mcp#A task store for each user', callOf('report'), atMcp, 403, 'scope="reports:write"', atApi],
  ['examples/mcp#A task store for each user', taskCall, { ...atMcp, scope: 'reports:write' }, 200, '"taskId"', atApi],
  ['examples/mcp#A task store for each user', callOf('', 'tasks/list'), atMcp, 200, '"tasks":[{"taskId"', atApi],
  [
    'examples/mcp#A task store for each user',
    callOf('', 'tasks/list'),
    { ...atMcp, sub: 'bob' },
    200,
    '"tasks":[]',
    atApi,
  ],
  ['examples/mcp#Hono', callOf('whoami'), atMcp, 200, 'You are ada', atApi],
  ['examples/mcp#Hono', 'GET /mcp', atMcp, 405, '', atApi],
  ['examples/mcp#Servers with a verifier', 'POST /mcp', atMcp, 200, '"sub":"ada"', atApi],
  // Of a bound token, the verifier sees neither proof nor certificate.
  [
    'examples/mcp#Servers with a verifier',
    'POST /mcp',
    { ...atMcp, cnf: { jkt: 'x' } },
    401,
    'Token is not valid',
    atApi,
  ],
  ...['orders', 'reports'].flatMap((name): Row[] => {
    const id = 'guides/several-issuers#Several resources 2';
    const other = name === 'orders' ? 'reports' : 'orders';
    const ofResource = { aud: `https://api.example.com/${name}`, sub: 'ada' };
    return [
      [id, `GET /${name}`, ofResource, 200, `ada at /${name}`],
      [id, `GET /${other}`, ofResource, 401, `oauth-protected-resource/${other}"`],
      [id, `GET /.well-known/oauth-protected-resource/${name}`, undefined, 200, `"resource":"${ofResource.aud}"`],
    ];
  }),
  ...['notes', 'orders'].flatMap((name): Row[] => {
    const id = 'examples/mcp#Several endpoints';
    const [own, other] = [name, name === 'notes' ? 'orders' : 'notes'].map((each) => `/${each}/mcp`);
    const ofResource = { aud: `https://api.example.com${own}` };
    const callAt = (path = '') => callOf('where').replace('/mcp', path);
    return [
      [id, callAt(own), ofResource, 200, `"text":"${own}"`, atApi],
      [id, callAt(other), ofResource, 401, `oauth-protected-resource${other}"`, atApi],
      [id, callAt('/mcp'), ofResource, 404, '', atApi],
      [id, `GET /.well-known/oauth-protected-resource${own}`, undefined, 200, `"resource":"${ofResource.aud}"`, atApi],
    ];
  }),
  ['guides/several-issuers#Several resources', 'GET /', {}, 421, 'Unknown host'],
  ['guides/scopes', 'GET /', { scope: 'read:orders read:customers' }, 200, ''],
  ['guides/scopes', 'GET /', { scope: 'read:orders' }, 403, 'insufficient_scope'],
  ['guides/scopes#Where the scopes are', 'GET /', { resource_access: { 'my-api': { roles: ['clerk'] } } }, 200, ''],
  ['guides/scopes#Where the scopes are', 'GET /', { scope: 'other' }, 403, 'insufficient_scope'],
  ['guides/scopes#Roles that include other roles', 'GET /', { scope: 'admin' }, 200, ''],
  ['guides/scopes#The scope depends on the request', 'GET /tools/a', { scope: 'tool:a' }, 200, ''],
  ['guides/scopes#The scope depends on the request', 'GET /tools/b', { scope: 'tool:a' }, 403, 'insufficient_scope'],
  ['guides/scopes#The scope depends on the request', 'GET /tools/', { scope: 'admin' }, 200, ''],
  ['guides/scopes#The scope depends on the request 2', 'GET /tools/a', { scope: 'tool:a' }, 200, 'a'],
  ['guides/scopes#The scope depends on the request 2', 'GET /tools/b', { scope: 'tool:a' }, 403, 'insufficient_scope'],
  ...['', ' 2', ' 3', ' 4', ' 5'].flatMap((number): Row[] => {
    const block = `guides/scopes#In your framework${number}`;
    return [
      [block, 'GET /orders', { scope: 'admin' }, 200, '[]'],
      [block, 'GET /orders', { scope: 'read:orders' }, 403, 'scope="write:orders"'],
      [block, 'GET /payments', { scope: 'write:orders' }, 200, 'paid'],
      [block, 'GET /payments', { scope: 'write:orders', auth_time: 1 }, 401, 'max_age="300"'],
    ];
  }),
  ['guides/owners', 'GET /orders/1', { sub: 'ada' }, 200, '1'],
  ['guides/owners', 'GET /orders/2', { sub: 'ada' }, 403, ''],
  ['guides/owners#Hide that an object exists', 'GET /orders/1', { sub: 'ada' }, 200, '1'],
  ['guides/owners#Hide that an object exists', 'GET /orders/2', { sub: 'ada' }, 404, ''],
  ['guides/owners#Routes with a schema', 'PUT /orders/1 {"owner":"ada","item":"tea"}', { sub: 'ada' }, 200, 'tea'],
  ['guides/owners#Routes with a schema', 'PUT /orders/1 {"owner":"bob","item":"tea"}', { sub: 'ada' }, 403, ''],
  ['guides/owners 2', 'GET /orders/of/ada', { sub: 'ada' }, 200, 'ada'],
  ['guides/owners 2', 'GET /orders/of/bob', { sub: 'ada' }, 403, 'access_denied'],
  ['issuers/entra#MCP servers', 'GET /', entra('read'), 200, 'read'],
  [
    'issuers/entra#MCP servers',
    'GET /',
    entra('https://api.example.com/mcp/read'),
    403,
    'scope="https://api.example.com/mcp/read"',
  ],
  ['guides/owners#Agents', 'GET /orders', { sub: 'ada', scope: 'read:orders' }, 200, 'Orders of ada'],
  ['guides/owners#Agents', 'GET /orders', delegated('calendar-agent', { sub: 'other' }), 200, 'Orders of ada'],
  // Only the outermost act counts.
  ['guides/owners#Agents', 'GET /orders', delegated('other', { sub: 'calendar-agent' }), 403, 'access_denied'],
  ['guides/owners#Agents', 'GET /orders', { ...delegated('calendar-agent'), sub: 'bob' }, 403, 'access_denied'],
  [
    'guides/owners#Agents',
    'GET /orders',
    { ...delegated('calendar-agent'), act: 'calendar-agent' },
    401,
    'invalid_token',
  ],
  ['guides/owners#Agents', 'DELETE /account', { sub: 'ada', scope: 'delete:account' }, 200, 'Deleted ada'],
  ['guides/owners#Agents', 'DELETE /account', { ...delegated('calendar-agent'), scope: 'delete:account' }, 403, ''],
  ['guides/owners#Agents 2', 'GET /', delegated('calendar-agent'), 200, 'calendar-agent acts for ada'],
  ['guides/owners#Agents 2', 'GET /', { ...delegated('calendar-agent'), act: undefined }, 401, 'invalid_token'],
  ['guides/users#Typed claims', 'GET /', { tenant: 'x' }, 200, 'x has 1 seats'],
  ['guides/users#Typed claims', 'GET /', { tenant: 1 }, 401, 'does not match the schema'],
  ...['', ' 2', ' 3', ' 4', ' 5'].flatMap((number): Row[] => [
    [`guides/users#In a framework${number}`, 'GET /', { tenant: 'x' }, 200, '"x"'],
    [`guides/users#In a framework${number}`, 'GET /', { tenant: 1 }, 401, 'does not match the schema'],
  ]),
  ['guides/optional-tokens', 'GET /', undefined, 200, 'for everyone'],
  ['guides/optional-tokens', 'GET /', { sub: 'ada' }, 200, 'for ada'],
  ['guides/optional-tokens 2', 'GET /news', undefined, 200, 'for everyone'],
  ['guides/optional-tokens 2', 'GET /drafts', undefined, 401, 'scope="write:news"'],
  ...[
    ...['express', 'fastify', 'hono', 'fetch', 'nextjs', 'workers', 'full-stack'].map(
      (page) => `start/${page}#Optional tokens`,
    ),
    'start/express#Optional tokens in Koa',
  ].flatMap((block): Row[] => [
    [block, 'GET /news', undefined, 200, 'for everyone'],
    [block, 'GET /news', { sub: 'ada' }, 200, 'for ada'],
    [block, 'GET /news', undefined, 401, 'invalid_token', ofGarbage],
  ]),
  ['guides/paths', 'GET /admin/x.txt', undefined, 401, 'Bearer'],
  ['guides/scopes#Step-up authentication', 'POST /payments', { acr: 'phr' }, 200, ''],
  [
    'guides/scopes#Step-up authentication',
    'POST /payments',
    { acr: 'phr', auth_time: 1 },
    401,
    'acr_values="phr phrh", max_age="300"',
  ],
  ['guides/several-issuers#A list', 'GET /', {}, 200, url],
  ['guides/several-issuers#A list', 'GET /', deployment, 200, github],
  ['guides/several-issuers#A list', 'GET /', { ...deployment, iss: url }, 401, 'audience is missing'],
  ['guides/several-issuers#A list', 'GET /', { iss: github }, 401, 'audience is missing'],
  ['guides/several-issuers#A list 2', 'GET /', {}, 200, url],
  [allTenants, 'GET /', ofTenant('8eaef023-2b34-4da1-9baa-8bc8c9d6a490'), 200, 'scp'],
  [allTenants, 'GET /', ofTenant(crypto.randomUUID()), 401, 'required claim'],
  ['guides/several-issuers#A list', 'GET /', { ...deployment, ref: 'refs/heads/x' }, 401, 'required claim'],
  [
    'guides/several-issuers#A list',
    'GET /',
    { ...deployment, event_name: 'pull_request_target' },
    401,
    'required claim',
  ],
  [`guides/several-issuers#${lookUp}`, 'GET /', { org: '42' }, 200, url],
  [`guides/several-issuers#${lookUp}`, 'GET /', { org: '43' }, 401, 'required claim'],
  [`guides/several-issuers#${lookUp}`, 'GET /', { iss: github }, 401, 'issuer is not accepted'],
  ['guides/revocation', 'GET /', { sid: 1 }, 200, ''],
  ['guides/revocation', 'GET /', { sid: 'a session that has ended' }, 401, 'Token is revoked'],
  ['guides/certificates', 'GET /', {}, 200, 'test', { boundTo: one.pem, headers: { 'client-cert': one.field } }],
  ['guides/certificates#A Node.js server that terminates TLS', 'GET /', {}, 401, 'invalid_token', { boundTo: one.pem }],
  ...[{}, { 'client-cert': another.field }].map(
    (headers): Row => ['guides/certificates', 'GET /', {}, 401, 'invalid_token', { boundTo: one.pem, headers }],
  ),
  ['guides/forward-auth#Cloudflare Access', 'GET /', undefined, 401, 'Bearer'],
  ['guides/forward-auth#Cloudflare Access', 'GET /', { email: 'ada@example.com' }, 200, 'ada@example.com'],
  ['guides/forward-auth#API keys and other schemes in Elysia', 'GET /me', undefined, 401, 'Bearer'],
  ['guides/forward-auth#API keys and other schemes in Elysia', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  [
    'guides/forward-auth#API keys and other schemes in Elysia',
    'GET /me',
    undefined,
    200,
    'key:acme',
    { headers: { 'x-api-key': 'key_of_acme' } },
  ],
  [
    'guides/forward-auth#API keys and other schemes in Elysia',
    'GET /me',
    undefined,
    200,
    'key:acme',
    { headers: { authorization: 'Token key_of_acme' } },
  ],
  ['guides/websockets', 'GET /events', undefined, 401, 'Bearer', { headers: { upgrade: 'websocket' } }],
  ['guides/websockets#Browsers', 'GET /events', undefined, 401, 'Bearer', { headers: { upgrade: 'websocket' } }],
  ['guides/openapi', 'GET /orders', { scope: 'read:orders' }, 200, '["tea"]'],
  ['guides/openapi#Hono and Express 2', 'GET /openapi.json', undefined, 200, '"401":{"description"'],
  ['guides/openapi#Hono and Express 2', 'GET /orders', {}, 403, 'scope="read:orders"'],
  ['guides/openapi#Hono and Express 3', 'GET /orders', { scope: 'read:orders' }, 200, 'tea'],
  ...['', '#In Elysia', '#In Fastify', '#In NestJS'].flatMap((section): Row[] => {
    const block = `guides/users${section}`;
    return [
      [block, 'GET /me', { sub: 'ada' }, 200, 'ada'],
      [block, 'GET /me', { sub: undefined }, 403, 'No user'],
      [block, 'GET /me', undefined, 401, 'Bearer'],
    ];
  }),
  [
    'guides/own-issuer',
    'POST /token',
    undefined,
    200,
    '"token_type":"Bearer"',
    { headers: { cookie: 'session=of-ada' } },
  ],
  ['guides/own-issuer', 'POST /token', undefined, 401, ''],
  ['guides/own-issuer', 'GET /', { scope: 'read:orders' }, 401, 'invalid_token'],
  ['guides/openapi', 'GET /openapi/json', undefined, 200, '"securitySchemes":{"bearer"'],
  ['guides/token-exchange', 'GET /', undefined, 401, 'Bearer'],
  ['guides/dpop', 'GET /', undefined, 401, 'DPoP algs='],
  ['guides/certificates#FAPI 2.0', 'GET /', {}, 401, 'DPoP'],
  ['guides/certificates#FAPI 2.0 2', 'GET /', {}, 401, 'invalid_token'],
  ['guides/observability', 'GET /', { sub: 'ada' }, 200, 'ada'],
  ['guides/observability#Hooks and traces of Elysia', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['guides/observability#Hooks and traces of Elysia', 'GET /me', undefined, 401, 'Bearer'],
  ['guides/observability#Readiness', 'GET /', { sub: 'ada' }, 200, 'ada'],
  ['guides/errors#Your own format', 'GET /', undefined, 401, 'application/problem+json'],
  ...['', ' 2', ' 3'].flatMap((number): Row[] => {
    const block = `guides/errors#Throw instead of send${number}`;
    return [
      [block, 'GET /messages', {}, 403, '{"code":"insufficient_scope","description":"Token'],
      [block, 'GET /messages', undefined, 401, 'Bearer scope="read:messages"'],
    ];
  }),
  ['guides/errors#CORS', 'GET /', undefined, 401, '* application/json'],
  ['guides/browsers', 'OPTIONS /messages', undefined, 204, '204 *'],
  ['guides/browsers', 'GET /messages', undefined, 401, '401 * application/json'],
  ['guides/browsers', 'GET /messages', {}, 200, '200 * application/json'],
  ['guides/browsers#Without a framework', 'GET /', undefined, 401, '* application/json Bearer scope="read:messages"'],
  ['guides/browsers#Without a framework', 'GET /', { scope: 'read:messages' }, 200, '* application/json;charset=utf-8'],
  ['src/auth/README#In any fetch server', 'GET /', reports, 200, 'ada'],
  ['src/auth/README', 'GET /messages', reports, 200, 'ada'],
  ['src/auth/README#In a test', 'GET /', {}, 401, 'invalid_token'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /messages', reports, 200, 'ada'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /messages', { sub: 'ada' }, 403, 'scope="read:messages"'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /admin', { ...reports, roles: ['user', 'admin'] }, 200, '[]'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /admin', { ...reports, roles: ['user'] }, 403, 'access_denied'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /admin', { roles: ['admin'] }, 403, 'scope="read:messages"'],
  ['migration/index#express-oauth2-jwt-bearer', 'GET /news', undefined, 200, 'everyone'],
  ['migration/index#express-jwt', 'GET /health', undefined, 200, 'ok'],
  ['migration/index#express-jwt', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['migration/index#express-jwt', 'GET /me', { jti: 'token-1' }, 401, 'invalid_token'],
  ['migration/index#passport-jwt', 'GET /me', { sub: 'ada' }, 200, 'Ada'],
  ['migration/index#passport-jwt', 'GET /me', { sub: 'eve' }, 403, 'No such user'],
  ['migration/index#passport-jwt', 'GET /me', undefined, 401, 'Bearer'],
  ["migration/index#Hono's jwk middleware", 'GET /messages', reports, 200, 'ada'],
  ["migration/index#Hono's jwk middleware", 'GET /messages', {}, 403, 'scope="read:messages"'],
  ['migration/index#@fastify/jwt with get-jwks', 'GET /me', { sub: 'ada' }, 200, 'ada'],
  ['migration/index#@fastify/jwt with get-jwks', 'GET /me', undefined, 401, 'Bearer'],
  ['migration/index#@fastify/jwt with get-jwks', 'GET /messages', { scope: 'read:messages' }, 200, '["read:messages"]'],
  ['migration/index#@fastify/jwt with get-jwks', 'GET /messages', undefined, 401, 'scope="read:messages"'],
  ['migration/index#jose', 'GET /', reports, 200, 'ada'],
  ['migration/index#jose', 'GET /', undefined, 401, 'scope="read:messages"'],
  ['migration/index#Spring Security', 'GET /health', undefined, 200, 'ok'],
  ['migration/index#Spring Security', 'GET /orders/', { roles: ['clerk'] }, 200, '[]'],
  ['migration/index#Spring Security', 'GET /orders/of/eve', { sub: 'ada' }, 403, ''],
];

describe('the TypeScript blocks of the documentation', () => {
  beforeAll(() => {
    process.env.CLIENT_SECRET = 'secret';
  });

  // Applications that only set `strict` have the first. By day, tests/types and the examples have the second.
  test.each(isNight ? ['false', 'true'] : ['false'])(
    'compile with exactOptionalPropertyTypes %s',
    async (isExact) => {
      // Several checkers at a time take twice the CPU time, which other tests need.
      const options = ['--noEmit', '-p', folder, '--checkers', '1', '--exactOptionalPropertyTypes', isExact];
      const tsc = Bun.spawn([process.execPath, 'x', 'tsc', ...options], { stdout: 'pipe' });
      const errors = (await tsc.stdout.text()).split('\n').filter((line) => line.startsWith('dist/'));
      expect(errors).toEqual([]);
    },
    120_000,
  );

  // Express 5 gives the error to the callback of listen().
  test.each(['start/express', 'start/fastify', 'start/express#Koa'])(
    '%s fails if its port is taken, and says nothing else',
    async (block) => {
      await using taken = Bun.serve({ port: 0, fetch: () => new Response() });
      const text = blocks.find(({ id }) => id === block)?.text ?? '';
      const file = `taken-${block.replaceAll(/\W/g, '-')}.ts`;
      await write(file, text.replaceAll('3010', String(taken.port)));
      const { status, stdout } = await runToEnd([process.execPath, join(folder, file)]);
      expect([status, stdout]).toEqual([1, '']);
    },
  );

  test('pass as tests', () => passes(...blocks.flatMap(({ file }) => (file.endsWith('.test.ts') ? [file] : []))));

  test.each(rows)('%s: %s with the token %j returns %i', async (...row) => {
    const [block, request, claims, status, part, special] = row;
    const said = await send(block, request, claims, special);
    expect(said).toStartWith(String(status));
    expect(said).toContain(part);
  });

  test('are whole files, or marked as fragments or as run at night', async () => {
    const text = (await Promise.all(pages.map(readText))).join('\n');
    const fences = text.matchAll(/^ *```((?:[mc]?[jt]sx?|javascript|typescript)\b.*)$/gm);
    const marks = new Set(Array.from(fences, ([, mark]) => mark?.replace(/^ts \[\w+\]$/, 'ts')));
    // JavaScript is not compiled: tests run the Worker and those of Jest and Vitest, and the comparison is generated.
    expect([...marks].toSorted()).toEqual(['js', 'ts', 'ts fragment', 'ts nightly']);
  });

  test('are whole files where a guide begins, so that a reader can paste them', () => {
    const firsts = blocks.filter(({ id, file }) => id.startsWith('guides/') && /-0(\.test)?\.ts$/.test(file));
    expect(firsts.length).toBeGreaterThan(10);
    expect(firsts.flatMap(({ id, isFragment }) => (isFragment ? id : []))).toEqual([]);
  });

  test('are all run if they serve requests', () => {
    // The pages of issuers show options, whose settings issuers.test.ts checks.
    const isOther = (id: string) => !/^issuers\/|#A server without a path$/.test(id);
    const served = blocks.filter(isServed).map(({ id }) => id);
    const run = new Set(rows.map(([block]) => block).filter(isOther));
    expect([...run.symmetricDifference(new Set(served.filter(isOther)))]).toEqual([]);
  });
});
