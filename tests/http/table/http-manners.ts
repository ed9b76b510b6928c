import { describe, expect, test } from 'bun:test';
import { expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import { bearer, type Fixture } from '../../support/fixture.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

const PUBLIC = '/api/public';
const PATHS = [PUBLIC, PRIVATE, SCOPED];

/** Spellings near a guarded path: whether they lead there or nowhere is open, that they lead past the guard is not. */
const NEAR_GUARDED = [
  ...['/api/private//', '//api/private', '/api//private', '/api/./private', '/api/x/../private', '/API/private'],
  ...['/api/PRIVATE', '/api/%70rivate', '/api/private%2F', '/api%2Fprivate', '/api/private;x', '/api/private%00'],
  ...['/api/private.json', '/api/private-scoped/', '/api/private-scoped%20'],
];
const UNKNOWN = [
  ...['/nothing', '/api', '/api/nothing', '/api/public/', '/api/private/', '/api/private/deeper', '/api/publicly'],
  ...['/__proto__', '/%', '/%ff'],
];

function messages(fixture: () => Fixture): void {
  test('each endpoint returns its own message as JSON', async () => {
    const told = new Set<string>();
    for (const path of PATHS) told.add(await expectMessage(await fixture().get(path, fixture().mint())));
    expect(told.size).toBe(PATHS.length);
  });

  test('the public endpoint requires no token', async () => {
    await expectMessage(await fixture().service.fetch(PUBLIC));
  });

  test('a query changes nothing', async () => {
    await expectMessage(await fixture().service.fetch(`${PUBLIC}?a=1&a=2&b`));
    await expectMessage(await fixture().get(`${SCOPED}?a=1`, fixture().mint()));
  });

  for (const path of PATHS) {
    test(`HEAD ${path} has the status and headers of GET, and no body`, async () => {
      for (const headers of [bearer(fixture().mint()), {}]) {
        const [get, head] = await Promise.all(
          ['GET', 'HEAD'].map((method) => fixture().service.fetch(path, { method, headers })),
        );
        expect(head?.status).toBe(get?.status ?? 0);
        for (const name of ['content-type', 'cache-control', 'www-authenticate', 'access-control-allow-origin'])
          expect(head?.headers.get(name)).toBe(get?.headers.get(name) ?? null);
        expect(await head?.text()).toBe('');
        expect(await get?.text()).not.toBe('');
      }
    });
  }
}

function wrongMethods(fixture: () => Fixture): void {
  for (const path of PATHS) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      test(`${method} ${path} is answered with 405 and Allow, with and without a token`, async () => {
        for (const headers of [bearer(fixture().mint()), {}]) {
          const response = await fixture().service.fetch(path, { method, headers });
          const allowed = (response.headers.get('allow') ?? '').split(/, */).filter((name) => name !== 'OPTIONS');
          expect(allowed.sort()).toEqual(['GET', 'HEAD']);
          if (path !== PUBLIC) expectProtected(response);
          await expectError(response, 405, 'method_not_allowed');
        }
      });
    }
  }
}

function unknownPaths(fixture: () => Fixture): void {
  for (const path of UNKNOWN) {
    test(`${path} is not found, with and without a token, for any method`, async () => {
      for (const method of ['GET', 'POST', 'DELETE']) {
        for (const headers of [bearer(fixture().mint()), {}])
          await expectError(await fixture().service.fetch(path, { method, headers }), 404, 'not_found');
      }
    });
  }

  test('HEAD on an unknown path is 404 without a body', async () => {
    // Over a connection in every form: it is the server that leaves a body out.
    const response = await fetch(`${fixture().service.origin}/nothing`, { method: 'HEAD' });
    expect(response.status).toBe(404);
    expect(await response.text()).toBe('');
  });

  for (const path of NEAR_GUARDED) {
    test(`${path} rejects requests without a token`, async () => {
      const { status } = await fixture().service.fetch(path);
      expect([400, 401, 404]).toContain(status);
    });
  }
}

/** Sends a body in chunks, without a Content-Length. */
const inChunks = (body: string) => ({ body: new Blob([body]).stream(), duplex: 'half' }) as RequestInit;
const withLength = (body: string): RequestInit => ({ body });

function bodies(fixture: () => Fixture): void {
  const limit = 64 * 1024;
  for (const { name, send } of [
    { name: 'of known length', send: withLength },
    { name: 'in chunks', send: inChunks },
  ]) {
    for (const path of [...PATHS, '/nothing']) {
      test(`a body ${name} of more than 64 KiB to ${path} is refused, and readable for pages of any origin`, async () => {
        for (const size of [limit + 1, 8 * limit]) {
          const init = { method: 'POST', ...send('x'.repeat(size)) };
          await expectError(await fixture().service.fetch(path, init), 413, 'payload_too_large');
        }
      });
    }

    test(`a body ${name} of 64 KiB is not too large`, async () => {
      const response = await fixture().service.fetch(PUBLIC, { method: 'POST', ...send('x'.repeat(limit)) });
      await expectError(response, 405, 'method_not_allowed');
    });
  }
}

/** Over a connection in every form: no Request can be made of these. */
function rawRequests(fixture: () => Fixture): void {
  for (const { line, status, code, allow } of [
    { line: 'CONNECT service.example.test:80 HTTP/1.1', status: 404, code: 'not_found', allow: null },
    { line: `CONNECT ${PRIVATE} HTTP/1.1`, status: 405, code: 'method_not_allowed', allow: 'GET, HEAD' },
  ]) {
    test(`${line} is answered with ${status}, and the connection is closed`, async () => {
      const headers = ['Host: service.example.test', 'Transfer-Encoding: chunked'];
      const { response } = await rawRequest(fixture().service.origin, [line, ...headers]);
      if (response === undefined) throw new TypeError('The connection was closed without an answer');
      expect(response.headers.get('connection')).toBe('close');
      expect(response.headers.get('allow')).toBe(allow);
      await expectError(response, status, code);
    });
  }

  for (const { path, status } of [
    { path: PUBLIC, status: 200 },
    { path: PRIVATE, status: 401 },
    { path: '/nothing', status: 404 },
  ]) {
    test(`HTTP/1.0 without a Host: ${path} is answered with ${status}`, async () => {
      expect((await rawRequest(fixture().service.origin, [`GET ${path} HTTP/1.0`])).status).toBe(status);
    });
  }
}

function probes(fixture: () => Fixture): void {
  test('/livez is 200 while the service is running', async () => {
    expect((await fixture().service.fetch('/livez')).status).toBe(200);
  });

  test('/readyz is 200 once keys are cached', async () => {
    await expectMessage(await fixture().get(PRIVATE, fixture().mint()));
    expect((await fixture().service.fetch('/readyz')).status).toBe(200);
  });
}

/** Rows on methods, paths and what every answer has. */
export function httpMannersRows(fixture: () => Fixture): void {
  describe('over HTTP', () => {
    messages(fixture);
    wrongMethods(fixture);
    unknownPaths(fixture);
    bodies(fixture);
    rawRequests(fixture);
    probes(fixture);
  });
}
