import type { VerifyOptions } from 'jose';
import * as errors from 'jose/errors';
import { compactVerify } from 'jose/jws/compact/verify';
import { algorithms, namesOf } from '../keys/algorithms.ts';
import type { VerificationKey } from '../keys/key-set.ts';
import { isKeyFor } from '../keys/tenants.ts';
import { Rejected, rejectFor } from '../rejections.ts';
import type { Algorithm, CheckedOptions, Claims, GuardState } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { parseJsonObject } from '../values/json.ts';
import { whenSettled } from '../values/promises.ts';
import type { WithinLimit } from '../values/time-limit.ts';
import { createTimeChecks, readClaims, rejectClaims, type TimeRules } from './claims.ts';
import { createHeaderReader, readUnverifiedIssuer, type TokenHeader } from './header.ts';
import { createIntrospection } from './introspection.ts';
import { TokenCache } from './token-cache.ts';
import type { Trust, Trusts } from './trust.ts';

/*
 * From the text of a token to its claims: signature first, then claims, then time. Nothing of the request is known
 * here: bindings, schemas, revocation and scopes are checked in guard/decide.ts.
 */

/** A token with a valid signature and valid claims. It is one object for as long as the token is cached. */
export interface VerifiedToken {
  readonly claims: Claims;
}

export type Verification = VerifiedToken | Rejected;

export type Verifier = ReturnType<typeof createVerifier>;

export interface VerifierOptions
  extends Pick<CheckedOptions, 'tokenType' | 'tokenCacheSize' | 'introspect' | keyof TimeRules>,
    Pick<TimeAndRandom, 'now' | 'random'> {
  readonly trusts: Trusts;
  readonly withinLimit: WithinLimit;
}

/** A token whose signature was verified. Without a key, it was introspected. */
interface CachedToken extends VerifiedToken {
  readonly key?: VerificationKey;
  readonly keys?: Trust['keys'];
}

const isTrusted = ({ key, keys }: CachedToken) => key === undefined || keys?.isCurrent(key) === true;
/** The same for a request, which counts as a use of the issuer. */
const useTrusted = ({ key, keys }: CachedToken) => key === undefined || keys?.use(key) === true;

/**
 * Returns a verifier of access tokens in JWT form. It verifies the signature with a key of the issuer, then the claims.
 * It does NOT check scopes, `jti`, revocation, or whether the client holds the key or certificate that the token is
 * bound to (`cnf`): a token is valid until it expires or its key leaves the key set.
 */
export function createVerifier(options: VerifierOptions) {
  const { trusts, tokenCacheSize, now, random } = options;
  const { sole } = trusts;
  const nowSeconds = () => now() / 1000;
  const timeChecks = createTimeChecks(options);
  const timeOf = ({ claims }: VerifiedToken) => rejectClaims(timeChecks, claims, nowSeconds());
  const isGood = (entry: CachedToken) => isTrusted(entry) && timeOf(entry) === undefined;
  const cache =
    tokenCacheSize > 0 ? new TokenCache<CachedToken>({ maxEntries: tokenCacheSize, isGood, random }) : undefined;
  const readHeader = createHeaderReader(trusts.algorithms, options.tokenType);
  const introspection = createIntrospection(options);
  let cacheHits = 0;

  // One asynchronous function for all of it: under load, each further one takes a microsecond or two.
  async function verifyByKeyId(
    token: string,
    header: TokenHeader,
    trust: Trust,
    tried?: readonly VerificationKey[],
  ): Promise<Verification> {
    const { kid, algorithm } = header;
    const { keys, rules, checks } = trust;
    const found = await (tried ? keys.findOthers(kid, tried) : keys.find(kid));
    if (found instanceof Rejected) return found;
    let rejection = rejectFor(tried ? 'signature_invalid' : 'key_unknown');
    for (const key of found) {
      if (key.algorithm !== algorithm) continue;
      const verified = await compactVerify(token, key.cryptoKey, verifyOptions[algorithm]).catch(ignoreBadSignature);
      if (!verified) {
        rejection = rejectFor('signature_invalid');
        continue;
      }
      const claims = readClaims(parseJsonObject(verified.payload), checks, nowSeconds());
      if (claims instanceof Rejected) return claims;
      if (!isKeyFor(claims, rules.issuer, key.issuer)) continue;
      const entry: CachedToken = { claims, key, keys };
      // It may have left the key set while its signature was verified. Only now is it known that the issuer is named by
      // a token of its own.
      keys.use(key);
      if (!key.isCurrent) return rejectFor('key_unknown');
      cache?.set(token, entry);
      return entry;
    }
    // A key that is held may have been replaced under its name.
    return rejection.reason === 'signature_invalid' && !tried ? verifyByKeyId(token, header, trust, found) : rejection;
  }

  return {
    /**
     * Returns the verified token or why it is rejected: a promise only if its signature is checked.
     * @param earlier what this verifier returned for the token before: only its time and its key are checked again
     */
    verify(token: string, earlier?: VerifiedToken): Verification | Promise<Verification> {
      const cached = (earlier as CachedToken | undefined) ?? cache?.get(token);
      if (cached !== undefined && useTrusted(cached)) {
        if (earlier === undefined) cacheHits += 1;
        return timeOf(cached) ?? cached;
      }
      const header = readHeader(token);
      if (header instanceof Rejected) return introspection?.(token) ?? header;
      // With several issuers, `iss` selects one before the signature is verified. It is checked again with the claims.
      return whenSettled(sole ?? trusts.of(readUnverifiedIssuer(token)), (trust) => {
        if (trust instanceof Rejected) return trust;
        // The header was compared with the algorithms of all issuers.
        const { algorithms } = trust.rules;
        if (!algorithms.includes(header.algorithm)) return rejectFor('algorithm_unsupported', { algorithms });
        return verifyByKeyId(token, header, trust);
      });
    },
    state: (): Omit<GuardState, 'issuers'> => ({ cacheHits, cacheEntries: cache?.size ?? 0 }),
  };
}

/** jose compares the `alg` of the header, which may have any name of the algorithm. */
const verifyOptions = Object.fromEntries(algorithms.map((name) => [name, { algorithms: namesOf(name) }])) as Readonly<
  Record<Algorithm, VerifyOptions>
>;

/** The header was checked before, so any error of jose is about the signature. */
function ignoreBadSignature(error: unknown): undefined {
  if (!(error instanceof errors.JOSEError)) throw error;
}
