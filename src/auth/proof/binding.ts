import { type Refusal, refuse } from '../refusals.ts';
import { type Claims, ownClaim } from '../token/claims.ts';
import { createProofVerifier, type ProvenRequest } from './proof.ts';
import type { ProofAlgorithm } from './proof-key.ts';
import { type ReplayStore, sharedMemoryStore } from './replay-store.ts';
import type { DpopMode, Scheme } from './schemes.ts';

export interface BindingOptions {
  readonly dpop: DpopMode;
  /** Required if `dpop` is not `off`. */
  readonly publicUrl: string | undefined;
  /** Accepted signature algorithms of proofs. Defaults to all that are supported. */
  readonly dpopAlgorithms?: readonly ProofAlgorithm[] | undefined;
  /** Defaults to a store in memory that all guards of this process share. */
  readonly replayStore?: ReplayStore | undefined;
  /** Wall-clock time in milliseconds since 1970; defaults to `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** Returns why a verified token cannot be used by this request, or undefined if it can. */
export type RefusePresentation = (
  request: ProvenRequest,
  presented: { readonly scheme: Scheme; readonly token: string },
  claims: Claims,
) => Refusal | undefined | Promise<Refusal | undefined>;

/**
 * Returns a function that decides whether a request may use its token. Anyone may use a plain token. A token that is bound to a
 * key requires a proof of that key (RFC 9449 §7). A token that is bound to a certificate is rejected (RFC 8705 §3). Returns
 * undefined if `dpop` is `off`, because the verifier then rejects bound tokens.
 */
export function createBindingCheck(options: BindingOptions): RefusePresentation | undefined {
  const { dpop, publicUrl = '', dpopAlgorithms: algorithms, replayStore, now } = options;
  if (dpop === 'off') return undefined;
  const verifyProof = createProofVerifier({
    publicUrl,
    algorithms,
    replayStore: replayStore ?? sharedMemoryStore(),
    now,
  });

  return (request, { scheme, token }, claims) => {
    if (scheme === 'Bearer') return 'cnf' in claims ? refuse('token_bound') : undefined;
    const confirmation = ownClaim(claims, 'cnf');
    const members = typeof confirmation === 'object' && confirmation !== null ? { ...confirmation } : {};
    const thumbprint = ownClaim(members, 'jkt');
    if (Object.hasOwn(members, 'x5t#S256')) return refuse('token_certificate_bound');
    if (typeof thumbprint !== 'string') return refuse('token_unbound');
    return verifyProof(request, token, thumbprint);
  };
}
