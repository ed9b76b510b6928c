import { describe, expect, test } from 'bun:test';
import { Elysia } from 'elysia';
import { expectError } from '../support/expect-error.ts';
import { createTestApp } from '../support/test-app.ts';

const SECRET = 'password hunter2 at db.internal';
class CodedError extends Error {
  readonly code = SECRET;
  readonly status = 200;
}

/** Mistakes of a route that is added later. */
const mistakes: Readonly<Record<string, () => unknown>> = {
  'throws an error': () => {
    throw new Error(SECRET);
  },
  'throws an error with a code and a status': () => {
    throw new CodedError(SECRET);
  },
  'throws text': () => {
    throw SECRET;
  },
  'throws a Response': () => {
    throw new Response(SECRET);
  },
  rejects: () => Promise.reject(new Error(SECRET)),
  'returns an error': () => new Error(SECRET),
  'returns an error with a code and a status': () => new CodedError(SECRET),
};

describe('a handler that', () => {
  for (const [name, handler] of Object.entries(mistakes)) {
    test(`${name} is answered with a 500 without details (CWE-209), and logged`, async () => {
      const told: unknown[] = [];
      const { app } = createTestApp({
        onInternalError: (error) => told.push(error),
        extension: new Elysia().get('/mistake', handler),
      });
      const response = await app.fetch(new Request('http://service.example.test/mistake'));
      expect(await response.clone().text()).not.toContain(SECRET);
      await expectError(response, 500, 'internal_error');
      expect(told).toHaveLength(1);
    });
  }
});
