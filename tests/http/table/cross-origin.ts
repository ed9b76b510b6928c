import { describe, expect, test } from 'bun:test';
import { expectCrossOrigin, expectPreflight, expectProtected } from '../../support/expect-error.ts';
import { bearer, type Fixture } from '../../support/fixture.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

const ORIGIN = 'https://spa.example.test';

const withToken = (claims: Readonly<Record<string, unknown>>) => (fixture: Fixture) => ({
  headers: bearer(fixture.mint({ claims })),
});

const answers: readonly (readonly [status: number, path: string, init?: (fixture: Fixture) => RequestInit])[] = [
  [200, '/api/public'],
  [200, PRIVATE, withToken({})],
  [200, SCOPED, withToken({})],
  [401, PRIVATE],
  [401, SCOPED, withToken({ exp: 1 })],
  [403, SCOPED, withToken({ scope: '' })],
  [404, '/api/nothing'],
  [405, '/api/public', () => ({ method: 'POST' })],
  [405, PRIVATE, () => ({ method: 'DELETE' })],
];

const preflights = ['/api/public', PRIVATE, SCOPED, '/api/nothing', '/nothing'];

/** Rows on what a page of another origin may do. */
export function crossOriginRows(fixture: () => Fixture): void {
  describe('a page of another origin', () => {
    for (const [status, path, init] of answers) {
      for (const origin of [ORIGIN, 'null', undefined]) {
        test(`may read the ${status} of ${path} from origin ${origin}`, async () => {
          const { headers, ...rest } = init?.(fixture()) ?? {};
          const response = await fixture().service.fetch(path, {
            ...rest,
            headers: { ...Object.fromEntries(new Headers(headers)), ...(origin && { origin }) },
          });
          expect(response.status).toBe(status);
          expectCrossOrigin(response);
          if (path !== '/api/public' && status !== 404) expectProtected(response);
        });
      }
    }

    for (const path of preflights) {
      for (const method of ['GET', 'HEAD', 'DELETE']) {
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
      }
    }

    test('is allowed Content-Type and Authorization by the response as well', async () => {
      const response = await fixture().service.fetch('/api/public', { headers: { origin: ORIGIN } });
      const permitted = (response.headers.get('access-control-allow-headers') ?? '').toLowerCase().split(/, */).sort();
      expect(permitted).toEqual(['authorization', 'content-type']);
    });
  });
}
