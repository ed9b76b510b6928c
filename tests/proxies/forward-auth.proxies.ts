import { describe, expect, test } from 'bun:test';
import { createServer } from 'node:http';
import { exampleFixture, toService } from '../examples/server-rows.ts';
import { probed } from '../http/table/probed.ts';
import { freePort, untilReachable } from '../support/child-process.ts';
import { startedFor } from '../support/fixture.ts';
import type { TokenOverrides } from '../support/mint.ts';
import { bound, makeProof } from '../support/proof.ts';
import { listen, rawRequest } from '../support/raw-http.ts';
import { readText } from '../support/repository.ts';
import { startNginx } from './proxies.ts';

const publicUrl = 'https://api.example.test';
const scope = 'read:reports';
const otherPaths = String.raw`
  //reports /reports//a /./reports /reports/. /reports/../admin /reports/.. /admin/../reports /reports;a=b /reports/..;/admin
  /reports%2fa /reports/%2e%2e/admin /reports/%2E./admin /reports/..%2fadmin /reports%00 /reports/%252e%252e/admin /%72eports
  /reports/%c0%ae%c0%ae/admin /reports/é /reports\..\admin /reports#/../admin /Reports /reports.json /reportsadmin / /admin?/reports
  /.forward-auth //.forward-auth /.well-known/oauth-protected-resource/%2e%2e/%2e%2e/.forward-auth /auth`;

/** Starts nginx as the page configures it, with the example and an API, before the tests of the enclosing describe(). */
function behindNginx() {
  const fixture = exampleFixture('examples/forward-auth.ts', undefined, { DPOP: 'on', PUBLIC_URL: publicUrl });
  const started = startedFor(
    async () => {
      /** What the API got: targets, and the last headers. */
      const api = { targets: [] as string[], headers: {} as Record<string, unknown> };
      const server = createServer(({ url = '', headers }, response) => {
        api.targets.push(url);
        api.headers = headers;
        response.end();
      });
      const frontend = `127.0.0.1:${await freePort()}`;
      const [, text = ''] = /```nginx\n(.*?)```/s.exec(await readText('docs/guides/forward-auth.md')) ?? [];
      const conf = text
        .replace('listen 80', `listen ${frontend}`)
        .replaceAll('127.0.0.1:3010', new URL(fixture().service.origin).host)
        .replace('127.0.0.1:8080', `127.0.0.1:${await listen(server)}`);
      const proxy = startNginx(conf);
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

describe('examples/forward-auth.ts behind nginx, as its page configures it', () => {
  const { fixture, started } = behindNginx();

  /** Sends a request such as `GET /reports`, and returns the response with the targets that the API got for it. */
  async function send(request: string, lines: readonly string[] = []) {
    const { origin, api } = started();
    api.targets = [];
    const response = await rawRequest(origin, [`${request} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines]);
    return { response, status: response.status, targets: api.targets };
  }
  const bearer = (claims: TokenOverrides['claims'] = {}, header = {}) =>
    `Authorization: Bearer ${fixture().mint({ claims: { scope, ...claims }, header })}`;

  test.each([
    ['GET /reports', '/reports'],
    ['HEAD /reports/2026/?a=//b/../c;d', '/reports/2026/?a=//b/../c;d'],
    ['GET http://b/reports/@me', '/reports/@me'],
  ])('%s is passed on as it was sent', async (request, target) =>
    expect(await send(request, [bearer()])).toMatchObject({ status: 200, targets: [target] }),
  );

  test('the API gets the claims, and nothing that the client sent in their names or to change method or path', async () => {
    const names = ['X-Auth-Subject', 'X-Auth-Issuer', 'X-Auth-Client', 'X-Auth-Scopes', 'x_auth_subject', 'DPoP'];
    const forwarded = ['X-Forwarded-Method', 'X-Forwarded-Uri', 'X-Original-URL', 'X-Rewrite-URL'];
    const methods = ['X-HTTP-Method', 'X-HTTP-Method-Override', 'X-Method-Override'];
    const spoofed = [...names, ...forwarded, ...methods].map((name) => `${name}: admin`);
    const passedOn = async (claims: TokenOverrides['claims']) => {
      expect((await send('GET /reports', [...spoofed, bearer(claims), ...spoofed])).targets).toEqual(['/reports']);
      const { host, connection, ...headers } = started().api.headers;
      return headers;
    };
    const injected = 'ada\r\nX-Auth-Client: admin, Jürgen 100%';
    expect(await passedOn({ scope: [scope, 'a admin', 'é'], sub: injected, azp: 'web|1' })).toEqual({
      'x-auth-issuer': fixture().issuer.url,
      'x-auth-subject': 'ada%0D%0AX-Auth-Client:%20admin,%20J%C3%BCrgen%20100%25',
      'x-auth-client': 'web|1',
      'x-auth-scopes': 'read:reports a%20admin %C3%A9',
    });
    expect(Object.keys(await passedOn({ sub: 'a\ud800' }))).toEqual(['x-auth-issuer', 'x-auth-scopes']);
  });

  const metadata = `resource_metadata="${publicUrl}/.well-known/oauth-protected-resource"`;
  const once = new RegExp(`^Bearer scope="${scope}", ${metadata}, DPoP scope="${scope}", algs="[\\w ]+", ${metadata}$`);
  test.each<[name: string, status: number, challenge: RegExp, request: string, lines?: () => readonly string[]]>([
    ['no token', 401, once, 'GET /reports', () => []],
    ['a forged token', 401, /^Bearer error="invalid_token"/, 'GET /reports', () => [`${bearer()}x`]],
    ['two words', 400, /^Bearer error="invalid_request"/, 'GET /reports', () => [`${bearer()} x`]],
    ['another scope', 403, /^Bearer error="insufficient_scope".*scope="write:reports"/, 'POST /reports'],
    ['another method', 403, /^$/, 'DELETE /reports'],
    ['OPTIONS', 403, /^$/, 'OPTIONS /reports', () => ['Origin: https://a', 'Access-Control-Request-Method: GET']],
    ['a spoofed method', 403, /^$/, 'DELETE /reports', () => [bearer(), 'X-Forwarded-Method: GET']],
    ['a spoofed target', 403, /^$/, 'GET /admin', () => [bearer(), 'X-Forwarded-Uri: /reports']],
    ['a spoofed original', 403, /^$/, 'GET /admin', () => [bearer(), 'X-Original-URI: /reports']],
    ['a claim that fits no header', 503, /^$/, 'GET /reports', () => [bearer({ sub: 'é'.repeat(2500) })]],
    ['an unknown key during an outage', 503, /^$/, 'GET /reports', () => [bearer({}, { kid: 'new' })]],
  ])('a request with %s is a %i, and is not passed on', async (name, status, challenge, request, lines) => {
    fixture().issuer.mode = { kind: 'response', status: 500 };
    const { response, ...sent } = await send(request, lines?.() ?? [bearer()]);
    expect(sent).toEqual({ status, targets: [] });
    expect(response.headers.get('www-authenticate') ?? '').toMatch(challenge);
    expect(response.headers.get('cache-control')).toBe('no-store');
    if (/outage/.test(name)) expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    if (!/fits/.test(name)) expect(await response.json()).toMatchObject({ error: expect.any(String) });
  });

  test.each(otherPaths.trim().split(/\s+/))('GET %s is not passed on, nor checked as another path', async (path) => {
    const { status, targets } = await send(`GET ${path}`, [bearer(), 'X-Forwarded-Uri: /reports']);
    expect(targets).toEqual([]);
    // nginx itself rejects some.
    expect(status).toBeOneOf([400, 403, 404]);
  });

  test('a proof is for the method and the URL of the original request, and is used once', async () => {
    const token = fixture().mint({ claims: { scope, cnf: bound } });
    const prove = (method: string, path: string) => [
      `Authorization: DPoP ${token}`,
      `DPoP: ${makeProof({ url: publicUrl + path, method, token })}`,
    ];
    const good = prove('HEAD', '/reports/1');
    const statuses: number[] = [];
    for (const lines of [prove('GET', '/reports/1'), prove('HEAD', '/auth'), good, good])
      statuses.push((await send('HEAD /reports/1?a=b', lines)).status);
    expect(statuses).toEqual([401, 401, 200, 401]);
  });

  test('the metadata are served, the check itself is not, and without the endpoint every request is a 503', async () => {
    expect((await send('GET /.forward-auth', [bearer()])).status).toBe(404);
    const { response } = await send('GET /.well-known/oauth-protected-resource');
    expect(await response.json()).toMatchObject({ resource: publicUrl, scopes_supported: [scope, 'write:reports'] });
    await fixture().service.close();
    expect(await send('GET /reports', [bearer()])).toMatchObject({ status: 503, targets: [] });
  });
});

describe('examples/forward-auth.ts behind nginx', () => {
  const { fixture, started } = behindNginx();

  test('lets an API withstand the probe', async () => {
    const fetch = (request: Request) => toService({ ...fixture().service, origin: started().origin }, request);
    const { report } = await probed(fixture(), { targets: [{ url: `${publicUrl}/reports`, scope }], fetch });
    expect(report.passed.length).toBeGreaterThan(250);
  });
});
