import { describe, expect, test } from 'bun:test';
import { treaty } from '@elysiajs/eden';
import type { App } from '../../src/app.ts';
import { type Fixture, fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { bearer } from '../support/mint.ts';

/** That what the compiler knows of `treaty<App>`, in tests/types, is what is answered. */
describe('treaty<App>()', () => {
  const fixture = fixtureFor(inProcessForm);
  const outage = fixtureFor(inProcessForm, { prepare: (issuer) => issuer.close() });
  const clientOf = ({ service, mint }: Fixture, claims: object = {}) =>
    treaty<App>(service.origin, { headers: bearer(mint({ claims: { ...claims } })) }).api;

  test('reads the messages of all three endpoints', async () => {
    const api = clientOf(fixture());
    for (const endpoint of [api.public, api.private, api['private-scoped']]) {
      const { data, error } = await endpoint.get();
      expect(error).toBeNull();
      const message: string | undefined = data?.message;
      expect(message).toStartWith('Hello from a p');
    }
  });

  test('narrows a 401, a 403 and a 503 by their codes, and reads Retry-After', async () => {
    const { data, error: expired } = await clientOf(fixture(), { exp: 1 }).private.get();
    const code: 'authorization_header_missing' | 'invalid_header' | 'invalid_claims' | 'token_expired' | undefined =
      expired?.status === 401 ? expired.value.code : undefined;
    expect({ data, code }).toEqual({ data: null, code: 'token_expired' });

    const { error: denied } = await clientOf(fixture(), { scope: '' })['private-scoped'].get();
    expect(denied?.status === 403 && denied.value.code).toBe('Unauthorized');

    const { error, response } = await clientOf(outage()).private.get();
    expect(error?.status === 503 && error.value.code).toBe('key_set_unavailable');
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});
