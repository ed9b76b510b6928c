import { compactVerify, errors, type VerifyOptions } from 'jose';
import { type Algorithm, algorithms } from '../jose/algorithms.ts';
import { type KeySet, KeySetUnavailableError, type VerificationKey } from '../keys/key-set.ts';
import type { RefusalReason } from '../refusals.ts';
import { type ClaimRules, type Claims, refuseClaims, refuseTime } from './claims.ts';
import { parseJsonObject, readHeader, readUnverifiedIssuer, type TokenHeader } from './header.ts';
import { createTokenCache } from './token-cache.ts';

/** The result for a token: its claims, or why it is rejected. During an outage also when to retry. */
export type Verdict =
  | { readonly claims: Claims }
  | { readonly refusal: RefusalReason; readonly retryAfterSeconds?: number };

export interface Verifier {
  /** Returns the verdict on a token: at once if it is cached or rejected before its signature is checked, otherwise a promise. */
  verify(token: string): Verdict | Promise<Verdict>;
  state(): VerifierState;
}

export interface VerifierState {
  /** Number of tokens that were found in the cache since the start. */
  readonly cacheHits: number;
  /** Number of tokens in the cache. */
  readonly cacheEntries: number;
}

export interface VerifierOptions extends ClaimRules {
  readonly algorithms: readonly Algorithm[];
  /** The keys of each issuer, by issuer identifier. */
  readonly keySets: ReadonlyMap<string, Keys>;
  /** Accepts tokens that are bound to a key or certificate, for a caller that checks the proof. Defaults to false. */
  readonly acceptsBoundTokens?: boolean | undefined;
  /** Maximum number of cached tokens; 0 disables the cache. */
  readonly tokenCacheSize: number;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** At least 0 and below 1; defaults to `Math.random`. */
  readonly random?: (() => number) | undefined;
}

type Keys = Pick<KeySet, 'find' | 'isCurrent'>;

interface CachedToken {
  readonly claims: Claims;
  readonly key: VerificationKey;
  readonly keys: Keys;
}

/**
 * Returns a verifier of access tokens in JWT form. It verifies the signature with a key of the issuer, then the claims. It does
 * NOT check scopes, `sub`, `jti` or revocation: a token is valid until it expires or its key leaves the key set.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { keySets, tokenCacheSize, clockToleranceSeconds, now = Date.now, random = Math.random } = options;
  const nowSeconds = () => now() / 1000;
  const isGood = ({ claims, key, keys }: CachedToken) =>
    keys.isCurrent(key) && refuseTime(claims, clockToleranceSeconds, nowSeconds()) === undefined;
  const cache =
    tokenCacheSize > 0 ? createTokenCache<CachedToken>({ maxEntries: tokenCacheSize, isGood, random }) : undefined;
  const [onlyKeys] = keySets.size === 1 ? keySets.values() : [];
  let cacheHits = 0;

  // One asynchronous function for all of it: under load, each further one takes a microsecond or two.
  async function verifyByKeyId(token: string, { kid, algorithm }: TokenHeader, keys: Keys): Promise<Verdict> {
    let verdict: Verdict = { refusal: 'key_unknown' };
    try {
      for (const key of await keys.find(kid)) {
        if (key.algorithm !== algorithm) continue;
        const verified = await compactVerify(token, key.cryptoKey, verifyOptions[algorithm]).catch(ignoreBadSignature);
        verdict = verified ? readClaims(verified.payload, options, nowSeconds()) : { refusal: 'signature_invalid' };
        if ('claims' in verdict) cache?.set(token, { claims: verdict.claims, key, keys });
        if (verified) break;
      }
      return verdict;
    } catch (error) {
      if (!(error instanceof KeySetUnavailableError)) throw error;
      return { refusal: 'keys_unavailable', retryAfterSeconds: error.retryAfterSeconds };
    }
  }

  /** With several issuers, the unverified `iss` selects one by exact comparison. It is verified with the other claims later. */
  function keysFor(token: string): Keys | undefined {
    if (onlyKeys) return onlyKeys;
    const issuer = readUnverifiedIssuer(token);
    return typeof issuer === 'string' ? keySets.get(issuer) : undefined;
  }

  return {
    verify(token) {
      const cached = cache?.get(token);
      if (cached?.keys.isCurrent(cached.key)) {
        cacheHits += 1;
        const refusal = refuseTime(cached.claims, clockToleranceSeconds, nowSeconds());
        return refusal ? { refusal } : cached;
      }
      const header = readHeader(token, options.algorithms);
      if ('refusal' in header) return header;
      const keys = keysFor(token);
      return keys ? verifyByKeyId(token, header, keys) : { refusal: 'issuer_mismatch' };
    },
    state: () => ({ cacheHits, cacheEntries: cache?.size ?? 0 }),
  };
}

/** jose compares the `alg` of the header, which may have either name of EdDSA. */
const verifyOptions = Object.fromEntries(
  algorithms.map((name) => [name, { algorithms: name === 'EdDSA' ? ['EdDSA', 'Ed25519'] : [name] }]),
) as Readonly<Record<Algorithm, VerifyOptions>>;

/** The header was checked before, so any error of jose is about the signature. */
function ignoreBadSignature(error: unknown): undefined {
  if (!(error instanceof errors.JOSEError)) throw error;
}

/** Returns the claims in a payload whose signature is valid, or why they are rejected. */
function readClaims(payload: Uint8Array, options: VerifierOptions, nowSeconds: number): Verdict {
  const claims = parseJsonObject(payload);
  if (!claims) return { refusal: 'claims_malformed' };
  const refusal = refuseClaims(claims, options, nowSeconds);
  if (refusal) return { refusal };
  // RFC 9449 §7.1, RFC 8705 §3: the client must prove possession of the key.
  if ('cnf' in claims && !options.acceptsBoundTokens) return { refusal: 'token_bound' };
  return { claims: claims as Claims };
}
