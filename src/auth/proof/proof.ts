import { base64url, calculateJwkThumbprint, compactVerify, errors } from 'jose';
import { importPublicJwk, type PublicJwk } from '../keys/jwk.ts';
import { Refusal, refuse } from '../refusals.ts';
import { checkTime } from '../token/claims.ts';
import type { CheckedOptions, ProofAlgorithm, ReplayStore } from '../types.ts';
import { isCanonicalBase64Url, sha256 } from '../values/base64url.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { parseJsonObject } from '../values/json.ts';
import { createNonces } from './nonces.ts';
import { normalizeUrl, pathOf } from './normalize-url.ts';
import { type Presentation, useProof } from './presentation.ts';
import { proofAlgorithmOf, readProofKey } from './proof-key.ts';
import { clockDifferenceMs, createStoreWatch } from './replay-store.ts';

/**
 * Verifies the proof that a request presents, and marks it as used. Resolves to the reason for a rejection, or to undefined.
 * Further calls for the same presentation share this result, and all verifiers share the use of the proof.
 * @param request the object that identifies the use
 * @param presented with a token that is already verified; only the path of the URL is used, because the client or a proxy
 * chooses the host
 * @param thumbprint of the key that the token is bound to: its `cnf.jkt` (RFC 9449 §6.1)
 */
export type VerifyProof = (
  request: object,
  presented: Presentation,
  thumbprint: string,
) => Promise<Refusal | undefined>;

export interface ProofVerifierOptions
  extends Pick<CheckedOptions, 'dpopAlgorithms' | 'dpopProofMaxAgeSeconds' | 'dpopNonceSecret'>,
    Partial<Pick<CheckedOptions, 'clockToleranceSeconds' | 'onReplayStoreEvent'>>,
    Pick<TimeAndRandom, 'now'> {
  /** The URL at which clients reach the API, without a trailing slash. The Host header is never used. */
  readonly publicUrl: string;
  readonly replayStore: ReplayStore;
}

/** The values that a proof must have. */
export interface ExpectedProof {
  readonly method: string;
  /** Undefined if the request has no absolute URL: no proof matches it. */
  readonly url: string | undefined;
  /** Undefined at a token endpoint, where no token exists yet. */
  readonly token: string | undefined;
  readonly nowMs: number;
  readonly algorithms: readonly ProofAlgorithm[];
  /** Maximum difference between `iat` and the current time, in either direction. Infinite if a nonce says when it was made. */
  readonly maxAgeSeconds: number;
  /** For `exp` and `nbf`. Defaults to 0. */
  readonly clockToleranceSeconds?: number | undefined;
}

/** A proof with a valid signature and the expected values. It may have been used before. */
export interface GoodProof {
  /** Thumbprint of the key that signed it (RFC 7638). */
  readonly thumbprint: string;
  readonly id: string;
  readonly issuedAtMs: number;
  /** Not checked. */
  readonly nonce: unknown;
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

/**
 * Returns a function that verifies DPoP proofs (RFC 9449 §4.3) and accepts each once. It does NOT check the token. The work for
 * one proof is bounded, and only a valid proof signed with the right key reaches the store.
 */
export function createProofVerifier(options: ProofVerifierOptions): VerifyProof {
  const { publicUrl, replayStore, dpopAlgorithms: algorithms, dpopNonceSecret: secrets, now } = options;
  const { dpopProofMaxAgeSeconds: maxAgeSeconds, clockToleranceSeconds } = options;
  const nonces = secrets && createNonces(secrets, now);
  // RFC 9449 §4.3: `iat` or the time of the nonce is recent. With a nonce, the clock of the client may be wrong.
  const limits = { clockToleranceSeconds, maxAgeSeconds: nonces ? Number.POSITIVE_INFINITY : maxAgeSeconds };
  const maxAgeMs = maxAgeSeconds * 1000;
  const maxAheadMs = nonces ? clockDifferenceMs : maxAgeMs;
  const watch = createStoreWatch(options.onReplayStoreEvent);
  const outcomes = new WeakMap<Presentation, Promise<Refusal | undefined>>();

  const verify: VerifyProof = async (request, presented, thumbprint) => {
    const path = pathOf(presented.url);
    const url = path === undefined ? undefined : publicUrl + path;
    const expected = { ...presented, ...limits, url, nowMs: now(), algorithms };
    const proof = await checkProof(presented.proof, expected);
    if (proof instanceof Refusal) return proof;
    // RFC 9449 §7.1: the proof is valid, but the token belongs to another key.
    if (proof.thumbprint !== thumbprint) return refuse('proof_key_mismatch');
    const issuedAtMs = nonces ? ((await nonces.issuedAtMs(proof.nonce)) ?? Number.NaN) : proof.issuedAtMs;
    // Hashed together, so that clients with equal `jti` values do not collide.
    const key = await sha256(`${proof.thumbprint}.${proof.id}`);
    // `iat` is checked again, because the clock may have been set or the process paused since. Nothing is awaited until the proof is marked.
    const ageMs = now() - issuedAtMs;
    if (!(ageMs <= maxAgeMs && ageMs >= -maxAheadMs)) return refuseTime(proof);
    const lifetimeMs = Math.ceil(maxAgeMs + clockDifferenceMs - ageMs);
    const mark = () => replayStore.markUsed(key, lifetimeMs, Math.floor(issuedAtMs));
    return useProof(request, presented, replayStore, mark, watch);
  };

  async function refuseTime({ nonce }: GoodProof): Promise<Refusal> {
    if (!nonces) return refuse('proof_time');
    return new Refusal(nonce === undefined ? 'proof_nonce_missing' : 'proof_nonce_stale', 1, await nonces.issue());
  }

  return (request, presented, thumbprint) => {
    const known = outcomes.get(presented);
    if (known !== undefined) return known;
    const outcome = verify(request, presented, thumbprint);
    outcomes.set(presented, outcome);
    // A refusal is not kept: time passes, and outages end.
    const forget = () => outcomes.delete(presented);
    outcome.then((refusal) => refusal && forget(), forget);
    return outcome;
  };
}

/** Returns a proof with the expected values, or why it is rejected. Does NOT check whether it was used before. */
export async function checkProof(text: string | null, expected: ExpectedProof): Promise<GoodProof | Refusal> {
  const proof = readProof(text, expected.algorithms);
  if (proof instanceof Refusal) return proof;
  const refusal = (await refuseClaims(proof.claims, expected)) ?? (await refuseSignature(proof));
  if (refusal !== undefined) return refusal;
  const { jti, iat, nonce } = proof.claims;
  const thumbprint = await calculateJwkThumbprint(proof.jwk);
  return { thumbprint, id: String(jti), issuedAtMs: Number(iat) * 1000, nonce };
}

/** Checks everything that does not depend on the request. Of duplicate members the last one counts, as in jose. */
function readProof(text: string | null, accepted: readonly ProofAlgorithm[]): SignedProof | Refusal {
  if (text === null || text.trim() === '') return refuse('proof_missing');
  if (text.length > maxProofLength) return refuse('proof_oversized');
  if (text.includes(',')) return refuse('proof_repeated');
  const parts = text.split('.');
  if (parts.length !== 3 || !parts.every(isCanonicalBase64Url)) return refuse('proof_malformed');
  const [header, claims] = parts.map((part) => parseJsonObject(base64url.decode(part)));
  if (!header || !claims) return refuse('proof_malformed');

  // RFC 7515 §4.1.9: a media type, in any case, and `application/` can be left out.
  if (typeof header.typ !== 'string' || !/^(?:application\/)?dpop\+jwt$/i.test(header.typ)) return refuse('proof_type');
  const named = proofAlgorithmOf(header.alg);
  const algorithm = accepted.find((name) => name === named);
  if (algorithm === undefined) return refuse('proof_algorithm');
  if (header.crit !== undefined) return refuse('proof_critical_header');
  const jwk = readProofKey(header.jwk, algorithm);
  return jwk ? { text, algorithm, jwk, claims } : refuse('proof_key');
}

async function refuseClaims(claims: SignedProof['claims'], expected: ExpectedProof): Promise<Refusal | undefined> {
  const { htm, htu, ath, jti } = claims;
  const { method, url, token } = expected;
  if (htm !== method) return refuse('proof_method');
  if (!isSameUrl(htu, url)) return refuse('proof_url');
  if (!areTimesGood(claims, expected)) return refuse('proof_time');
  if (token !== undefined && ath !== (await sha256(token))) return refuse('proof_token_hash');
  if (typeof jti !== 'string' || jti === '' || jti.length > maxIdLength) return refuse('proof_id');
  return undefined;
}

async function refuseSignature({ text, algorithm, jwk }: SignedProof): Promise<Refusal | undefined> {
  const key = await importPublicJwk(jwk, algorithm);
  if (typeof key === 'string') return refuse('proof_key');
  try {
    await compactVerify(text, key);
    return undefined;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return refuse('proof_signature');
    throw error;
  }
}

/** `exp` and `nbf` are optional, and count where a proof has them (RFC 7519 §4.1.4 and §4.1.5). */
function areTimesGood(claims: SignedProof['claims'], expected: ExpectedProof): boolean {
  const { iat, exp = 0, nbf = 0 } = claims;
  const { nowMs, maxAgeSeconds, clockToleranceSeconds = 0 } = expected;
  if (![iat, exp, nbf].every(Number.isFinite)) return false;
  const isRecent = Math.abs(nowMs - Number(iat) * 1000) <= maxAgeSeconds * 1000;
  return isRecent && checkTime(claims, { clockToleranceSeconds }, nowMs / 1000) === undefined;
}

function isSameUrl(claimed: unknown, expected: string | undefined): boolean {
  if (typeof claimed !== 'string' || expected === undefined) return false;
  if (claimed === expected) return true;
  const normalized = normalizeUrl(claimed);
  return normalized !== undefined && normalized === normalizeUrl(expected);
}
