import { createGuardCore, type GuardEnvironment } from '../../src/auth/guard/create-guard.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import type { GuardOptions, Requirements } from '../../src/auth/guard.ts';
import { bearer } from './fixture.ts';
import { publish, rsaKey } from './keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID, type TokenOverrides } from './mint.ts';

export const ISSUER = 'https://issuer.example.test/';

/** Options of a guard that fetches nothing. */
export const offline = () => ({
  issuer: ISSUER,
  audience: AUDIENCE,
  keys: { keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] },
});

export const tokenOf = (overrides?: TokenOverrides) => mintToken(ISSUER, overrides);

export interface Checked {
  readonly result: Awaited<ReturnType<ReturnType<typeof guardOf>['check']>>;
  /** The reason of the rejection, as logs have it. */
  readonly reason: string | undefined;
  readonly challenge: string | null | undefined;
}

/** Returns a function that sends a token, or the headers of a request, to a guard with these options. */
export function createChecker(options: Partial<GuardOptions> = {}, environment: GuardEnvironment = {}) {
  let reason: string | undefined;
  const onRefused = (_: Request, given: string) => {
    reason = given;
  };
  const guard = guardOf(createGuardCore({ ...offline(), onRefused, ...options }, environment));
  return async (
    credentials: TokenOverrides | Headers,
    requirements: Requirements & { readonly optional?: false } = {},
  ): Promise<Checked> => {
    reason = undefined;
    const headers = credentials instanceof Headers ? credentials : bearer(tokenOf(credentials));
    const result = await guard.check(new Request('https://api.example.test/reports', { headers }), requirements);
    const challenge = result instanceof Response ? result.headers.get('www-authenticate') : undefined;
    return { result, reason, challenge };
  };
}
