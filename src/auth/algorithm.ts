/** The asymmetric signature algorithms that tokens can be accepted with (RFC 7518 §3.1, RFC 8037 §3.1). */
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

/** Returns the algorithm that a token, a key or a setting names; undefined for any other. `Ed25519` (RFC 9864) is EdDSA. */
export function algorithmOf(name: unknown): Algorithm | undefined {
  return name === 'Ed25519' ? 'EdDSA' : algorithms.find((algorithm) => algorithm === name);
}
