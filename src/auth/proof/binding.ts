import type { RefusalReason } from '../refusals.ts';
import { type Claims, ownClaim } from '../token/claims.ts';
import { createProofVerifier, type ProvenRequest } from './proof.ts';
import { createMemoryReplayStore, type ReplayStore } from './replay-store.ts';
import type { DpopMode, Scheme } from './schemes.ts';

export interface BindingOptions {
  readonly dpop: DpopMode;
  /** Required if `dpop` is not `off`. */
  readonly publicUrl: string | undefined;
  /** Defaults to the memory of this process. */
  readonly replayStore?: ReplayStore | undefined;
  readonly now?: (() => number) | undefined;
}

/** Returns why a verified token cannot be used by this request, or undefined if it can. */
export type RefusePresentation = (
  request: ProvenRequest & Pick<Request, 'headers'>,
  presented: { readonly scheme: Scheme; readonly token: string },
  claims: Claims,
) => RefusalReason | undefined | Promise<RefusalReason | undefined>;

/**
 * Returns a function that decides whether a request may use its token. Anyone may use a plain token. A token that is bound to a
 * key requires a proof of that key (RFC 9449 §7). A token that is bound to a certificate is rejected (RFC 8705 §3). Returns
 * undefined if `dpop` is `off`, because the verifier then rejects bound tokens.
 */
export function createBindingCheck({
  dpop,
  publicUrl = '',
  replayStore,
  now,
}: BindingOptions): RefusePresentation | undefined {
  if (dpop === 'off') return undefined;
  const verifyProof = createProofVerifier({
    publicUrl,
    replayStore: replayStore ?? createMemoryReplayStore({ now }),
    now,
  });

  return (request, { scheme, token }, claims) => {
    if (scheme === 'Bearer') return 'cnf' in claims ? 'token_bound' : undefined;
    const confirmation = ownClaim(claims, 'cnf');
    const members = typeof confirmation === 'object' && confirmation !== null ? { ...confirmation } : {};
    const thumbprint = ownClaim(members, 'jkt');
    if (Object.hasOwn(members, 'x5t#S256')) return 'token_certificate_bound';
    if (typeof thumbprint !== 'string') return 'token_unbound';
    const verdict = verifyProof(request.headers.get('dpop'), request, token, thumbprint);
    return verdict.then((outcome) => (outcome === 'accepted' ? undefined : outcome));
  };
}
