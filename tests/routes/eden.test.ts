import { describe, expect, test } from 'bun:test';
import { treaty } from '@elysiajs/eden';
import type { App } from 'protected-api/service';
import { bearer, type Fixture, fixtureFor } from '../support/fixture.ts';
import { inProcessForm } from '../support/in-process.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID, type TokenOverrides } from '../support/mint.ts';

const keys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];
const clientOf = ({ service }: Fixture, headers: Record<string, string> = {}) =>
  treaty<App>(service.origin, { headers });

describe('treaty<App>()', () => {
  const fixture = fixtureFor(inProcessForm, { keys });
  const outage = fixtureFor(inProcessForm, { keys, prepare: (issuer) => issuer.goDown() });
  const withToken = (overrides?: TokenOverrides) => clientOf(fixture(), bearer(fixture().mint(overrides)));

  test('reads the messages of all three endpoints', async () => {
    const { api } = withToken();
    for (const endpoint of [api.public, api.private, api['private-scoped']]) {
      const { data, error } = await endpoint.get();
      expect(error).toBeNull();
      const message: string | undefined = data?.message;
      expect(message).toStartWith('Hello from a p');
    }
  });

  test('narrows a 401 by its code', async () => {
    const { data, error } = await clientOf(fixture()).api.private.get();
    if (error?.status !== 401) throw new Error('Not a 401');
    const code: 'authorization_header_missing' | 'invalid_header' | 'invalid_claims' | 'token_expired' =
      error.value.code;
    expect({ data, code }).toEqual({ data: null, code: 'authorization_header_missing' });

    const expired = await withToken({ claims: { exp: 1 } }).api.private.get();
    if (expired.error?.status !== 401) throw new Error('Not a 401');
    expect(expired.error.value).toEqual({ code: 'token_expired', description: 'Token is expired' });
  });

  test('narrows a 403 where a scope is required', async () => {
    const { error } = await withToken({ claims: { scope: '' } }).api['private-scoped'].get();
    if (error?.status !== 403) throw new Error('Not a 403');
    const code: 'Unauthorized' = error.value.code;
    expect(code).toBe('Unauthorized');
  });

  test('narrows a 503, and reads Retry-After', async () => {
    const { error, response } = await clientOf(outage(), bearer(outage().mint())).api.private.get();
    if (error?.status !== 503) throw new Error('Not a 503');
    const code: 'key_set_unavailable' = error.value.code;
    expect(code).toBe('key_set_unavailable');
    expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  });
});
