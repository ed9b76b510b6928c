import { describe, expect, test } from 'bun:test';
import { createRefusalHeaders, type RefusalReason, RefusedError, refusals, refused } from '../../src/auth/refusal.ts';

describe('refused()', () => {
  for (const [reason, { description }] of Object.entries(refusals)) {
    test(`returns the error for ${reason}, which nobody can change for others`, () => {
      const error = refused(reason as RefusalReason);
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({ reason, message: description, detail: {} });
      expect(() => Object.assign(error, { reason: 'scope_insufficient' })).toThrow(TypeError);
      expect(() => Object.assign(error.detail, { scope: 'admin' })).toThrow(TypeError);
    });
  }
});

describe('createRefusalHeaders()', () => {
  test('asks for a second of patience when nobody knows how much is needed', () => {
    expect(createRefusalHeaders(undefined)(refused('keys_unavailable'))).toEqual({ 'retry-after': '1' });
  });
});
