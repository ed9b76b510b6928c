import { createGuardCore, type GuardEnvironment } from '../../src/auth/guard/create-guard.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import type { GuardOptions, Requirements } from '../../src/auth/guard.ts';
import { AUDIENCE, bearer, mintToken, signingKeys, type TokenOverrides } from './mint.ts';

export const ISSUER = 'https://issuer.example.test/';

/** Options of a guard that fetches nothing. */
export const offline = () => ({ issuer: ISSUER, audience: AUDIENCE, keys: { keys: signingKeys() } });

export const tokenOf = (overrides?: TokenOverrides) => mintToken(ISSUER, overrides);

/** Returns a function that sends a token or headers to such a guard, and returns the result and the reason of a rejection. */
export function createChecker(options: Partial<GuardOptions> = {}, environment: GuardEnvironment = {}) {
  const reasons = new WeakMap<Request, string>();
  const onRefused = (request: Request, reason: string) => reasons.set(request, reason);
  const guard = guardOf(createGuardCore({ ...offline(), onRefused, ...options }, environment));
  return async (
    credentials: TokenOverrides | Headers,
    requirements: Requirements & { readonly optional?: false } = {},
  ) => {
    const headers = credentials instanceof Headers ? credentials : bearer(tokenOf(credentials));
    const request = new Request('https://api.example.test/reports', { headers });
    const result = await guard.check(request, requirements);
    const challenge = result instanceof Response ? result.headers.get('www-authenticate') : undefined;
    return { result, reason: reasons.get(request), challenge };
  };
}
