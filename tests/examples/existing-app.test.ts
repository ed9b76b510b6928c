import { describe, expect, test } from 'bun:test';
import { bearer } from '../support/mint.ts';
import { exampleFixture } from './server-rows.ts';

interface Request extends RequestInit {
  readonly path: string;
  /** The scopes of the token; no token without it. */
  readonly scope?: string;
}
const order = (item: unknown): Request => ({
  path: '/orders',
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ item }),
});
const write = 'write:orders';
const problem = (status: number, title: unknown) => ({ type: 'about:blank', status, title });
const missing = problem(401, 'Authorization header is expected');
const denied = problem(403, 'Token does not have the scope that this resource requires');

const rows: readonly (readonly [name: string, request: Request, status: number, body: unknown, challenge?: string])[] =
  [
    ['a public route', { path: '/health' }, 200, 'ok'],
    ['a preflight', { path: '/orders', method: 'OPTIONS' }, 204, ''],
    ['a token', { path: '/orders', scope: '' }, 200, { customer: 'client-1', orders: [] }],
    ['the scope', { ...order('tea'), scope: write }, 201, { item: 'tea' }],
    ['no token', { path: '/orders?access_token=secret' }, 401, missing, 'Bearer'],
    ['no scope', { ...order('tea'), scope: '' }, 403, denied, 'error="insufficient_scope"'],
    ['a wrong body', { ...order(1), scope: write }, 422, problem(422, 'Cannot handle the request: VALIDATION')],
    ['no such path', { path: '/nothing' }, 404, problem(404, 'Cannot handle the request: NOT_FOUND')],
  ];

describe('examples/existing-app.ts', () => {
  const fixture = exampleFixture('examples/existing-app.ts');

  for (const [name, { path, scope, ...init }, status, body, challenge = ''] of rows)
    test(`responds to ${init.method ?? 'GET'} ${path} with ${name}: ${status}`, async () => {
      const token = scope === undefined ? {} : bearer(fixture().mint({ claims: { scope } }));
      const headers = { origin: 'https://spa.example.test', ...init.headers, ...token };
      const response = await fixture().service.fetch(path, { ...init, headers });
      const text = await response.text();
      expect(response.status).toBe(status);
      expect(typeof body === 'string' ? text : JSON.parse(text)).toEqual(body);
      expect(response.headers.get('access-control-allow-origin')).toBe('https://spa.example.test');
      expect(response.headers.get('www-authenticate') ?? '').toContain(challenge);
      expect(fixture().service.output()).not.toContain('secret');
    });
});
