import { describe, expect, test } from 'bun:test';
import { expectCrossOrigin, expectPreflight, expectProtected } from '../../support/expect-error.ts';
import { bearer, type Fixture } from '../../support/fixture.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

const ORIGIN = 'https://spa.example.test';

interface AnswerRow {
  readonly name: string;
  readonly status: number;
  readonly path: string;
  readonly init?: (fixture: Fixture) => RequestInit;
}

const withToken =
  (claims: Readonly<Record<string, unknown>> = {}) =>
  (fixture: Fixture) => ({
    headers: bearer(fixture.mint({ claims })),
  });

const answers: readonly AnswerRow[] = [
  { name: 'the public message', status: 200, path: '/api/public' },
  { name: 'the private message', status: 200, path: PRIVATE, init: withToken() },
  { name: 'the scoped message', status: 200, path: SCOPED, init: withToken() },
  { name: 'a missing token', status: 401, path: PRIVATE },
  { name: 'an expired token', status: 401, path: SCOPED, init: withToken({ exp: 1 }) },
  { name: 'a missing scope', status: 403, path: SCOPED, init: withToken({ scope: '' }) },
  { name: 'an unknown path', status: 404, path: '/api/nothing' },
  { name: 'a wrong method', status: 405, path: '/api/public', init: () => ({ method: 'POST' }) },
  { name: 'a wrong method on a protected path', status: 405, path: PRIVATE, init: () => ({ method: 'DELETE' }) },
];

const preflights = ['/api/public', PRIVATE, SCOPED, '/api/nothing', '/nothing'];

/** Rows on what a page of another origin may do. */
export function crossOriginRows(fixture: () => Fixture): void {
  describe('a page of another origin', () => {
    for (const { name, status, path, init } of answers) {
      for (const origin of [ORIGIN, 'null', undefined]) {
        test(`may read the answer to ${name} (${status}) from origin ${origin}`, async () => {
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
