import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { disguises } from '../auth/mcp/targets.ts';
import { exampleFixture, toService } from '../examples/server-rows.ts';
import { probed } from '../http/table/probed.ts';
import { freePort, type RunningProcess, untilReachable } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import type { TokenOverrides } from '../support/mint.ts';
import { bound, makeProof } from '../support/proof.ts';
import { listen, rawRequest } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { startCaddy, startNginx } from './proxies.ts';

const publicUrl = 'https://api.example.test';
const scope = 'read:messages';
const otherPaths = String.raw`
  //messages /messages//a /./messages /messages/. /messages/../admin /messages/.. /admin/../messages /messages;a=b /messages/..;/admin
  /messages%2fa /messages/%2e%2e/admin /messages/%2E./admin /messages/..%2fadmin /messages%00 /messages/%252e%252e/admin /%6dessages
  /messages/%c0%ae%c0%ae/admin /messages/é /messages\..\admin /messages#/../admin /Messages /messages.json /messagesadmin / /admin?/messages
  /.forward-auth //.forward-auth /.well-known/oauth-protected-resource/%2e%2e/%2e%2e/.forward-auth /auth`;

const spellings = (name: string) => [name, ...['_', '.', '~', '$'].map((mark) => name.replaceAll('-', mark))];
const reservedNames = [
  ...['X-Auth-Subject', 'X-Auth-Issuer', 'X-Auth-Client', 'X-Auth-Scopes'].flatMap(spellings),
  'X-Auth_Subject',
  'x-AUTH-subject',
  ...['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override', 'X-Original-URL', 'X-Rewrite-URL'],
];

/** What proxies add themselves. */
const ofProxy = ['host', 'connection', 'accept-encoding', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

interface Configured {
  readonly name: string;
  /** The language of its block on the page. */
  readonly language: string;
  /** Starts it with the text of the page, on this address. */
  readonly start: (text: string, frontend: string) => RunningProcess;
  /** The status while the endpoint cannot be reached. */
  readonly unreachable: number;
  readonly passesUpgrades: boolean;
  /** The names of headers that it removes. The endpoint gets the others, and rejects what no client may send. */
  readonly removes: RegExp;
  /** Lines that people add to the configuration, each after the first line that is named. */
  readonly added: Readonly<Record<string, readonly [after: string, lines: string]>>;
}

const API = 'http://127.0.0.1:8080';
const OWN_HEADER = 'proxy_set_header X-Real-IP $remote_addr;';

const proxies: readonly Configured[] = [
  {
    name: 'nginx',
    language: 'nginx',
    start: (text, frontend) => startNginx(text.replace('listen 80', `listen ${frontend}`)),
    unreachable: 503,
    passesUpgrades: false,
    removes: /[^a-z-]/i,
    added: {
      'another location': ['listen', `location /messages/v2 { proxy_pass ${API}; }`],
      'another location with a header': ['listen', `location /messages/v2 { ${OWN_HEADER} proxy_pass ${API}; }`],
      'a header in the location': ['location / {', OWN_HEADER],
      'a header in the check': ['internal;', OWN_HEADER],
      'underscores in headers': ['listen', 'underscores_in_headers on; ignore_invalid_headers off;'],
    },
  },
  {
    name: 'Caddy',
    language: 'text',
    start: (text, frontend) => {
      const [host, port] = frontend.split(':');
      return startCaddy(text.replace('api.example.com {', `http://:${port} {\n  bind ${host}`));
    },
    unreachable: 502,
    passesUpgrades: true,
    removes: /./,
    added: {
      'another route': ['# Add what else', 'handle /messages/v2* {\n reverse_proxy 127.0.0.1:8080\n}'],
      'a header in the proxy': ['# Add what else', 'request_header X-Real-IP {remote_host}'],
    },
  },
];

/**
 * Starts a proxy as the page configures it, with the example and an API, before the tests of the enclosing describe().
 */
function behind({ language, start }: Configured, [after, lines]: readonly [string, string] = ['', '']) {
  const fixture = exampleFixture('examples/forward-auth.ts', undefined, { DPOP: 'on', PUBLIC_URL: publicUrl });
  const started = startedFor(
    async () => {
      /** What the API got: targets, and the last headers. */
      const api = { targets: [] as string[], headers: {} as Record<string, unknown> };
      const server = createServer((request, response) => {
        api.targets.push(request.url ?? '');
        api.headers = request.headers;
        request.resume().on('end', () => response.end());
      });
      server.on('upgrade', ({ url = '', headers }, socket) => {
        api.targets.push(url);
        api.headers = headers;
        socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
      });
      const frontend = `127.0.0.1:${await freePort()}`;
      const page = await readText('docs/guides/forward-auth.md');
      const [, text = ''] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page) ?? [];
      const configuration = text
        .replace(new RegExp(`${after}.*\n`), (line) => `${line}${lines}\n`)
        .replaceAll('127.0.0.1:3010', new URL(fixture().service.origin).host)
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${await listen(server)}`);
      const proxy = start(configuration, frontend);
      await untilReachable(`http://${frontend}`, proxy);
      return { api, server, proxy, origin: `http://${frontend}` };
    },
    ({ server, proxy }) => {
      server.close();
      proxy.signal('SIGTERM');
      return proxy.finished;
    },
  );
  return { fixture, started };
}

describe.each(proxies)('examples/forward-auth.ts behind $name, as its page configures it', (configured) => {
  const { fixture, started } = behind(configured);

  /** Sends a request such as `GET /messages`, and returns the response with the targets that the API got for it. */
  async function send(request: string, lines: readonly string[] = []) {
    const { origin, api } = started();
    api.targets = [];
    const response = await rawRequest(origin, [`${request} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines]);
    return { response, status: response.status, targets: api.targets };
  }
  /** What the API got, besides what proxies add. */
  const ofUser = () =>
    Object.fromEntries(
      Object.entries(started().api.headers).filter(([name, value]) => value && !ofProxy.includes(name)),
    );
  const bearer = (claims: TokenOverrides['claims'] = {}, header = {}) =>
    `Authorization: Bearer ${fixture().mint({ claims: { scope, ...claims }, header })}`;

  test.each([
    ['GET /messages', '/messages'],
    ['HEAD /messages/2026/?a=//b/../c;d', '/messages/2026/?a=//b/../c;d'],
    ['GET http://b/messages/@me', '/messages/@me'],
  ])('%s is passed on as it was sent', async (request, target) =>
    expect(await send(request, [bearer()])).toMatchObject({ status: 200, targets: [target] }),
  );

  test.each(reservedNames)('%s of a client does not reach the API', async (name) => {
    const honest = { issuer: fixture().issuer.url, subject: 'ada', client: 'web', scopes: scope };
    for (const lines of [[`${name}: admin`], [`${name}:`, `${name}: admin`], [`${name}: 0`]]) {
      const { status, targets } = await send('GET /messages', [bearer({ sub: 'ada', azp: 'web' }), ...lines]);
      expect([status, targets]).toEqual(configured.removes.test(name) ? [200, ['/messages']] : [403, []]);
      if (status === 200)
        for (const [each, value] of Object.entries(honest)) expect(ofUser()[`x-auth-${each}`]).toBe(value);
      expect(Object.values(ofUser())).not.toContainEqual(expect.stringMatching(/^admin$|^0$|, /));
    }
  });

  test('the API gets the claims, and neither the token nor what the proxy tells the endpoint', async () => {
    const sent = ['DPoP', 'X-Forwarded-Method', 'X-Forwarded-Uri'].map((name) => `${name}: admin`);
    const passedOn = async (claims: TokenOverrides['claims']) => {
      expect((await send('GET /messages', [...sent, bearer(claims), ...sent])).targets).toEqual(['/messages']);
      return ofUser();
    };
    const injected = 'ada\r\nX-Auth-Client: admin, Jürgen 100%';
    expect(await passedOn({ scope: [scope, 'a admin', 'é'], sub: injected, azp: 'web|1' })).toEqual({
      'x-auth-issuer': fixture().issuer.url,
      'x-auth-subject': 'ada%0D%0AX-Auth-Client:%20admin,%20J%C3%BCrgen%20100%25',
      'x-auth-client': 'web|1',
      'x-auth-scopes': 'read:messages a%20admin %C3%A9',
    });
    expect(Object.keys(await passedOn({ sub: 'a\ud800' })).toSorted()).toEqual(['x-auth-issuer', 'x-auth-scopes']);
  });

  test.each<[lines: readonly string[]]>([
    [['Connection: X-Auth-Issuer, X-Auth-Subject, X-Auth-Scopes, X-Auth-Client']],
    [['Connection: close, x-AUTH-issuer,X-Auth-Subject']],
    [['Connection: X-Auth-Subject', 'Connection: X-Auth-Issuer']],
    [['Connection: Upgrade, X-Auth-Issuer', 'Upgrade: websocket']],
    [['Connection: X-Forwarded-Method, X-Forwarded-Uri']],
  ])('a client with %j takes no header from the API', async (lines) => {
    const { status, targets } = await send('GET /messages', [bearer({ azp: 'a' }), ...lines]);
    expect([targets, status || 101]).toEqual([
      ['/messages'],
      configured.passesUpgrades && lines.includes('Upgrade: websocket') ? 101 : 200,
    ]);
    const names = Object.keys(started().api.headers).filter((name) => name.startsWith('x-auth-'));
    expect(names.toSorted()).toEqual(['client', 'issuer', 'scopes', 'subject'].map((name) => `x-auth-${name}`));
  });

  const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;
  const once = new RegExp(`^Bearer scope="${scope}", ${metadata}, DPoP scope="${scope}", algs="[\\w ]+", ${metadata}$`);
  test.each<[name: string, status: number, challenge: RegExp, request: string, lines?: () => readonly string[]]>([
    ['no token', 401, once, 'GET /messages', () => []],
    ['a forged token', 401, /^Bearer error="invalid_token"/, 'GET /messages', () => [`${bearer()}x`]],
    ['two words', 400, /^Bearer error="invalid_request"/, 'GET /messages', () => [`${bearer()} x`]],
    ['another scope', 403, /^Bearer error="insufficient_scope".*scope="write:messages"/, 'POST /messages'],
    ['another method', 403, /^$/, 'DELETE /messages'],
    ['OPTIONS', 403, /^$/, 'OPTIONS /messages', () => ['Origin: https://a', 'Access-Control-Request-Method: GET']],
    ['a spoofed method', 403, /^$/, 'DELETE /messages', () => [bearer(), 'X-Forwarded-Method: GET']],
    ['a spoofed target', 403, /^$/, 'GET /admin', () => [bearer(), 'X-Forwarded-Uri: /messages']],
    ['a spoofed original', 403, /^$/, 'GET /admin', () => [bearer(), 'X-Original-URI: /messages']],
    ['an unknown key during an outage', 503, /^$/, 'GET /messages', () => [bearer({}, { kid: 'new' })]],
  ])('a request with %s is a %i, and is not passed on', async (name, status, challenge, request, lines) => {
    fixture().issuer.mode = { kind: 'response', status: 500 };
    const { response, ...sent } = await send(request, lines?.() ?? [bearer()]);
    expect(sent).toEqual({ status, targets: [] });
    expect(response.headers.get('www-authenticate') ?? '').toMatch(challenge);
    expect(response.headers.get('cache-control')).toBe('no-store');
    if (/outage/.test(name)) expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(await response.json()).toMatchObject({ error: expect.any(String) });
  });

  test('a claim of 15,000 characters is passed on whole', async () => {
    const { status } = await send('GET /messages', [bearer({ sub: 'é'.repeat(2500) })]);
    expect([status, ofUser()['x-auth-subject']]).toEqual([200, '%C3%A9'.repeat(2500)]);
  });

  test('cookies of 12,000 characters beside a long token reach the API, and not the endpoint', async () => {
    const cookie = `a=${'b'.repeat(12_000)}`;
    const { status } = await send('GET /messages', [bearer({ groups: 'x'.repeat(3000) }), `Cookie: ${cookie}`]);
    expect([status, ofUser().cookie]).toEqual([200, cookie]);
  });

  test('a query of 12,000 characters beside a long token reaches the API behind nginx', async () => {
    const target = `/messages?a=${'b'.repeat(12_000)}`;
    const { status, targets } = await send(`GET ${target}`, [bearer({ groups: 'x'.repeat(3000) })]);
    // Caddy sends the endpoint more than it reads.
    expect([status, targets]).toEqual(configured.name === 'nginx' ? [200, [target]] : [431, []]);
  });

  test('the API gets the address of the client, not one that the client names', async () => {
    await send('GET /messages', [bearer(), 'X-Forwarded-For: 192.0.2.1']);
    expect(started().api.headers['x-forwarded-for']).toBe('127.0.0.1');
  });

  test.each(otherPaths.trim().split(/\s+/))('GET %s is not passed on, nor checked as another path', async (path) => {
    const { status, targets } = await send(`GET ${path}`, [bearer(), 'X-Forwarded-Uri: /messages']);
    expect(targets).toEqual([]);
    // nginx itself rejects some.
    expect(status).toBeOneOf([400, 403, 404]);
  });

  test('the API gets no spelling of a path but the one that was checked', async () => {
    for (const target of disguises.map((each) => each.replaceAll('mcp', 'messages'))) {
      const { targets } = await send(`GET ${target}`, [bearer()]);
      // Of a URL without a host, the proxies themselves take the path.
      expect([target, targets.filter((each) => !/^\/messages(?:\/x(?:\?y)?)?\/?$/.test(each))]).toEqual([target, []]);
      expect([target, (await send(`GET ${target}`)).targets]).toEqual([target, []]);
    }
  });

  test('a proof is for the method and the URL of the original request, and is used once', async () => {
    const token = fixture().mint({ claims: { scope, cnf: bound } });
    const prove = (method: string, path: string) => [
      `Authorization: DPoP ${token}`,
      `DPoP: ${makeProof({ url: publicUrl + path, method, token })}`,
    ];
    const good = prove('HEAD', '/messages/1');
    const statuses: number[] = [];
    for (const lines of [prove('GET', '/messages/1'), prove('HEAD', '/auth'), good, good])
      statuses.push((await send('HEAD /messages/1?a=b', lines)).status);
    expect(statuses).toEqual([401, 401, 200, 401]);
  });

  test('the metadata are served, the check itself is not, and without the endpoint no request is passed on', async () => {
    expect((await send('GET /.forward-auth', [bearer()])).status).toBeOneOf([403, 404]);
    const { response } = await send('GET /.well-known/oauth-protected-resource');
    expect(await response.json()).toMatchObject({ resource: publicUrl, scopes_supported: [scope, 'write:messages'] });
    await fixture().service.close();
    expect(await send('GET /messages', [bearer()])).toMatchObject({ status: configured.unreachable, targets: [] });
  });
});

describe.each(proxies)('examples/forward-auth.ts behind $name', (configured) => {
  const { fixture, started } = behind(configured);

  test('lets an API withstand the probe', async () => {
    const fetch = (request: Request) => toService({ ...fixture().service, origin: started().origin }, request);
    const { report } = await probed(fixture(), { targets: [{ url: `${publicUrl}/messages`, scope }], fetch });
    expect(report.passed.length).toBeGreaterThan(250);
  });
});

const changed = proxies.flatMap((configured) =>
  Object.entries(configured.added).map(([what, lines]) => ({ configured, lines, what, name: configured.name })),
);

describe.each(changed)('behind $name with $what, the API', ({ configured, lines }) => {
  const { fixture, started } = behind(configured, lines);

  test.each(['/messages', '/messages/v2'])(
    'is asked for %s by no stranger, and gets no header that a client chose',
    async (path) => {
      const { origin, api } = started();
      const head = [`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close'];
      expect((await rawRequest(origin, head)).status).toBe(401);
      expect(api.targets).toEqual([]);
      // No claim replaces the client's X-Auth-Client.
      const token = `Authorization: Bearer ${fixture().mint({ claims: { scope, sub: 'ada' } })}`;
      expect((await rawRequest(origin, [...head, token])).status).toBe(200);
      expect(api.headers['x-auth-subject']).toBeOneOf(['ada', undefined]);
      for (const name of reservedNames)
        for (const sent of [[`${name}: admin`], [`${name}:`, `${name}: admin`]]) {
          api.headers = {};
          await rawRequest(origin, [...head, token, ...sent]);
          expect(JSON.stringify(api.headers)).not.toContain('admin');
        }
      api.targets = [];
    },
  );
});

describe.each(proxies)('behind $name, in which nginx has a limit of 4 MB for bodies, the API', (configured) => {
  const limit = configured.name === 'nginx' ? 'client_max_body_size 4m;' : '';
  const { fixture, started } = behind(configured, ['location / {', limit]);

  test('gets a body of 2 MB, and none of a stranger', async () => {
    const body = new Uint8Array(2_000_000);
    const post = async (authorization: string) =>
      (await fetch(`${started().origin}/messages`, { method: 'POST', headers: { authorization }, body })).status;
    expect(await post(`Bearer ${fixture().mint({ claims: { scope: 'write:messages' } })}`)).toBe(200);
    expect([await post('Bearer a'), started().api.targets]).toEqual([401, ['/messages']]);
  });
});

describe.each(proxies)('behind $name, in which nginx caches all responses and intercepts errors', (configured) => {
  const cache = 'proxy_cache_path cache keys_zone=all:1m; proxy_cache all; proxy_cache_valid any 1m;';
  const lines =
    configured.name === 'nginx' ? `${cache} proxy_ignore_headers Cache-Control; proxy_intercept_errors on;` : '';
  const { fixture, started } = behind(configured, ['# nginx itself', lines]);

  test('no client gets the decision about another', async () => {
    const authorization = `Bearer ${fixture().mint({ claims: { scope } })}`;
    const get = (headers = {}) => fetch(`${started().origin}/messages`, { headers });
    const responses = [await get({ authorization }), await get(), await get({ authorization })];
    expect(responses.map(({ status }) => status)).toEqual([200, 401, 200]);
    expect(responses[1]?.headers.get('www-authenticate')).toStartWith('Bearer ');
    const original = { 'x-forwarded-method': 'GET', 'x-forwarded-uri': '/messages' };
    const decision = await fetch(`${fixture().service.origin}/auth`, { headers: { ...original, authorization } });
    expect([decision.status, decision.headers.get('cache-control')]).toEqual([204, 'no-store']);
  });
});
