import { base64url, calculateJwkThumbprint, compactVerify, errors } from 'jose';
import { importPublicJwk, type PublicJwk } from '../keys/jwk.ts';
import { Refusal, refuse } from '../refusals.ts';
import { checkTime } from '../token/claims.ts';
import type { CheckedOptions, ProofAlgorithm, ReplayStore } from '../types.ts';
import { isCanonicalBase64Url, sha256 } from '../values/base64url.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { parseJsonObject } from '../values/json.ts';
import { pathOf } from '../values/text.ts';
import { createNonces } from './nonces.ts';
import { normalizeUrl } from './normalize-url.ts';
import { type Presentation, useProof } from './presentation.ts';
import { proofAlgorithmOf, readProofKey } from './proof-key.ts';
import { clockDifferenceMs, createStoreWatch } from './replay-store.ts';

/** A proof that a request may use. */
export interface VerifiedProof {
  /** The nonce for the next proof, once that of this one has lived half its life (RFC 9449 §8.2). */
  readonly nextNonce: string | undefined;
  /** Marks the proof as used. Resolves to the reason for a rejection, or to undefined if it was not used before. */
  use(): Promise<Refusal | undefined>;
}

/**
 * Verifies the proof that a request presents. Resolves to the reason for a rejection, or to the proof, which is not used yet.
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
) => Promise<Refusal | VerifiedProof>;

export interface ProofVerifierOptions
  extends Pick<CheckedOptions, 'dpopAlgorithms' | 'dpopProofMaxAgeSeconds' | 'dpopNonceSecret'>,
    Partial<Pick<CheckedOptions, 'onReplayStoreEvent'>>,
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
  /**
   * Maximum difference between `iat` and the current time, in either direction, and the tolerance of `exp` and `nbf`. Infinite if a
   * nonce says when it was made.
   */
  readonly maxAgeSeconds: number;
}

/** A proof with a valid signature and the expected values. It may have been used before. */
export interface GoodProof {
  /** Thumbprint of the key that signed it (RFC 7638). */
  readonly thumbprint: string;
  readonly id: string;
  readonly issuedAtMs: number;
  /** Its times are numbers. `nonce` is not checked. */
  readonly claims: SignedProof['claims'];
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
 * Returns a function that verifies DPoP proofs (RFC 9449 §4.3), each of which can be used once. It does NOT check the token. The
 * work for one proof is bounded, and only a valid proof signed with the right key reaches the store.
 */
export function createProofVerifier(options: ProofVerifierOptions): VerifyProof {
  const { publicUrl, replayStore, dpopAlgorithms: algorithms, dpopNonceSecret: secrets, now } = options;
  const windowSeconds = options.dpopProofMaxAgeSeconds;
  const nonces = secrets && createNonces(secrets, now);
  // RFC 9449 §4.3: `iat` or the time of the nonce is recent. With a nonce, the clock of the client may be wrong.
  const maxAgeSeconds = nonces ? Number.POSITIVE_INFINITY : windowSeconds;
  const windowMs = windowSeconds * 1000;
  const maxAheadMs = nonces ? clockDifferenceMs : windowMs;
  const watch = createStoreWatch(options.onReplayStoreEvent);
  const proofs = new WeakMap<Presentation, Promise<Refusal | VerifiedProof>>();
  const uses = new WeakMap<Presentation, Promise<Refusal | undefined>>();

  async function verify(request: object, presented: Presentation, thumbprint: string) {
    const path = pathOf(presented.url);
    const url = path === undefined ? undefined : publicUrl + path;
    const expected = { ...presented, url, nowMs: now(), algorithms, maxAgeSeconds };
    const proof = await checkProof(presented.proof, expected);
    if (proof instanceof Refusal) return proof;
    // RFC 9449 §7.1: the proof is valid, but the token belongs to another key.
    if (proof.thumbprint !== thumbprint) return refuse('proof_key_mismatch');
    const issuedAtMs = nonces ? ((await nonces.issuedAtMs(proof.claims.nonce)) ?? Number.NaN) : proof.issuedAtMs;
    const late = await refuseTime(proof, issuedAtMs);
    if (late) return late;
    // Hashed together, so that clients with equal `jti` values do not collide.
    const key = await sha256(`${proof.thumbprint}.${proof.id}`);
    const nextNonce = nonces && now() - issuedAtMs >= windowMs / 2 ? await nonces.issue() : undefined;
    const use = async () => {
      // Again, because the clock may have been set or the process paused since. Nothing is awaited until the proof is marked.
      const ageMs = now() - issuedAtMs;
      if (!isInWindow(ageMs)) return refuseTime(proof, issuedAtMs);
      const lifetimeMs = Math.ceil(windowMs + clockDifferenceMs - ageMs);
      const mark = () => replayStore.markUsed(key, lifetimeMs, Math.floor(issuedAtMs));
      return useProof(request, presented, replayStore, mark, watch);
    };
    return { nextNonce, use: () => keepAccepted(uses, presented, use) };
  }

  const isInWindow = (ageMs: number) => ageMs <= windowMs && ageMs >= -maxAheadMs;

  /** The clock of the client is where `iat` was when its proof was made. */
  async function refuseTime({ claims }: GoodProof, issuedAtMs: number): Promise<Refusal | undefined> {
    const ageMs = now() - issuedAtMs;
    const ofClient = Number(claims.iat) + ageMs / 1000;
    if (isInWindow(ageMs)) return isCurrent(claims, windowSeconds, ofClient) ? undefined : refuse('proof_time');
    if (!nonces) return refuse('proof_time');
    const reason = claims.nonce === undefined ? 'proof_nonce_missing' : 'proof_nonce_stale';
    return new Refusal(reason, 1, await nonces.issue());
  }

  return (request, presented, thumbprint) =>
    keepAccepted(proofs, presented, () => verify(request, presented, thumbprint));
}

/** Returns what was found before, or finds it. A refusal is not kept: time passes, and outages end. */
function keepAccepted<Found>(
  known: WeakMap<Presentation, Promise<Found>>,
  presented: Presentation,
  find: () => Promise<Found>,
): Promise<Found> {
  const outcome = known.get(presented) ?? find();
  known.set(presented, outcome);
  const forget = () => known.delete(presented);
  outcome.then((found) => found instanceof Refusal && forget(), forget);
  return outcome;
}

/** Returns a proof with the expected values, or why it is rejected. Does NOT check whether it was used before. */
export async function checkProof(text: string | null, expected: ExpectedProof): Promise<GoodProof | Refusal> {
  const proof = readProof(text, expected.algorithms);
  if (proof instanceof Refusal) return proof;
  const refusal = (await refuseClaims(proof.claims, expected)) ?? (await refuseSignature(proof));
  if (refusal !== undefined) return refusal;
  const { claims } = proof;
  const thumbprint = await calculateJwkThumbprint(proof.jwk);
  return { thumbprint, id: String(claims.jti), issuedAtMs: Number(claims.iat) * 1000, claims };
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
  if (!isSameUrl(htu, url)) return new Refusal('proof_url', 1, undefined, url);
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

function areTimesGood(claims: SignedProof['claims'], { nowMs, maxAgeSeconds }: ExpectedProof): boolean {
  const { iat, exp = 0, nbf = 0 } = claims;
  if (![iat, exp, nbf].every(Number.isFinite)) return false;
  const isRecent = Math.abs(nowMs - Number(iat) * 1000) <= maxAgeSeconds * 1000;
  return isRecent && isCurrent(claims, maxAgeSeconds, nowMs / 1000);
}

/** `exp` and `nbf` are optional, and count where a proof has them (RFC 7519 §4.1.4 and §4.1.5). */
const isCurrent = (claims: SignedProof['claims'], toleranceSeconds: number, nowSeconds: number) =>
  checkTime(claims, { clockToleranceSeconds: toleranceSeconds }, nowSeconds) === undefined;

function isSameUrl(claimed: unknown, expected: string | undefined): boolean {
  if (typeof claimed !== 'string' || expected === undefined) return false;
  if (claimed === expected) return true;
  const normalized = normalizeUrl(claimed);
  return normalized !== undefined && normalized === normalizeUrl(expected);
}
