import { expect, test } from 'bun:test';
import { expectError, expectMessage, expectPreflight } from '../../support/expect-error.ts';
import { type Fixture, PRIVATE, SCOPED } from '../../support/fixture.ts';
import { faultsBeforeKeys, tokenTextOf } from '../../support/token-faults.ts';

/**
 * Rows on a service that has never had a key: an outage is not reported as a bad token, nor a bad token as an outage.
 */
export function outageRows(fixture: () => Fixture): void {
  for (const path of [PRIVATE, SCOPED])
    test(`GET ${path} is 503 with Retry-After for a token that may be valid`, async () => {
      const response = await fixture().get(path, fixture().mint());
      expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
      await expectError(response, 503, 'key_set_unavailable');
    });

  test('an expired token is 503 as well: its signature comes first', async () => {
    await expectError(await fixture().get(PRIVATE, fixture().mint({ claims: { exp: 1 } })), 503, 'key_set_unavailable');
  });

  test('requests that need no key get their usual responses, preflights included', async () => {
    const { service, mint, get } = fixture();
    const none = { headers: { authorization: 'Bearer' } };
    await expectMessage(await service.fetch('/api/public'));
    await expectError(await service.fetch(PRIVATE), 401, 'authorization_header_missing');
    await expectError(await service.fetch(PRIVATE, none), 401, 'invalid_header', 'invalid_request');
    await expectError(await service.fetch('/nothing'), 404, 'not_found');
    await expectError(await get(PRIVATE, mint(), { method: 'POST' }), 405, 'method_not_allowed');
    const headers = { origin: 'https://spa.example.test', 'access-control-request-method': 'GET' };
    expectPreflight(await service.fetch(PRIVATE, { method: 'OPTIONS', headers }));
  });

  // Servers reject headers of that length themselves.
  const sent = faultsBeforeKeys.filter(({ reason }) => reason !== 'token_oversized');
  test.each(sent)('a token is rejected without a key lookup: $reason, $name', async ({ token }) => {
    const text = tokenTextOf(token, fixture().issuer.url);
    for (const path of [PRIVATE, SCOPED]) await expectError(await fixture().get(path, text), 401, 'invalid_header');
  });

  test('/livez is 200, because a restart would not help; /readyz is 503 with a reason and Retry-After', async () => {
    expect((await fixture().service.fetch('/livez')).status).toBe(200);
    // HAProxy checks with OPTIONS by default.
    expect((await fixture().service.fetch('/readyz', { method: 'OPTIONS' })).status).toBe(503);
    const response = await fixture().service.fetch('/readyz');
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
    const [code, description] = [expect.stringMatching(/^\w+$/), expect.stringMatching(/\w/)];
    expect(await response.json()).toEqual({ code, description });
  });
}
