import type { Attempt } from '../row/row.ts';
import { finding, rejected, rejects, requests, response, unlikeTheTarget } from '../row/topic.ts';

// Requests without a token that mislead a guard, or what stands before it.

type Header = readonly [name: string, value: string];
const each = (...headers: readonly Header[]) => rejected(...headers.map((header): Attempt => ({ headers: [header] })));
const named = (value: string, ...names: readonly string[]) => names.map((name): Header => [name, value]);
/** Headers that name a URL or a method beside those of the request. */
const ofUrls = ['X-Original-URL', 'X-Original-URI', 'X-Rewrite-URL', 'X-Forwarded-Uri', 'X-Forwarded-Path'].concat(
  ...['X-Forwarded-Prefix', 'X-Envoy-Original-Path'],
);
const ofMethods = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-Forwarded-Method'];
/** Paths that are public in many applications. */
const publicPaths = ['/health', '/healthz', '/public', '/login', '/docs', '/openapi.json', '/metrics'].concat(
  ...['/favicon.ico', '/static/x.css', '/.well-known/x', '/api/public'],
);
/** Headers that are no protection, because anybody can send them. */
const ofServices = [
  'X-Internal',
  'X-Internal-Call',
  'X-Internal-Request',
  'X-Service',
  'X-Trusted',
  'X-Gateway',
].concat(
  ...['X-From-Gateway', 'X-Authenticated', 'X-Admin', 'X-Is-Admin', 'X-Debug', 'X-Dev', 'X-Test', 'X-Monitoring'],
  ...['X-Health-Check', 'X-Skip-Auth', 'X-Bypass-Auth', 'X-No-Auth', 'X-Preview', 'X-Cron'],
);
const upgrade: Attempt = {
  headers: [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'cHJvYmVkLXdlYnNvY2tldA=='],
  ],
};

/** A request of JSON-RPC, as MCP clients send it, whatever the method of the target. */
export const call = (...methods: readonly string[]): Attempt => {
  const clientInfo = { name: 'protected-api-probe', version: '1' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const calls = methods.map((method, at) => ({ jsonrpc: '2.0', id: at + 1, method, params }));
  const headers = named('application/json, text/event-stream', 'Accept');
  return { method: 'POST', headers, body: JSON.stringify(calls.length === 1 ? calls[0] : calls) };
};
const inMcp = {
  rule: 'MCP, authorization',
  onlyIn: 'mcp',
  remedy: 'Guard the endpoint before its messages are read, in every session',
  ownCode: 'Check the token of each HTTP request, whatever the message and the session',
} as const;

export const anonymousRows = requests(
  'no-token',
  {
    rule: 'RFC 6750 §2, §3',
    needs: 'nothing',
    remedy: 'Guard the route without exceptions, and let the proxy remove headers that only it may set',
    ownCode: 'Decide by the route and the Authorization header, and by no other header',
  },
  {
    'empty-header': {
      sent: 'an empty Authorization header',
      ...each(...named('', 'Authorization'), ['Authorization', ' \t ']),
    },
    'other-headers': {
      sent: 'headers that name another URL or method, such as X-Original-URL and X-HTTP-Method-Override (CWE-290)',
      ...unlikeTheTarget([
        ...named('/', ...ofUrls).map((header): Attempt => ({ headers: [header] })),
        ...publicPaths.map((path): Attempt => ({ headers: named(path, ...ofUrls) })),
        ...['OPTIONS', 'HEAD', 'GET'].map((method): Attempt => ({ headers: named(method, ...ofMethods) })),
      ]),
    },
    'trusted-headers': {
      sent: 'all headers in which gateways name a user or a certificate (CWE-290)',
      ...rejected({
        headers: [
          ...named(
            'admin',
            'Remote-User',
            'X-Remote-User',
            'X-Forwarded-User',
            'X-Auth-Request-User',
            'X-WebAuth-User',
          ),
          ...named('admin', 'X-Authenticated-Userid', 'X-Consumer-Username', 'X-Amzn-Oidc-Identity'),
          ...named('admin@api.invalid', 'X-Goog-Authenticated-User-Email', 'X-MS-Client-Principal-Name'),
          ...named('SUCCESS', 'X-SSL-Client-Verify', 'X-Client-Verify'),
          ...named('true', 'X-Internal-Request', 'X-Authenticated'),
        ],
      }),
    },
    'private-headers': {
      sent: 'all headers by which services of one network often know each other, such as X-Internal: 1 (CWE-290)',
      ...rejected({ headers: named('1', ...ofServices) }, { headers: named('true', ...ofServices) }),
    },
    'trusted-addresses': {
      sent: 'all headers in which proxies name the client, with the address of this machine (CWE-290)',
      ...rejected({
        headers: [
          ...named('127.0.0.1', 'X-Forwarded-For', 'X-Real-IP', 'X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP'),
          ['Forwarded', 'for=127.0.0.1;host=localhost'],
          ['X-Forwarded-Host', 'localhost'],
          ['Origin', 'http://localhost'],
        ],
      }),
    },
    'health-check': {
      sent: 'the User-Agent of health checks (CWE-290)',
      ...each(['User-Agent', 'kube-probe/1.32 ELB-HealthChecker/2.0 GoogleHC/1.0']),
    },
    'default-password': {
      sent: 'Basic credentials of admin:admin (CWE-1392)',
      ...each(['Authorization', 'Basic YWRtaW46YWRtaW4=']),
    },
    'other-scheme': {
      sent: 'credentials of schemes that the API does not have',
      ...each(['Authorization', 'Negotiate YII='], ['Authorization', 'Digest username="admin"']),
      rule: 'RFC 9110 §11.6.2',
    },
    subrequest: {
      sent: 'x-middleware-subrequest, by which a middleware knows its own requests (CVE-2025-29927)',
      ...each(
        ...['middleware', 'src/middleware', 'pages/_middleware']
          .flatMap((name) => [name, Array(5).fill(name).join(':')])
          .map((value): Header => ['X-Middleware-Subrequest', value]),
      ),
    },
    'same-site': {
      sent: 'the headers of a page of the API itself: Origin, Referer, Sec-Fetch-Site, X-Requested-With (CWE-293)',
      ...finding('a rejection (4xx)', 1, (trial) => {
        const { origin } = new URL(trial.url);
        const own = [...named(origin, 'Origin'), ...named(`${origin}/`, 'Referer')];
        const page = [...named('same-origin', 'Sec-Fetch-Site'), ...named('XMLHttpRequest', 'X-Requested-With')];
        return rejects(trial, { headers: [...own, ...page] });
      }),
    },
    stream: { sent: 'a request for a stream of events', ...each(['Accept', 'text/event-stream']) },
    mcp: {
      sent: 'messages of MCP clients without a token: initialize, tools/list, both at once',
      ...rejected(call('initialize'), call('tools/list'), call('ping', 'tools/list')),
      ...inMcp,
    },
    'mcp-session': {
      sent: 'the ID of a session that a good token began, without a token',
      ...finding('a rejection (4xx)', 2, async (trial) => {
        const begun = await trial.send({ token: {}, ...call('initialize') });
        const session = begun.headers.get('mcp-session-id');
        if (!session) return { verdict: 'skipped', got: 'The server names no session' };
        const { headers = [], ...others } = call('tools/list');
        return rejects(trial, { ...others, headers: [...headers, ['Mcp-Session-Id', session]] });
      }),
      ...inMcp,
      needs: 'token',
    },
    preflight: {
      sent: 'the headers of a preflight with the method of the target',
      ...rejected({
        headers: [
          ['Origin', 'https://spa.invalid'],
          ['Access-Control-Request-Method', 'GET'],
        ],
      }),
    },
    range: { sent: 'a Range', ...each(['Range', 'bytes=0-0']), rule: 'RFC 9110 §14.2' },
    conditional: {
      sent: 'conditions that a stored response may meet',
      ...response(
        'a rejection, and not 304',
        [...named('*', 'If-None-Match'), ...named('Fri, 31 Dec 2049 23:59:59 GMT', 'If-Modified-Since')].map(
          (header): Attempt => ({ headers: [header] }),
        ),
        ({ status, outcome, words }) => (status === 304 || outcome === 'served' ? words : undefined),
      ),
      rule: 'RFC 9110 §13.2.1',
    },
    upgrade: {
      sent: 'an upgrade to WebSocket',
      ...finding('a rejection (4xx)', 2, async (trial) => {
        const { status, outcome, words } = await trial.send(upgrade);
        // A server that takes no upgrades may end the connection, or leave it without a response, as Next.js does.
        const isRejected = status === 0 ? (await trial.send({})).status > 0 : outcome === 'rejected';
        return { verdict: isRejected ? 'passed' : outcome === 'served' ? 'failed' : 'inconclusive', got: words };
      }),
      rule: 'RFC 6455 §4.2.2',
      remedy: 'Guard the upgrade, too: most middleware sees requests only',
      ownCode: 'Check the token in the handler of the upgrade, before it responds with 101',
    },
  },
);
