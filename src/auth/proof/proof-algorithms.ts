import { algorithmOf, algorithmRules, algorithms } from '../keys/algorithms.ts';
import type { Algorithm, ProofAlgorithm } from '../types.ts';

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
