import { type Explained, isBoundBy, issuerOf, show } from './checks.ts';

type Advice = (explained: Explained) => string;

const requestAudience: Advice = ({ settings: { audience } }) =>
  `the client must request a token for ${audience.join(' or ')} (Auth0: the parameter audience)`;

/** What to do about the commonest reasons. The others are described by the answer itself. */
const advices: Readonly<Record<string, Advice>> = {
  token_opaque: (explained) => `${requestAudience(explained)}. Then the issuer sends a JWT`,
  token_encrypted: () => 'configure the issuer to sign access tokens without encrypting them',
  algorithm_unsupported: ({ token, settings }) =>
    /^([REP]S\d+|EdDSA|Ed25519)$/.test(show(token.header.alg))
      ? `set ALGORITHMS to ${show(token.header.alg)} if the issuer signs with it`
      : `configure the issuer to sign with ${settings.algorithms.join(' or ')}`,
  type_unsupported: ({ settings }) =>
    `the client must send an access token, not another kind of JWT such as an ID token${settings.tokenType === 'jwt' ? '' : '. If the issuer gives its access tokens no typ, set TOKEN_TYPE to jwt'}`,
  key_unknown: ({ settings, token }) =>
    `${issuerOf(settings, token)} does not publish the key ${show(token.header.kid)}. Check ISSUER and JWKS_URI`,
  keys_unavailable: ({ settings, token }) =>
    `the keys of ${issuerOf(settings, token)} cannot be fetched. Check ISSUER and JWKS_URI`,
  signature_invalid: () => 'the token was changed, or another issuer has signed it. Check ISSUER and JWKS_URI',
  issuer_mismatch: ({ token }) =>
    `set ISSUER to ${show(token.claims.iss)} if you trust this issuer. Every character counts`,
  audience_mismatch: requestAudience,
  required_claim_mismatch: () => 'change REQUIRED_CLAIMS, or the claims that the issuer adds',
  token_expired: () => 'the client must request a new token',
  token_not_yet_valid: () => 'the clocks differ. CLOCK_TOLERANCE_SECONDS can be up to 300',
  token_bound: ({ token }) =>
    isBoundBy('x5t#S256', token) && !isBoundBy('jkt', token)
      ? 'set CLIENT_CERT_HEADER to the header in which a proxy sends the certificate of the client, or request a token that is not bound'
      : 'set DPOP to on for clients that send proofs, or request a token that is not bound',
  token_certificate_bound: () =>
    'set CLIENT_CERT_HEADER to the header in which a proxy sends the certificate of the client',
  token_confirmation_unsupported: () =>
    'request a token that is bound to a key (jkt), to a certificate (x5t#S256) or not at all',
  certificate_missing: () =>
    'a request also needs the certificate of the client in CLIENT_CERT_HEADER, which cannot be checked here',
  token_unbound: () => 'set DPOP to on to accept tokens without a proof as well',
  proof_missing: ({ settings }) =>
    `a request also needs a proof in the header DPoP, signed with one of DPOP_ALGORITHMS (${settings.dpopAlgorithms.join(', ')}), which cannot be checked here`,
};

/** Returns what to do about a rejection, or undefined if its description says all there is. */
export function adviceFor(reason: string, explained: Explained): string | undefined {
  return advices[reason]?.(explained);
}
