import { createGuardCore } from '../../src/auth/guard/core.ts';
import { guardOf } from '../../src/auth/guard/guard.ts';
import type { GuardOptions, Requirements } from '../../src/auth/index.ts';
import type { TimeAndRandom } from '../../src/auth/values/clock.ts';
import { AUDIENCE, bearer, mintToken, signingKeys, type TokenOverrides } from './mint.ts';

export const ISSUER = 'https://issuer.example.test/';

/** Options of a guard that fetches nothing. */
export const offline = () => ({ issuer: ISSUER, audience: AUDIENCE, keys: { keys: signingKeys() } });

/**
 * Options of a guard for issuers with these keys, which may change; with an error, fetches fail. `asked` names the
 * issuer of each fetch.
 */
export function publishedBy(keys: Readonly<Record<string, readonly unknown[] | Error>>) {
  const issuers = Object.keys(keys);
  const asked: string[] = [];
  const options = {
    issuer: issuers,
    keys: undefined,
    onKeySetEvent() {},
    async fetch(url: string) {
      const issuer = issuers.find((name) => url.startsWith(name)) ?? '';
      asked.push(issuer);
      const published = keys[issuer];
      if (published instanceof Error) throw published;
      // Metadata and key set in one.
      return Response.json({ issuer, jwks_uri: `${issuer}/keys`, keys: published });
    },
  };
  return { options, asked };
}

/** Returns a token of this issuer; a text is a token already. */
export const tokenOf = (overrides?: TokenOverrides | string) =>
  typeof overrides === 'string' ? overrides : mintToken(ISSUER, overrides);

/**
 * Returns a function that sends a token or headers to such a guard, and returns the result and the reason of a
 * rejection.
 */
export function createChecker(options: Partial<GuardOptions> = {}, environment: Partial<TimeAndRandom> = {}) {
  const reasons = new WeakMap<object, string>();
  const onRejected = (request: object, reason: string) => reasons.set(request, reason);
  const core = createGuardCore({ ...offline(), onRejected, ...options }, environment);
  const guard = guardOf(core);
  async function check(
    credentials: string | TokenOverrides | Headers,
    requirements: Requirements & { readonly optional?: false } = {},
  ) {
    const headers = credentials instanceof Headers ? credentials : bearer(tokenOf(credentials));
    const request = new Request('https://api.example.test/messages', { headers });
    const result = await guard.check(request, requirements);
    const challenge = result instanceof Response ? result.headers.get('www-authenticate') : undefined;
    return { result, reason: reasons.get(request), challenge };
  }
  return Object.assign(check, { core });
}
