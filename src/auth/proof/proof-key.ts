import { algorithmOf, algorithmRules, algorithms } from '../keys/algorithms.ts';
import { type PublicJwk, privateMemberOf, readPublicJwk } from '../keys/jwk.ts';
import type { Algorithm, ProofAlgorithm } from '../types.ts';
import { isJsonObject } from '../values/json.ts';

/** The signatures of ML-DSA are longer than a proof may be. */
const canSignProofs = (name: Algorithm): name is ProofAlgorithm => algorithmRules[name].kty !== 'AKP';

/** The algorithms with which a proof can be signed. */
export const proofAlgorithms = algorithms.filter(canSignProofs);

/** Those that are accepted by default, because clients use them. */
export const defaultProofAlgorithms = [
  'ES256',
  'ES384',
  'RS256',
  'PS256',
  'EdDSA',
] as const satisfies readonly ProofAlgorithm[];

/** Returns the algorithm of this name; undefined if no proof can be signed with it. `Ed25519` is also EdDSA. */
export function proofAlgorithmOf(name: unknown): ProofAlgorithm | undefined {
  const named = algorithmOf(name);
  return proofAlgorithms.find((algorithm) => algorithm === named);
}

/**
 * Returns the public key in the `jwk` of a proof, without other members, or why it cannot be used: it does not fit the
 * algorithm, is weak, too large or not canonically encoded, or has private members. Does NOT read `use`, `key_ops` and
 * `alg`: a client that exports its key may say there that the key signs, and the proof shows that it does.
 */
export function readProofKey(jwk: unknown, algorithm: ProofAlgorithm): PublicJwk | string {
  if (!isJsonObject(jwk)) return 'the header has no jwk';
  const secret = privateMemberOf(jwk);
  if (secret !== undefined) return `it has the private member ${secret}, so others know the key now: replace it`;
  const { kty, crv, x, y, n, e } = jwk;
  return readPublicJwk({ kty, crv, x, y, n, e }, algorithm, true);
}
