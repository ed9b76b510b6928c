/** The signature algorithms that can be accepted, all of them asymmetric (RFC 7518 §3.1, RFC 8037 §3.1). */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
] as const;

export type Algorithm = (typeof algorithms)[number];

/** Returns the algorithm of this name, or undefined if it is not supported. `Ed25519` (RFC 9864) is another name of EdDSA. */
export function algorithmOf(name: unknown): Algorithm | undefined {
  return name === 'Ed25519' ? 'EdDSA' : algorithms.find((algorithm) => algorithm === name);
}
