import { Rejected, rejectFor } from '../rejections.ts';
import type { CheckedOptions } from '../types.ts';
import { sha256 } from '../values/base64url.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import { pathOf } from '../values/url.ts';
import { checkProof, type GoodProof, isCurrent, isInWindow } from './check-proof.ts';
import { createNonces } from './nonces.ts';
import type { Presentation } from './presentation.ts';
import { clockDifferenceMs, createStoreWatch, sharedMemoryStore } from './replay-store.ts';
import { shareAccepted, useOnce } from './use-once.ts';

/*
 * Which proofs a request may use: recent ones of the right key, with a nonce if that is required, each of them once.
 * Whether a proof is valid is decided in check-proof.ts.
 */

/** A proof that a request may use. */
export interface VerifiedProof {
  /** The nonce for the next proof, once that of this one has lived half its life (RFC 9449 §8.2). */
  readonly nextNonce: string | undefined;
  /** Marks the proof as used. Resolves to the reason for a rejection, or to undefined if it was not used before. */
  use(): Promise<Rejected | undefined>;
}

export type ProofVerifierOptions = Pick<TimeAndRandom, 'now'> &
  Pick<CheckedOptions, 'dpopAlgorithms' | 'dpopProofMaxAgeSeconds' | 'dpopNonceSecret' | 'publicUrl' | 'replayStore'> &
  Partial<Pick<CheckedOptions, 'onReplayStoreEvent'>> & { readonly withinLimit: WithinLimit };

/**
 * Returns a function that verifies DPoP proofs (RFC 9449 §4.3), each of which can be used once. It does NOT check the
 * token. The work for one proof is bounded, and only a valid proof signed with the right key reaches the store.
 */
export function createProofVerifier(options: ProofVerifierOptions) {
  const urls = [options.publicUrl ?? []].flat();
  const { replayStore = sharedMemoryStore(), withinLimit, now } = options;
  const { dpopAlgorithms: algorithms, dpopNonceSecret: secrets, dpopProofMaxAgeSeconds: windowSeconds } = options;
  const nonces = secrets && createNonces(secrets, now);
  // RFC 9449 §4.3: `iat` or the time of the nonce is recent. With a nonce, the clock of the client may be wrong.
  const maxAgeSeconds = nonces ? Number.POSITIVE_INFINITY : windowSeconds;
  const windowMs = windowSeconds * 1000;
  const maxAheadMs = nonces ? clockDifferenceMs : windowMs;
  const watch = createStoreWatch(options.onReplayStoreEvent);
  const proofs = new WeakMap<Presentation, Promise<Rejected | VerifiedProof>>();
  const uses = new WeakMap<GoodProof, Promise<Rejected | undefined>>();

  async function verify(request: object, presented: Presentation, thumbprint: string) {
    // Of the Host header, nothing is used but which of the names it is.
    const path = pathOf(presented.url);
    const url = path === undefined ? undefined : `${urls[presented.name ?? 0] ?? ''}${path}`;
    const expected = { ...presented, url, nowMs: now(), algorithms, maxAgeSeconds };
    const proof = await checkProof(presented.proof, expected);
    if (proof instanceof Rejected) return proof;
    // RFC 9449 §7.1: the proof is valid, but the token belongs to another key.
    if (proof.thumbprint !== thumbprint) return rejectFor('proof_key_mismatch');
    const issuedAtMs = nonces ? ((await nonces.issuedAtMs(proof.claims.nonce)) ?? Number.NaN) : proof.claims.iat * 1000;
    const late = await rejectTime(proof, issuedAtMs);
    if (late) return late;
    // Hashed together, so that clients with equal `jti` values do not collide.
    const key = await sha256(`${proof.thumbprint}.${proof.claims.jti}`);
    const nextNonce = nonces && now() - issuedAtMs >= windowMs / 2 ? await nonces.issue() : undefined;
    const use = async () => {
      // Again, because the clock may have been set or the process paused. Nothing is awaited until the proof is marked.
      const ageMs = now() - issuedAtMs;
      if (!isInWindow(ageMs, windowMs, maxAheadMs)) return rejectTime(proof, issuedAtMs);
      const lifetimeMs = Math.ceil(windowMs + clockDifferenceMs - ageMs);
      return useOnce(request, presented, replayStore, () => mark(key, lifetimeMs, Math.floor(issuedAtMs)));
    };
    return { nextNonce, use: () => shareAccepted(uses, proof, use) };
  }

  /** A store of the application may return anything. */
  async function mark(key: string, lifetimeMs: number, issuedAtMs: number): Promise<Rejected | undefined> {
    const limited = new Limited();
    try {
      const isFirst = await withinLimit(limited, replayStore.markUsed(key, lifetimeMs, issuedAtMs, limited));
      if (typeof isFirst !== 'boolean') throw new TypeError('markUsed must return a boolean');
      watch();
      return isFirst ? undefined : rejectFor('proof_replayed');
    } catch (fault) {
      watch(fault);
      return rejectFor('replay_unknown');
    }
  }

  /** The clock of the client is where `iat` was when its proof was made. */
  async function rejectTime({ claims }: GoodProof, issuedAtMs: number): Promise<Rejected | undefined> {
    const ageMs = now() - issuedAtMs;
    const isOfNow = isInWindow(ageMs, windowMs, maxAheadMs);
    if (isOfNow && isCurrent(claims, windowSeconds, claims.iat + ageMs / 1000)) return undefined;
    if (isOfNow || !nonces) return rejectFor('proof_time');
    const reason = claims.nonce === undefined ? 'proof_nonce_missing' : 'proof_nonce_stale';
    return new Rejected(reason, 1, await nonces.issue());
  }

  /**
   * Resolves to why a request is rejected, or to its proof, which is not used yet. Further calls for the same
   * presentation share this result, and all verifiers share the use of the proof.
   * @param request the object that identifies the use
   * @param presented with a token that is already verified; of the URL, only the path is used
   * @param thumbprint of the key that the token is bound to: its `cnf.jkt` (RFC 9449 §6.1)
   */
  return (request: object, presented: Presentation, thumbprint: string): Promise<Rejected | VerifiedProof> =>
    shareAccepted(proofs, presented, () => verify(request, presented, thumbprint));
}
