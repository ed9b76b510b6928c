import { expect, test } from 'bun:test';
import { rejections } from '../src/auth/rejections.ts';
import type { RejectionReason } from '../src/auth/types.ts';
import { formatRejection } from '../src/errors.ts';

const reasons = Object.keys(rejections) as RejectionReason[];
const sent = reasons.map((reason) => ({ reason, ...formatRejection({ reason, ...rejections[reason] }) }));

test('only a 401 of the service has the code of every other fault', () =>
  expect(sent.filter(({ status, body }) => body.code === 'invalid_header' && status !== 401)).toEqual([]));

test('each outage has a code of its own', () => {
  const codes = sent.filter(({ status }) => status === 503).map(({ body }) => body.code);
  expect(new Set(codes).size).toBe(codes.length);
});
