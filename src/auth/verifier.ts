import { errors, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { type KeySet, KeySetUnavailableError, type VerificationKey } from './key-set.ts';
import type { RefusalReason } from './refusal.ts';

/** The claims of a verified access token (RFC 7519 §4, RFC 9068 §2.2), frozen: they are shared by the requests that show it. */
export type Claims = Readonly<JWTPayload> & {
  readonly iss: string;
  readonly aud: string | readonly string[];
  readonly exp: number;
  readonly scope?: unknown;
  readonly client_id?: unknown;
};

/** What becomes of a token: its claims, or why it is refused; with an outage of the issuer, when to try again. */
export type Verdict =
  | { readonly claims: Claims }
  | { readonly refusal: RefusalReason; readonly retryAfterSeconds?: number };

export interface Verifier {
  /** Returns the verdict on a token: at once when it is remembered or refused before any cryptography, else a promise. */
  verify(token: string): Verdict | Promise<Verdict>;
  state(): VerifierState;
}

export interface VerifierState {
  /** Tokens that were answered from memory, since the start. */
  readonly cacheHits: number;
  /** Verified tokens remembered now. */
  readonly cacheEntries: number;
}

export interface VerifierOptions {
  /** Compared exactly with `iss`. */
  readonly issuer: string;
  /** Must be, or be among, `aud`. */
  readonly audience: string;
  readonly keySet: Pick<KeySet, 'find'>;
  /** Leeway for `exp` and `nbf`. */
  readonly clockToleranceSeconds: number;
  /** How many verified tokens are remembered; 0 remembers none. */
  readonly cacheSize: number;
  /** Wall-clock time in milliseconds since 1970; `Date.now` by default. */
  readonly now?: () => number;
  /** At least 0 and below 1; `Math.random` by default. */
  readonly random?: () => number;
}

interface Remembered {
  readonly claims: Claims;
  readonly key: VerificationKey;
}

/** Of so many tokens that find the memory full of ones still good, one is remembered. */
const displacementOdds = 16;

/** A generous bound: access tokens are below 2 KiB, and common servers limit a header line to 8 KiB. */
const maxTokenLength = 8192;
const allowedTypes = new Set<unknown>([undefined, 'jwt', 'at+jwt', 'application/at+jwt']);

/**
 * Returns a verifier of access tokens in JWT form: RS256 signature by a key of the issuer, then `iss`, `aud`,
 * `nbf` and `exp`. It checks no scope, no `sub`, no `jti` and no revocation: a token is good until it expires or its key goes.
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const { issuer, audience, keySet, clockToleranceSeconds, cacheSize, now = Date.now, random = Math.random } = options;
  const remembered = cacheSize > 0 ? new LRUCache<string, Remembered>({ max: cacheSize }) : undefined;
  const nowSeconds = () => now() / 1000;

  /** To the fraction of a second: jose counts whole ones, by which a token could outlive its `exp`. */
  function refuseByTime({ nbf, exp }: Claims): RefusalReason | undefined {
    if (nbf !== undefined && nbf > nowSeconds() + clockToleranceSeconds) return 'token_not_yet_valid';
    if (exp <= nowSeconds() - clockToleranceSeconds) return 'token_expired';
    return undefined;
  }

  /**
   * Remembers a token: while there is room, in the place of one that is no longer good, else only now and then. Were each
   * to displace the oldest, tokens that come in turn, more than there is room for, would all be gone when they come again.
   */
  function remember(token: string, entry: Remembered): void {
    const oldest = remembered?.size === cacheSize ? remembered.rvalues().next().value : undefined;
    const isOldestGood = oldest?.key.isCurrent && !refuseByTime(oldest.claims);
    if (isOldestGood && random() * displacementOdds >= 1) return;
    // A copy: the token is cut from its header line, which would be kept with it, up to twice as long.
    remembered?.set(atob(btoa(token)), entry);
  }

  async function verifyWith(key: VerificationKey, token: string): Promise<Verdict> {
    try {
      const { payload } = await jwtVerify(token, key.cryptoKey, {
        algorithms: ['RS256'],
        issuer,
        audience,
        clockTolerance: clockToleranceSeconds,
        currentDate: new Date(now()),
      });
      const refusal = refuseWhatJoseAccepts(payload) ?? refuseByTime(payload as Claims);
      if (refusal) return { refusal };
      const claims = deepFreeze(payload as Claims);
      remember(token, { claims, key });
      return { claims };
    } catch (error) {
      return { refusal: refusalOf(error) };
    }
  }

  async function verifyByKeyId(token: string, kid: string): Promise<Verdict> {
    try {
      let verdict: Verdict = { refusal: 'key_unknown' };
      for (const key of await keySet.find(kid)) {
        verdict = await verifyWith(key, token);
        const isOtherKeyWorthTrying = 'refusal' in verdict && verdict.refusal === 'signature_invalid';
        if (!isOtherKeyWorthTrying) break;
      }
      return verdict;
    } catch (error) {
      if (!(error instanceof KeySetUnavailableError)) throw error;
      return { refusal: 'keys_unavailable', retryAfterSeconds: error.retryAfterSeconds };
    }
  }

  let cacheHits = 0;
  return {
    verify(token) {
      const known = remembered?.get(token);
      if (known?.key.isCurrent) {
        cacheHits += 1;
        const refusal = refuseByTime(known.claims);
        return refusal ? { refusal } : known;
      }
      const header = inspectHeader(token);
      return 'refusal' in header ? header : verifyByKeyId(token, header.kid);
    },
    state: () => ({ cacheHits, cacheEntries: remembered?.size ?? 0 }),
  };
}

/** Decides all that can be decided without a key. Members such as `jwk`, `jku` and `x5u` are ignored: a token never brings its own key. */
function inspectHeader(token: string): { readonly kid: string } | { readonly refusal: RefusalReason } {
  if (token.length > maxTokenLength) return { refusal: 'token_oversized' };
  const parts = token.split('.', 4);
  if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return { refusal: 'token_malformed' };

  const header = parseJsonObject(parts[0] ?? '');
  if (!header) return { refusal: 'token_malformed' };
  const { alg, crit, kid, typ } = header;
  if (alg !== 'RS256') return { refusal: 'algorithm_unsupported' };
  if (crit !== undefined) return { refusal: 'critical_header' };
  if (!allowedTypes.has(typeof typ === 'string' ? typ.toLowerCase() : typ)) return { refusal: 'type_unsupported' };
  if (typeof kid !== 'string' || kid === '') return { refusal: 'key_id_missing' };
  return { kid };
}

/** Whole groups of four characters, then perhaps two or three, the last of which leaves no bit unused. */
const canonicalBase64Url = /^(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** One spelling for each byte string (RFC 4648 §3.5): no padding, no spare bits, no white space, and not empty. */
function isCanonicalBase64Url(text: string): boolean {
  return text !== '' && canonicalBase64Url.test(text);
}

function parseJsonObject(base64Url: string): Record<string, unknown> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(base64Url, { alphabet: 'base64url' });
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** jose lets a token pass without `exp`, with an infinite one, with an audience that is not all text, or bound to a key. */
function refuseWhatJoseAccepts({ aud, exp, nbf, ...claims }: JWTPayload): RefusalReason | undefined {
  if (isMixed(aud)) return 'audience_mismatch';
  if (![exp, nbf ?? exp].every(Number.isFinite)) return 'claims_malformed';
  // RFC 9449 §7.1, RFC 8705 §3: whoever shows such a token must prove possession, which a plain Bearer request does not.
  if ('cnf' in claims) return 'token_bound';
  return undefined;
}

/** What jose's errors mean here, by class: its messages are for people. */
function refusalOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature_invalid';
  if (error instanceof errors.JWTClaimValidationFailed || error instanceof errors.JWTExpired) {
    const { claim, reason, payload } = error;
    if (claim === 'iss') return 'issuer_mismatch';
    // What is wrong with the audience is told before what is wrong with the time.
    if (claim === 'aud' || isMixed(payload.aud)) return 'audience_mismatch';
    if (reason !== 'check_failed' || !Number.isFinite(payload[claim])) return 'claims_malformed';
    return claim === 'exp' ? 'token_expired' : 'token_not_yet_valid';
  }
  // The header was inspected before: what is left to find fault with is a payload that is no JSON object.
  if (error instanceof errors.JOSEError) return 'claims_malformed';
  throw error;
}

function isMixed(audience: JWTPayload['aud']): boolean {
  return Array.isArray(audience) && !audience.every((member) => typeof member === 'string');
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null)
    for (const member of Object.values(Object.freeze(value))) deepFreeze(member);
  return value;
}
