/** The authorization schemes for access tokens (RFC 6750 §2.1, RFC 9449 §7.1). */
export type Scheme = 'Bearer' | 'DPoP';

/** `on` accepts DPoP-bound tokens with a proof, and plain bearer tokens. `required` rejects plain ones, and `off` bound ones. */
export type DpopMode = 'off' | 'on' | 'required';

/** Returns the accepted schemes, the preferred one last. */
export function acceptedSchemes(dpop: DpopMode): readonly Scheme[] {
  if (dpop === 'off') return ['Bearer'];
  return dpop === 'on' ? ['Bearer', 'DPoP'] : ['DPoP'];
}
