import type { Algorithm } from '../types.ts';

/** What a signature algorithm requires of its key (RFC 7518 §6, RFC 8037 §2, RFC 9964 §3). */
interface AlgorithmRule {
  readonly kty: 'RSA' | 'EC' | 'OKP' | 'AKP';
  /** Undefined for RSA and AKP. */
  readonly crv?: string;
  /** Length of `x` and `y`, or of `pub`. Undefined for RSA. */
  readonly partBytes?: number;
  /** A second name in headers and keys. */
  readonly alias?: string;
}

/** The signature algorithms that can be accepted, all asymmetric (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9964 §2). */
export const algorithmRules: Readonly<Record<Algorithm, AlgorithmRule>> = {
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256', partBytes: 32 },
  ES384: { kty: 'EC', crv: 'P-384', partBytes: 48 },
  ES512: { kty: 'EC', crv: 'P-521', partBytes: 66 },
  // RFC 9864.
  EdDSA: { kty: 'OKP', crv: 'Ed25519', partBytes: 32, alias: 'Ed25519' },
  'ML-DSA-44': { kty: 'AKP', partBytes: 1312 },
  'ML-DSA-65': { kty: 'AKP', partBytes: 1952 },
  'ML-DSA-87': { kty: 'AKP', partBytes: 2592 },
};

/** The algorithms that can be accepted. */
export const algorithms = Object.keys(algorithmRules) as readonly Algorithm[];

/** Returns the names that an algorithm has in headers and keys. */
export function namesOf(algorithm: Algorithm): string[] {
  const { alias } = algorithmRules[algorithm];
  return alias === undefined ? [algorithm] : [algorithm, alias];
}

const byName: ReadonlyMap<unknown, Algorithm> = new Map(
  algorithms.flatMap((algorithm) => namesOf(algorithm).map((name) => [name, algorithm] as const)),
);

/** Returns the algorithm of this name, or undefined if it is not supported. */
export const algorithmOf = (name: unknown): Algorithm | undefined => byName.get(name);
