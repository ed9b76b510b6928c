import { describe, expect, test } from 'bun:test';
import { createApp } from '../../src/app.ts';
import { bearer } from '../support/bench.ts';
import { expectError } from '../support/expect-error.ts';

class FailureWithCode extends Error {
  readonly code = 'NOT_FOUND';
  readonly status = 404;
}

const SECRET = 'secret-of-an-exception';

const failures = [
  {
    name: 'throws',
    verify: () => {
      throw new Error(SECRET);
    },
  },
  { name: 'rejects', verify: () => Promise.reject(new Error(SECRET)) },
  {
    name: 'throws an error with a code and a status of its own',
    verify: () => {
      throw new FailureWithCode(SECRET);
    },
  },
  {
    name: 'throws an error with a cause',
    verify: () => {
      throw new Error(SECRET, { cause: new TypeError(SECRET) });
    },
  },
  {
    name: 'throws no error at all',
    verify: () => {
      throw SECRET;
    },
  },
  {
    name: 'throws a Response',
    verify: () => {
      throw new Response(SECRET);
    },
  },
];

describe('when verifying', () => {
  for (const { name, verify } of failures) {
    test(`${name}, the answer is a bare 500 that says nothing of it, and the operator is told`, async () => {
      const told: unknown[] = [];
      const app = createApp({
        verifier: { verify },
        readiness: () => 'ready',
        onInternalError: (error) => void told.push(error),
      });
      for (const path of ['/api/private', '/api/private-scoped']) {
        const request = new Request(`http://localhost${path}`, { headers: bearer('a.b.c') });
        const response = await app.fetch(request);
        const text = await response.clone().text();
        expect(text).not.toContain(SECRET);
        expect(response.headers.get('cache-control')).toBe('no-store');
        await expectError(response, 500, 'internal_error');
      }
      expect(told).toHaveLength(2);
    });
  }
});
