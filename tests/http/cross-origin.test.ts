import { expect, test } from 'bun:test';
import { createCommonHeaders } from '../../src/http/answers.ts';
import { createTestApp } from '../support/test-app.ts';

for (const { dpop, allowed } of [
  { dpop: 'off', allowed: 'Content-Type, Authorization' },
  { dpop: 'on', allowed: 'Content-Type, Authorization, DPoP' },
  { dpop: 'required', allowed: 'Content-Type, Authorization, DPoP' },
] as const) {
  test(`pages of any origin may send ${allowed} when DPoP is ${dpop}`, async () => {
    const { app } = createTestApp({ commonHeaders: createCommonHeaders({ dpop }) });
    for (const method of ['GET', 'OPTIONS']) {
      const { headers } = await app.fetch(new Request('http://localhost/api/private', { method }));
      expect(headers.get('access-control-allow-headers')).toBe(allowed);
    }
  });
}
