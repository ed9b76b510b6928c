import { createHash } from 'node:crypto';
import { base64url, calculateJwkThumbprint, compactVerify, errors } from 'jose';
import { algorithmOf } from '../jose/algorithms.ts';
import { isCanonicalBase64Url, parseJsonObject } from '../jose/encoding.ts';
import { importPublicJwk, type PublicJwk } from '../jose/jwk.ts';
import type { RefusalReason } from '../refusals.ts';
import { normalizeUrl } from './normalize-url.ts';
import { type ProofAlgorithm, proofAlgorithms, readProofKey } from './proof-key.ts';
import type { ReplayStore } from './replay-store.ts';

/** Why a request is rejected because of its proof. */
export type ProofRefusal = Extract<RefusalReason, `proof_${string}` | 'replay_unknown'>;

/** The result for a proof. Verify the token first: {@link VerifyProof} marks a valid proof as used. */
export type ProofVerdict = 'accepted' | ProofRefusal;

/** The request that a proof is for. */
export interface ProvenRequest {
  readonly method: string;
  /** Absolute. Only its path is used, because the client or a proxy chooses the host. */
  readonly url: string;
}

/**
 * Verifies the proof of one request, and marks it as used.
 * @param proof the value of the `DPoP` header; null if there is none
 * @param token the access token of the request, already verified
 * @param thumbprint of the key that the token is bound to: its `cnf.jkt` (RFC 9449 §6.1)
 */
export type VerifyProof = (
  proof: string | null,
  request: ProvenRequest,
  token: string,
  thumbprint: string,
) => Promise<ProofVerdict>;

export interface ProofVerifierOptions {
  /** The address at which clients reach the API, without a trailing slash. The Host header is never used. */
  readonly publicUrl: string;
  readonly replayStore: ReplayStore;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The values that a proof must have. */
export interface ExpectedProof {
  readonly method: string;
  readonly url: string;
  /** Undefined at a token endpoint, where no token exists yet. */
  readonly token: string | undefined;
  readonly nowMs: number;
}

/** A proof with a valid signature and the expected values. It may have been used before. */
export interface GoodProof {
  /** Thumbprint of the key that signed it (RFC 7638). */
  readonly thumbprint: string;
  readonly id: string;
  readonly issuedAtMs: number;
}

interface SignedProof {
  readonly text: string;
  readonly algorithm: ProofAlgorithm;
  readonly jwk: PublicJwk;
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A proof signed with an RSA key of 4096 bits is shorter than 2 KiB. */
const maxProofLength = 4096;
const maxIdLength = 256;
/** Maximum difference between `iat` and the current time, in either direction. */
const windowMs = 60_000;
/** Maximum difference between the clocks of processes that share a store. Claims last this much longer than the window. */
const clockDifferenceMs = 30_000;

/** How long a proof that was just created is claimed. */
export const usualClaimMs = windowMs + clockDifferenceMs;

/**
 * Returns a function that verifies DPoP proofs (RFC 9449 §4.3) and accepts each once. It does NOT check the token or a `nonce`.
 * The work for one proof is bounded, and only a valid proof signed with the right key reaches the store.
 */
export function createProofVerifier({ publicUrl, replayStore, now = Date.now }: ProofVerifierOptions): VerifyProof {
  /** The thumbprint and `jti` are hashed together, so that clients with equal `jti` values do not collide. */
  async function claim({ thumbprint, id, issuedAtMs }: GoodProof): Promise<ProofVerdict> {
    const lifetimeMs = Math.ceil(issuedAtMs + usualClaimMs - now());
    try {
      const isFirst: unknown = await replayStore.claim(sha256(`${thumbprint}.${id}`), lifetimeMs);
      if (isFirst === true) return 'accepted';
      return isFirst === false ? 'proof_replayed' : 'replay_unknown';
    } catch {
      return 'replay_unknown';
    }
  }

  return async (text, { method, url }, token, thumbprint) => {
    const proof = await judgeProof(text, { method, url: publicUrl + pathOf(url), token, nowMs: now() });
    if (typeof proof === 'string') return proof;
    // RFC 9449 §7.1: the proof is valid, but the token belongs to another key.
    return proof.thumbprint === thumbprint ? claim(proof) : 'proof_key_mismatch';
  };
}

/** Returns a proof with the expected values, or why it is rejected. Does NOT check whether it was used before. */
export async function judgeProof(text: string | null, expected: ExpectedProof): Promise<GoodProof | ProofRefusal> {
  const proof = readProof(text);
  if (typeof proof === 'string') return proof;
  const refusal = refuseClaims(proof.claims, expected) ?? (await refuseSignature(proof));
  if (refusal !== undefined) return refusal;
  const { jti, iat } = proof.claims;
  return { thumbprint: await calculateJwkThumbprint(proof.jwk), id: String(jti), issuedAtMs: Number(iat) * 1000 };
}

/** Checks everything that does not depend on the request. Of duplicate members the last one counts, as in jose. */
function readProof(text: string | null): SignedProof | ProofRefusal {
  if (text === null || text.trim() === '') return 'proof_missing';
  if (text.length > maxProofLength) return 'proof_oversized';
  if (text.includes(',')) return 'proof_repeated';
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return 'proof_malformed';
  const [header, claims] = parts.map((part) => parseJsonObject(base64url.decode(part)));
  if (!header || !claims) return 'proof_malformed';

  if (header.typ !== 'dpop+jwt') return 'proof_type';
  const algorithm = proofAlgorithms.find((name) => name === algorithmOf(header.alg));
  if (algorithm === undefined) return 'proof_algorithm';
  if (header.crit !== undefined) return 'proof_critical_header';
  const jwk = readProofKey(header.jwk, algorithm);
  return jwk ? { text, algorithm, jwk, claims } : 'proof_key';
}

function refuseClaims(claims: SignedProof['claims'], expected: ExpectedProof): ProofRefusal | undefined {
  const { htm, htu, iat, ath, jti } = claims;
  const { method, url, token, nowMs } = expected;
  if (htm !== method) return 'proof_method';
  if (!isSameUrl(htu, url)) return 'proof_url';
  if (typeof iat !== 'number' || !(Math.abs(nowMs - iat * 1000) <= windowMs)) return 'proof_time';
  if (token !== undefined && ath !== sha256(token)) return 'proof_token_hash';
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength) return 'proof_id';
  return undefined;
}

async function refuseSignature({ text, algorithm, jwk }: SignedProof): Promise<ProofRefusal | undefined> {
  const key = await importPublicJwk(jwk, algorithm);
  if (key === undefined) return 'proof_key';
  try {
    await compactVerify(text, key);
    return undefined;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'proof_signature';
    throw error;
  }
}

function isSameUrl(claimed: unknown, expected: string): boolean {
  if (typeof claimed !== 'string') return false;
  if (claimed === expected) return true;
  const normalized = normalizeUrl(claimed);
  return normalized !== undefined && normalized === normalizeUrl(expected);
}

/** Returns the path as it was sent, percent-encoding included. */
function pathOf(url: string): string {
  return /^[a-z]+:\/\/[^/?#]*([^?#]*)/i.exec(url)?.[1] ?? '';
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
