import type { Attempt } from '../row/row.ts';
import { refused, requests, response } from '../row/topic.ts';

// Requests without a token that mislead a guard, or what stands before it.

type Header = readonly [name: string, value: string];
const each = (...headers: readonly Header[]) => refused(...headers.map((header): Attempt => ({ headers: [header] })));
const named = (value: string, ...names: readonly string[]) => names.map((name): Header => [name, value]);
const upgrade: Attempt = {
  headers: [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'cHJvYmVkLXdlYnNvY2tldA=='],
  ],
};

export const anonymousRows = requests(
  'no-token',
  { rule: 'RFC 6750 §2, §3', needs: 'nothing', remedy: 'Guard the route, and every method and spelling of it' },
  {
    'empty-header': {
      sent: 'an empty Authorization header',
      ...each(...named('', 'Authorization'), ['Authorization', ' \t ']),
    },
    'other-headers': {
      sent: 'headers that name another URL or method: X-Original-URL, X-Forwarded-Uri, X-HTTP-Method-Override … (CWE-290)',
      ...each(
        ...named('/', 'X-Original-URL', 'X-Original-URI', 'X-Rewrite-URL', 'X-Forwarded-Uri', 'X-Forwarded-Prefix'),
        ...named('OPTIONS', 'X-HTTP-Method-Override', 'X-Forwarded-Method'),
      ),
    },
    'trusted-headers': {
      sent: 'all headers in which gateways name a user or a certificate (CWE-290)',
      ...refused({
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
    'trusted-addresses': {
      sent: 'all headers in which proxies name the client, with the address of this machine (CWE-290)',
      ...refused({
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
    preflight: {
      sent: 'the headers of a preflight with the method of the target',
      ...refused({
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
        'a refusal, and not 304',
        [...named('*', 'If-None-Match'), ...named('Fri, 31 Dec 2049 23:59:59 GMT', 'If-Modified-Since')].map(
          (header): Attempt => ({ headers: [header] }),
        ),
        ({ status, outcome, words }) => (status === 304 || outcome === 'served' ? words : undefined),
      ),
      rule: 'RFC 9110 §13.2.1',
    },
    upgrade: {
      sent: 'an upgrade to WebSocket',
      ...refused(upgrade),
      rule: 'RFC 6455 §4.2.2',
      remedy: 'Check the token before the upgrade, in the handler of the upgrade',
    },
  },
);
