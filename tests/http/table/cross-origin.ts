import { describe, expect, test } from 'bun:test';
import { expectCrossOrigin, expectPreflight, expectProtected } from '../../support/expect-error.ts';
import { type Fixture, PRIVATE, SCOPED } from '../../support/fixture.ts';
import { bearer } from '../../support/mint.ts';

const ORIGIN = 'https://spa.example.test';

type Claims = Readonly<Record<string, unknown>>;
const rows: readonly (readonly [status: number, method: string, path: string, claims?: Claims])[] = [
  [200, 'GET', '/api/public'],
  [200, 'GET', PRIVATE, {}],
  [200, 'GET', SCOPED, {}],
  [401, 'GET', PRIVATE],
  [401, 'GET', SCOPED, { exp: 1 }],
  [403, 'GET', SCOPED, { scope: '' }],
  [404, 'GET', '/api/nothing'],
  [405, 'POST', '/api/public'],
  [405, 'DELETE', PRIVATE],
];

/** Rows on what a page of another origin may do. */
export function crossOriginRows(fixture: () => Fixture): void {
  describe('a page of another origin', () => {
    for (const [status, method, path, claims] of rows)
      for (const origin of [ORIGIN, 'null', undefined])
        test(`may read the ${status} of ${path} from origin ${origin}`, async () => {
          const headers = { ...(claims && bearer(fixture().mint({ claims }))), ...(origin && { origin }) };
          const response = await fixture().service.fetch(path, { method, headers });
          expect(response.status).toBe(status);
          expectCrossOrigin(response);
          if (path !== '/api/public' && status !== 404) expectProtected(response);
        });

    for (const path of ['/api/public', PRIVATE, SCOPED, '/api/nothing', '/nothing'])
      for (const method of ['GET', 'HEAD', 'DELETE'])
        test(`is allowed by a preflight to send a request to ${path} with ${method}, without credentials`, async () => {
          const response = await fixture().service.fetch(path, {
            method: 'OPTIONS',
            headers: {
              origin: ORIGIN,
              'access-control-request-method': method,
              'access-control-request-headers': 'authorization,content-type,x-other',
            },
          });
          expectPreflight(response);
          expect(response.headers.get('www-authenticate')).toBeNull();
          expect(await response.text()).toBe('');
        });

    test('is allowed by the response, too, to send Content-Type and Authorization', async () => {
      const { headers } = await fixture().service.fetch('/api/public', { headers: { origin: ORIGIN } });
      expect(headers.get('access-control-allow-headers')).toBe('Content-Type, Authorization');
    });
  });
}
