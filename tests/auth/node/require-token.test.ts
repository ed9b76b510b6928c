import { describe, expect, test } from 'bun:test';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createGuard } from '../../../src/auth/guard.ts';
import { authOf, checkIncoming, requireToken } from '../../../src/auth/node.ts';
import { createTestIssuer } from '../../../src/auth/testing.ts';
import type { Claims } from '../../../src/auth/token/claims.ts';

const guard = createGuard((await createTestIssuer()).options);

function withoutConnection(method = 'GET', url = '/', rawHeaders: string[] = []) {
  const request = Object.assign(new IncomingMessage(new Socket()), { method, url, rawHeaders });
  return { request, response: new ServerResponse(request) };
}

describe('checkIncoming()', () => {
  test.each([
    ['CONNECT', 'api.example.test:443'],
    ['OPTIONS', '*'],
    ['TRACE', '//'],
  ])('rejects %s %s without a token', async (method, url) => {
    const { request, response } = withoutConnection(method, url);
    expect(await checkIncoming(guard, request, response)).toBeUndefined();
    expect(response.statusCode).toBe(401);
  });

  test('keeps Vary of the application', async () => {
    const { request, response } = withoutConnection('GET', '/', ['Authorization', 'Bearer x']);
    response.setHeader('vary', 'Origin');
    expect(await checkIncoming(guard, request, response, { optional: true })).toBeUndefined();
    expect(response.getHeader('vary')).toBe('Origin, Authorization');
  });

  test('sends nothing if a response was sent meanwhile', async () => {
    const { request, response } = withoutConnection();
    response.writeHead(503).end();
    expect(await checkIncoming(guard, request, response)).toBeUndefined();
    expect(response.statusCode).toBe(503);
  });

  test('rejects with a TypeError for the request of a framework', async () => {
    const { request, response } = withoutConnection();
    const own = { raw: request } as unknown as typeof request;
    await expect(checkIncoming(guard, own, response)).rejects.toThrow('request.raw in Fastify');
  });
});

test('authOf() returns no claims of a request without a token where that is optional', async () => {
  const { request, response } = withoutConnection();
  expect(() => authOf(request)).toThrow(TypeError);
  await checkIncoming(guard, request, response, { optional: true });
  expect(authOf<Claims | undefined>(request).claims).toBeUndefined();
});

test.each([{ scope: '' }, { optional: 'false' }])('requireToken() throws a TypeError for %j', (requirements) =>
  expect(() => requireToken(guard, requirements as { scope: string })).toThrow(TypeError),
);
