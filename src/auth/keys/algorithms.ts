import type { Algorithm } from '../types.ts';

/** What a signature algorithm requires of its key (RFC 7518 §6, RFC 8037 §2, RFC 9964 §3), and its names in headers and keys. */
export interface AlgorithmRule {
  readonly kty: 'RSA' | 'EC' | 'OKP' | 'AKP';
  /** Undefined for RSA and AKP. */
  readonly crv?: string;
  /** Length of `x` and `y`, or of `pub`. Undefined for RSA. */
  readonly partBytes?: number;
  readonly names: readonly string[];
}

const rsa = (name: string): AlgorithmRule => ({ kty: 'RSA', names: [name] });
const ec = (name: string, crv: string, partBytes: number): AlgorithmRule => ({
  kty: 'EC',
  crv,
  partBytes,
  names: [name],
});
const mlDsa = (name: string, partBytes: number): AlgorithmRule => ({ kty: 'AKP', partBytes, names: [name] });

/** The signature algorithms that can be accepted, all of them asymmetric (RFC 7518 §3.1, RFC 8037 §3.1, RFC 9964 §2). */
export const algorithmRules = {
  RS256: rsa('RS256'),
  RS384: rsa('RS384'),
  RS512: rsa('RS512'),
  PS256: rsa('PS256'),
  PS384: rsa('PS384'),
  PS512: rsa('PS512'),
  ES256: ec('ES256', 'P-256', 32),
  ES384: ec('ES384', 'P-384', 48),
  ES512: ec('ES512', 'P-521', 66),
  // Ed25519 is its name in RFC 9864.
  EdDSA: { kty: 'OKP', crv: 'Ed25519', partBytes: 32, names: ['EdDSA', 'Ed25519'] },
  'ML-DSA-44': mlDsa('ML-DSA-44', 1312),
  'ML-DSA-65': mlDsa('ML-DSA-65', 1952),
  'ML-DSA-87': mlDsa('ML-DSA-87', 2592),
} as const satisfies Readonly<Record<Algorithm, AlgorithmRule>>;

/** The names of all algorithms that can be accepted. */
export const algorithms = Object.keys(algorithmRules) as readonly Algorithm[];

const byName: ReadonlyMap<unknown, Algorithm> = new Map(
  algorithms.flatMap((algorithm) => algorithmRules[algorithm].names.map((name) => [name, algorithm] as const)),
);

/** Returns the algorithm of this name, or undefined if it is not supported. `Ed25519` is another name of `EdDSA`. */
export function algorithmOf(name: unknown): Algorithm | undefined {
  return byName.get(name);
}
