import { compactVerify, errors, type VerifyOptions } from 'jose';
import { type Algorithm, algorithmRules, algorithms } from '../jose/algorithms.ts';
import { deepFreeze, parseJsonObject } from '../jose/encoding.ts';
import type { KeySet, VerificationKey } from '../keys/key-set.ts';
import { Refusal, refuse } from '../refusals.ts';
import { type ClaimRules, type Claims, checkClaims, checkTime } from './claims.ts';
import { createHeaderReader, readUnverifiedIssuer, type TokenHeader, type TokenType } from './header.ts';
import { type CheckedIssuer, optionsByIssuer } from './issuer-rules.ts';
import { createTokenCache } from './token-cache.ts';

/** A token with a valid signature and valid claims. It is one object for as long as the token is cached. */
export interface VerifiedToken {
  readonly claims: Claims;
}

export type Verification = VerifiedToken | Refusal;

export interface Verifier {
  /**
   * Returns the verified token, or why it is rejected: at once if it is cached or rejected before its signature is checked, otherwise a promise.
   * @param earlier what this verifier returned for the token before: its time and its key are checked again, but its signature is not
   */
  verify(token: string, earlier?: VerifiedToken): Verification | Promise<Verification>;
  state(): VerifierState;
}

export interface VerifierState {
  /** Number of tokens that were found in the cache since the start. */
  readonly cacheHits: number;
  /** Number of tokens in the cache. */
  readonly cacheEntries: number;
}

export interface VerifierOptions extends Omit<ClaimRules, 'issuer'> {
  readonly issuer: readonly (string | CheckedIssuer)[];
  readonly algorithms: readonly Algorithm[];
  /** Defaults to `jwt`, which accepts every type that access tokens have. */
  readonly tokenType?: TokenType | undefined;
  /** The keys of each issuer, by issuer identifier. */
  readonly keySets: ReadonlyMap<string, Keys>;
  /** Maximum number of cached tokens; 0 disables the cache. */
  readonly tokenCacheSize: number;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** At least 0 and below 1; defaults to `Math.random`. */
  readonly random?: (() => number) | undefined;
}

type Keys = Pick<KeySet, 'find' | 'isCurrent'>;

/** What tokens of one issuer are verified with. */
interface Trust {
  readonly keys: Keys;
  readonly rules: ClaimRules;
  readonly algorithms: readonly Algorithm[];
}

interface CachedToken extends VerifiedToken {
  readonly key: VerificationKey;
  readonly keys: Keys;
}

/**
 * Returns a verifier of access tokens in JWT form. It verifies the signature with a key of the issuer, then the claims. It does
 * NOT check scopes, `jti`, revocation, or whether the client holds the key or certificate that the token is bound to (`cnf`): a
 * token is valid until it expires or its key leaves the key set.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { keySets, tokenCacheSize, clockToleranceSeconds, now = Date.now, random = Math.random } = options;
  const nowSeconds = () => now() / 1000;
  const isGood = ({ claims, key, keys }: CachedToken) =>
    keys.isCurrent(key) && checkTime(claims, clockToleranceSeconds, nowSeconds()) === undefined;
  const cache =
    tokenCacheSize > 0 ? createTokenCache<CachedToken>({ maxEntries: tokenCacheSize, isGood, random }) : undefined;
  const trusted = new Map<string, Trust>();
  for (const [issuer, rules] of optionsByIssuer(options)) {
    const keys = keySets.get(issuer);
    if (keys) trusted.set(issuer, { keys, rules, algorithms: rules.algorithms });
  }
  const accepted = new Set([...trusted.values()].flatMap(({ algorithms }) => algorithms));
  const readHeader = createHeaderReader([...accepted], options.tokenType);
  const [only] = trusted.size === 1 ? trusted.values() : [];
  let cacheHits = 0;

  // One asynchronous function for all of it: under load, each further one takes a microsecond or two.
  async function verifyByKeyId(
    token: string,
    { kid, algorithm }: TokenHeader,
    { keys, rules }: Trust,
  ): Promise<Verification> {
    const found = await keys.find(kid);
    if (found instanceof Refusal) return found;
    let refusal = refuse('key_unknown');
    for (const key of found) {
      if (key.algorithm !== algorithm) continue;
      const verified = await compactVerify(token, key.cryptoKey, verifyOptions[algorithm]).catch(ignoreBadSignature);
      if (!verified) {
        refusal = refuse('signature_invalid');
        continue;
      }
      const claims = readClaims(verified.payload, rules, nowSeconds());
      if (claims instanceof Refusal) return claims;
      const entry: CachedToken = { claims, key, keys };
      cache?.set(token, entry);
      return entry;
    }
    return refusal;
  }

  /** With several issuers, the unverified `iss` selects one by exact comparison. It is verified with the other claims later. */
  function trustFor(token: string): Trust | undefined {
    if (only) return only;
    const issuer = readUnverifiedIssuer(token);
    return typeof issuer === 'string' ? trusted.get(issuer) : undefined;
  }

  return {
    verify(token, earlier) {
      const cached = (earlier as CachedToken | undefined) ?? cache?.get(token);
      if (cached?.keys.isCurrent(cached.key)) {
        if (earlier === undefined) cacheHits += 1;
        return checkTime(cached.claims, clockToleranceSeconds, nowSeconds()) ?? cached;
      }
      const header = readHeader(token);
      if (header instanceof Refusal) return header;
      const trust = trustFor(token);
      if (!trust) return refuse('issuer_mismatch');
      // The header was compared with the algorithms of all issuers.
      if (!trust.algorithms.includes(header.algorithm)) return refuse('algorithm_unsupported');
      return verifyByKeyId(token, header, trust);
    },
    state: () => ({ cacheHits, cacheEntries: cache?.size ?? 0 }),
  };
}

/** jose compares the `alg` of the header, which may have any name of the algorithm. */
const verifyOptions = Object.fromEntries(
  algorithms.map((name) => [name, { algorithms: [...algorithmRules[name].names] }]),
) as Readonly<Record<Algorithm, VerifyOptions>>;

/** The header was checked before, so any error of jose is about the signature. */
function ignoreBadSignature(error: unknown): undefined {
  if (!(error instanceof errors.JOSEError)) throw error;
}

/** Returns the claims in a payload whose signature is valid, or why they are rejected. */
function readClaims(payload: Uint8Array, rules: ClaimRules, nowSeconds: number): Claims | Refusal {
  const claims = parseJsonObject(payload);
  if (!claims) return refuse('claims_malformed');
  const refusal = checkClaims(claims, rules, nowSeconds);
  if (refusal) return refusal;
  // Always, so that handlers cannot depend on whether a token is cached.
  return deepFreeze(claims as Claims);
}
