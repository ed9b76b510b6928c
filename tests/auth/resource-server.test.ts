import { expect, test } from 'bun:test';
import { createApp } from '../../src/app.ts';
import { bearer } from '../support/bench.ts';
import { expectError } from '../support/expect-error.ts';

test('an outage is answered with the wait that the key set says', async () => {
  for (const retryAfterSeconds of [1, 17]) {
    const app = createApp({
      verifier: { verify: () => ({ refusal: 'keys_unavailable', retryAfterSeconds }) },
      readiness: () => 'ready',
      onInternalError(error) {
        throw error;
      },
    });
    const request = new Request('http://localhost/api/private', { headers: bearer('a.b.c') });
    const response = await app.fetch(request);
    expect(response.headers.get('retry-after')).toBe(String(retryAfterSeconds));
    await expectError(response, 503, 'key_set_unavailable');
  }
});
