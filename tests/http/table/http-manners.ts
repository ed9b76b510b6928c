import { describe, expect, test } from 'bun:test';
import { expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import { type Fixture, PRIVATE, SCOPED } from '../../support/fixture.ts';
import { bearer } from '../../support/mint.ts';
import { exchange, rawGet, rawRequest } from '../../support/raw-http.ts';

const PUBLIC = '/api/public';
const PATHS = [PUBLIC, PRIVATE, SCOPED];
const UNKNOWN = [
  ...['/nothing', '/api', '/api/nothing', '/api/public/', '/api/private/', '/api/private/deeper', '/api/publicly'],
  ...['/__proto__', '/%', '/%ff', '/oauth/token'],
];

function messages(fixture: () => Fixture): void {
  test('each endpoint returns its own message as JSON', async () => {
    const told = new Set<string>();
    for (const path of PATHS) told.add(await expectMessage(await fixture().get(path, fixture().mint())));
    expect(told.size).toBe(PATHS.length);
  });

  test('the public endpoint requires no token, and a query changes nothing', async () => {
    for (const path of [PUBLIC, `${PUBLIC}?a=1&a=2&b`]) await expectMessage(await fixture().service.fetch(path));
    await expectMessage(await fixture().get(`${SCOPED}?a=1`, fixture().mint()));
  });

  test('the public endpoint requires no token, whatever the Authorization header is', async () => {
    for (const value of ['', 'Basic dTpw', 'Bearer', 'Bearer x, Bearer y', 'Bearer\u00a0x'])
      await expectMessage(await rawGet(fixture().service.origin, PUBLIC, [`Authorization: ${value}`]));
  });

  test('a token is accepted with tabs and spaces around it', async () => {
    for (const line of ['Authorization:  \t Bearer \t \t TOKEN\t ', 'Authorization:Bearer TOKEN'])
      await expectMessage(await rawGet(fixture().service.origin, SCOPED, [line.replace('TOKEN', fixture().mint())]));
  });

  test('a token of 15,000 characters is accepted: the server limits all headers to 16 KiB', async () => {
    const tokenOf = (claims: number) => fixture().mint({ claims: { note: 'n'.repeat(claims) } });
    const room = Math.floor(((15_000 - tokenOf(0).length) * 3) / 4);
    expect(tokenOf(room).length).toBeGreaterThan(14_990);
    await expectMessage(await fixture().get(PRIVATE, tokenOf(room)));
    // In one process, there is no server in between.
    expect([401, 431]).toContain((await fixture().get(PRIVATE, tokenOf(2 * room))).status);
  });

  for (const path of PATHS)
    test(`HEAD ${path} has the status and headers of GET, and no body`, async () => {
      for (const headers of [bearer(fixture().mint()), {}]) {
        const get = await fixture().service.fetch(path, { headers });
        const head = await fixture().service.fetch(path, { method: 'HEAD', headers });
        expect(head.status).toBe(get.status);
        for (const name of ['content-type', 'cache-control', 'www-authenticate', 'access-control-allow-origin'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
        expect([await head.text(), (await get.text()) === '']).toEqual(['', false]);
      }
    });

  test('HEAD on an unknown path is 404 without a body', async () => {
    // Over a connection in every form, because the server omits the body.
    const response = await fetch(`${fixture().service.origin}/nothing`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([404, '']);
  });
}

function rejections(fixture: () => Fixture): void {
  for (const path of PATHS)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      test(`${method} ${path} is a 405 with Allow, with and without a token`, async () => {
        for (const headers of [bearer(fixture().mint()), {}]) {
          const response = await fixture().service.fetch(path, { method, headers });
          expect(response.headers.get('allow')).toMatch(/^GET, HEAD(?:, OPTIONS)?$/);
          if (path !== PUBLIC) expectProtected(response);
          await expectError(response, 405, 'method_not_allowed');
        }
      });

  for (const path of UNKNOWN)
    test(`${path} is not found, with and without a token, for any method`, async () => {
      for (const method of ['GET', 'POST', 'DELETE'])
        for (const headers of [bearer(fixture().mint()), {}])
          await expectError(await fixture().service.fetch(path, { method, headers }), 404, 'not_found');
    });
}

/** Over a connection in every form, because no Request can be made from these. */
function rawRequests(fixture: () => Fixture): void {
  const send = (...lines: readonly string[]) => rawRequest(fixture().service.origin, lines);

  test('the names of headers are written as the standards write them', async () => {
    const port = Number(new URL(fixture().service.origin).port);
    for (const request of [`GET ${PRIVATE}`, `POST ${PRIVATE}`, `OPTIONS ${PUBLIC}`, 'GET /nothing']) {
      const { text } = await exchange(port, `${request} HTTP/1.1\r\nHost: a\r\nX-Request-Id: b\r\n\r\n`);
      const names = [...text.matchAll(/^([\w-]+): /gm)].map(([, name]) => name);
      expect(names.filter((name = '') => !/^(?:[A-Z][a-z]+|WWW|Id|X)(?:-(?:[A-Z][a-z]+))*$/.test(name))).toEqual([]);
    }
  });

  // Bun treats the bytes after a CONNECT as a tunnel, and the trailer of a chunked body as another request.
  for (const [request, status] of [
    ['CONNECT service.example.test:80', 404],
    [`CONNECT ${PRIVATE}`, 405],
    ...['GET', 'HEAD', 'OPTIONS'].map((method) => [`${method} ${PUBLIC}`, 200] as const),
    [`POST ${PUBLIC}`, 405],
  ] as const)
    test(`the response to ${request}, chunked unless it is a CONNECT, is a ${status} and the last of its connection`, async () => {
      const chunks = request.startsWith('CONNECT') ? [] : ['Transfer-Encoding: chunked', '', '0'];
      const response = await send(`${request} HTTP/1.1`, 'Host: a', ...chunks);
      expect(response.headers.get('connection')).toBe('close');
      if (status === 200) expect(response.ok).toBe(true);
      else await expectError(response, status, status === 404 ? 'not_found' : 'method_not_allowed');
    });
}

/** Rows on methods, paths and the headers of every response. */
export function httpMannersRows(fixture: () => Fixture): void {
  describe('over HTTP', () => {
    messages(fixture);
    rejections(fixture);
    rawRequests(fixture);

    test('/livez is 200, and /readyz once keys are cached', async () => {
      await expectMessage(await fixture().get(PRIVATE, fixture().mint()));
      for (const path of ['/livez', '/readyz'])
        for (const method of ['GET', 'HEAD', 'OPTIONS'])
          expect((await fixture().service.fetch(path, { method })).status).toBe(200);
    });

    test('a preflight of /readyz is one, and OPTIONS of another path is the 204 of a preflight', async () => {
      const origin = { origin: 'https://a.test' };
      const preflight = { ...origin, 'access-control-request-method': 'GET' };
      for (const [path, headers] of [['/readyz', preflight] as const, [PRIVATE, origin] as const]) {
        const response = await fixture().service.fetch(path, { method: 'OPTIONS', headers });
        expect([response.status, response.headers.get('access-control-allow-methods')]).toEqual([204, 'GET, HEAD']);
      }
    });
  });
}
