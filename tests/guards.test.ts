import { describe, expect, test } from 'bun:test';
import { createTestApp } from './support/test-app.ts';

/** Every route that needs no token. One that is neither listed here nor guarded fails the build. */
const openRoutes = new Set([
  'GET /',
  'GET /api/public',
  'GET /livez',
  'OPTIONS /livez',
  'GET /readyz',
  'OPTIONS /readyz',
  'GET /.well-known/oauth-protected-resource',
  'HEAD /.well-known/oauth-protected-resource',
  'OPTIONS /.well-known/oauth-protected-resource',
  'GET /openapi',
  'GET /openapi/json',
  'GET /openapi/page.js',
  'GET /openapi/request.js',
  'GET /openapi/token.js',
]);

const { app, get } = createTestApp({ options: { publicUrl: 'https://api.example.test' }, hasDocumentation: true });
const guarded = app.routes.filter(({ method, path }) => !openRoutes.has(`${method} ${path}`));

describe('createApp()', () => {
  test('has the protected routes of the specification', () =>
    expect(guarded.map(({ path }) => path)).toEqual(expect.arrayContaining(['/api/private', '/api/private-scoped'])));

  test('describes each route for the OpenAPI document, with the schema of its response', () => {
    const described = app.routes.filter(({ hooks }) => !hooks.detail?.hide);
    expect(described.length).toBeGreaterThanOrEqual(3);
    const isText = expect.stringMatching(/\w/);
    for (const { path, hooks } of described) {
      expect(hooks.detail, path).toMatchObject({ operationId: isText, summary: isText, description: isText });
      expect(hooks.response, path).toHaveProperty('200');
    }
  });

  for (const { method, path } of guarded)
    for (const sent of method === 'GET' ? ['GET', 'HEAD'] : [method])
      for (const [token, headers, challenge] of [
        ['without a token', {}, /^Bearer/],
        ['with an invalid token', { authorization: 'Bearer e30.e30.e30' }, /error="invalid_token"/],
      ] as const)
        test(`rejects ${sent} ${path} ${token}`, async () => {
          const response = await get(path.replace(/[:*][^/]*/g, 'x'), { method: sent, headers });
          expect(response.status).toBe(401);
          expect(response.headers.get('www-authenticate')).toMatch(challenge);
          expect(response.headers.get('cache-control')).toBe('no-store');
        });
});
