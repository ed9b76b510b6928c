import * as base64url from 'jose/base64url';
import * as errors from 'jose/errors';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { compactVerify } from 'jose/jws/compact/verify';
import { importPublicJwk, type PublicJwk, privateMemberOf, readPublicJwk } from '../keys/jwk.ts';
import { Rejected, rejectFor } from '../rejections.ts';
import { hasBegun, hasExpired } from '../token/claims.ts';
import type { ProofAlgorithm } from '../types.ts';
import { isCanonicalBase64Url, sha256 } from '../values/base64url.ts';
import { isJsonObject, type Members, parseJsonObject } from '../values/json.ts';
import { normalizeUrl } from './normalize-url.ts';
import { proofAlgorithmOf } from './proof-algorithms.ts';

/*
 * Whether a proof is valid for a request (RFC 9449 §4.3). Nonces, and that a proof is used once, are checked in
 * proof.ts.
 */

/** The values that a proof must have. */
interface ExpectedProof {
  readonly method: string;
  /** Undefined if the request has no absolute URL: no proof matches it. */
  readonly url: string | undefined;
  /** Undefined at a token endpoint, where no token exists yet. */
  readonly token: string | undefined;
  readonly nowMs: number;
  readonly algorithms: readonly ProofAlgorithm[];
  /**
   * Maximum difference between `iat` and the current time, in either direction, and the tolerance of `exp` and `nbf`.
   * Infinite if a nonce says when it was made.
   */
  readonly maxAgeSeconds: number;
}

/** A proof with a valid signature and the expected values. It may have been used before. */
export interface GoodProof {
  /** Thumbprint of the key that signed it (RFC 7638). */
  readonly thumbprint: string;
  /** Its other times are numbers too. `nonce` is not checked. */
  readonly claims: Members & { readonly jti: string; readonly iat: number };
}

/** A proof signed with an RSA key of 4096 bits is shorter than 2 KiB. */
const maxProofLength = 4096;
const maxIdLength = 256;

/** Returns a proof with the expected values, or why it is rejected. Does NOT check whether it was used before. */
export async function checkProof(text: string | null, expected: ExpectedProof): Promise<GoodProof | Rejected> {
  const proof = readProof(text, expected.algorithms);
  if (proof instanceof Rejected) return proof;
  const { signed, algorithm, jwk, claims } = proof;
  const rejection = (await rejectClaims(claims, expected)) ?? (await rejectSignature(signed, algorithm, jwk));
  if (rejection !== undefined) return rejection;
  return { thumbprint: await calculateJwkThumbprint(jwk), claims: claims as GoodProof['claims'] };
}

/** Whether a JWT with this header is a proof. RFC 7515 §4.1.9: in any case, and `application/` can be left out. */
export const isProof = ({ typ }: Members) => typeof typ === 'string' && /^(?:application\/)?dpop\+jwt$/i.test(typ);

/** Checks everything that does not depend on the request. Of duplicate members the last one counts, as in jose. */
function readProof(text: string | null, accepted: readonly ProofAlgorithm[]) {
  if (text === null || text.trim() === '') return rejectFor('proof_missing');
  if (text.length > maxProofLength) return rejectFor('proof_oversized');
  if (text.includes(',')) return rejectFor('proof_repeated');
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return rejectFor('proof_malformed');
  const [header, claims] = parts.map((part) => parseJsonObject(base64url.decode(part)));
  if (!header || !claims) return rejectFor('proof_malformed');

  if (!isProof(header)) return rejectFor('proof_type');
  const named = proofAlgorithmOf(header.alg);
  const algorithm = accepted.find((name) => name === named);
  if (algorithm === undefined) return rejectFor('proof_algorithm', { dpopAlgorithms: accepted });
  if (header.crit !== undefined) return rejectFor('proof_critical_header');
  const jwk = readProofKey(header.jwk, algorithm);
  return typeof jwk === 'object' ? { signed: text, algorithm, jwk, claims } : rejectFor('proof_key');
}

/**
 * Returns the public key in the `jwk` of a proof, without other members, or why it cannot be used: it does not fit the
 * algorithm, is weak, too large or not canonically encoded, or has private members. Does NOT read `use`, `key_ops` and
 * `alg`: a client that exports its key may say there that the key signs, and the proof shows that it does.
 */
export function readProofKey(jwk: unknown, algorithm: ProofAlgorithm): PublicJwk | string {
  if (!isJsonObject(jwk)) return 'the header has no jwk';
  const secret = privateMemberOf(jwk);
  if (secret !== undefined) return `it has the private member ${secret}, so others know the key now: replace it`;
  const { kty, crv, x, y, n, e } = jwk;
  return readPublicJwk({ kty, crv, x, y, n, e }, algorithm, true);
}

async function rejectClaims(claims: Members, expected: ExpectedProof): Promise<Rejected | undefined> {
  const { htm, htu, ath, jti } = claims;
  const { method, url } = expected;
  if (htm !== method) return rejectFor('proof_method');
  if (!isSameUrl(htu, url)) return rejectFor('proof_url', { url });
  if (!areTimesGood(claims, expected)) return rejectFor('proof_time');
  const hash = expected.token === undefined ? ath : await sha256(expected.token);
  if (ath !== hash) return rejectFor('proof_token_hash', { ath: hash });
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength) return rejectFor('proof_id');
  return undefined;
}

async function rejectSignature(text: string, algorithm: ProofAlgorithm, jwk: PublicJwk): Promise<Rejected | undefined> {
  const key = await importPublicJwk(jwk, algorithm);
  if (typeof key === 'string') return rejectFor('proof_key');
  try {
    await compactVerify(text, key);
    return undefined;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return rejectFor('proof_signature');
    throw error;
  }
}

function areTimesGood(claims: Members, { nowMs, maxAgeSeconds }: ExpectedProof): boolean {
  const { iat, exp = 0, nbf = 0 } = claims;
  if (![iat, exp, nbf].every(Number.isFinite)) return false;
  return isInWindow(nowMs - Number(iat) * 1000, maxAgeSeconds * 1000) && isCurrent(claims, maxAgeSeconds, nowMs / 1000);
}

/** Whether a time is at most so long ago, and at most so far ahead. */
export const isInWindow = (ageMs: number, windowMs: number, maxAheadMs = windowMs) =>
  ageMs <= windowMs && ageMs >= -maxAheadMs;

/** `exp` and `nbf` are optional, and count where a proof has them (RFC 7519 §4.1.4 and §4.1.5). */
export const isCurrent = (claims: Members, toleranceSeconds: number, nowSeconds: number) =>
  !hasExpired(claims, nowSeconds - toleranceSeconds) && hasBegun(claims, nowSeconds + toleranceSeconds);

function isSameUrl(claimed: unknown, expected: string | undefined): boolean {
  if (typeof claimed !== 'string' || expected === undefined) return false;
  if (claimed === expected) return true;
  const normalized = normalizeUrl(claimed);
  return normalized !== undefined && normalized === normalizeUrl(expected);
}
