/*
 * The specification's words for a rejection by the guard: one code for each reason, and 401 where the package has 400.
 * The errors that do not come from the guard are in http/responses.ts.
 */
import type { RejectionDescription } from 'protected-api';

/** Every other reason is a fault of the header, the token or its proof: `invalid_header`. */
const codes: Partial<Readonly<Record<RejectionDescription['reason'], string>>> = {
  credentials_missing: 'authorization_header_missing',
  token_expired: 'token_expired',
  token_too_old: 'token_expired',
  issuer_mismatch: 'invalid_claims',
  audience_mismatch: 'invalid_claims',
  required_claim_mismatch: 'invalid_claims',
  claims_unexpected: 'invalid_claims',
  authentication_insufficient: 'insufficient_user_authentication',
  scope_insufficient: 'Unauthorized',
  access_denied: 'Unauthorized',
  keys_unavailable: 'key_set_unavailable',
  replay_unknown: 'replay_store_unavailable',
  revocation_unavailable: 'revocation_unavailable',
  method_not_allowed: 'method_not_allowed',
  introspection_unavailable: 'introspection_unavailable',
  issuer_unavailable: 'issuer_unavailable',
};

/** Returns the response of the specification for a reason of the guard. */
export const formatRejection = ({ reason, status, description }: RejectionDescription) => ({
  status: status === 400 ? 401 : status,
  body: { code: codes[reason] ?? 'invalid_header', description },
});
