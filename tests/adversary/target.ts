import type { GuardOptions } from '../../src/auth/guard.ts';
import { PRIVATE } from '../http/table/tokens.ts';
import { createFrozenClock } from '../support/frozen-clock.ts';
import { createTestApp } from '../support/test-app.ts';

/** Returns the service without a process, for issuers with these keys, which are fetched when first needed. */
export function createTarget(
  issuers: Readonly<Record<string, readonly unknown[]>>,
  options: Partial<GuardOptions> = {},
) {
  const names = Object.keys(issuers);
  const { get, guard } = createTestApp({
    options: {
      issuer: names.length > 1 ? names : names.join(),
      async fetch(url) {
        const issuer = names.find((name) => url.startsWith(name)) ?? '';
        const isMetadata = url.endsWith('/openid-configuration');
        return Response.json(isMetadata ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: issuers[issuer] });
      },
      ...options,
    },
    environment: { clock: createFrozenClock(), random: () => 0 },
  });
  return {
    guard,
    send: (authorization: string | null, path = PRIVATE) =>
      get(path, { headers: authorization === null ? {} : { authorization } }),
  };
}
