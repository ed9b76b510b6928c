import { type Claims, ownClaim } from './claims.ts';
import type { DpopMode, Scheme } from './credentials.ts';
import { createProofVerifier, type ProvenRequest } from './dpop.ts';
import type { RefusalReason } from './refusal.ts';
import { createMemoryReplayStore, type ReplayStore } from './replay-store.ts';

export interface BindingOptions {
  readonly dpop: DpopMode;
  /** Known whenever `dpop` is not off. */
  readonly publicUrl: string | undefined;
  /** The memory of this process by default. */
  readonly replayStore?: ReplayStore | undefined;
  readonly now?: (() => number) | undefined;
}

/** Returns why a verified token is refused for how it is presented; undefined when it is not. */
export type RefusePresentation = (
  request: ProvenRequest & Pick<Request, 'headers'>,
  presented: { readonly scheme: Scheme; readonly token: string },
  claims: Claims,
) => RefusalReason | undefined | Promise<RefusalReason | undefined>;

/**
 * Returns a function that decides whether the sender of a request may use its token: a plain one is for whoever has it, one
 * that is bound to a key is for whoever proves to have that key (RFC 9449 §7), and one that is bound to a certificate is for
 * nobody here (RFC 8705 §3). Undefined when `dpop` is off, because the verifier then refuses bound tokens.
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
