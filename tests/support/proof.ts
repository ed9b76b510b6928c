import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { CheckBinding } from '../../src/auth/proof/binding.ts';
import { defaultProofAlgorithms } from '../../src/auth/proof/proof-algorithms.ts';
import { Rejected } from '../../src/auth/rejections.ts';
import type { RejectionReason } from '../../src/auth/types.ts';
import { systemClock } from '../../src/auth/values/clock.ts';
import { createTimeLimit } from '../../src/auth/values/time-limit.ts';
import { assemble } from '../../src/probe/forge/forge.ts';
import { signingKey } from './keys.ts';
import { nowSeconds as now, type TokenOverrides } from './mint.ts';

export const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');

/**
 * Returns the private key of this name that signs proofs with this algorithm; for an algorithm that signs none, one for
 * ES256.
 */
export function proofKey(algorithm = 'ES256', name = 'client'): KeyObject {
  return signingKey(/^(?:[EPR]S|Ed)/.test(algorithm) ? algorithm : 'ES256', name);
}

export const publicJwk = (key: KeyObject): Readonly<Record<string, unknown>> => ({
  ...createPublicKey(key).export({ format: 'jwk' }),
});

/** Returns the thumbprint of a key (RFC 7638): the `cnf.jkt` of a token bound to it. */
export function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicJwk(key);
  // JSON.stringify leaves out undefined members, and the names are in order.
  return sha256(JSON.stringify({ crv, e, kty, n, x, y }));
}

export interface ProofOverrides
  extends Pick<TokenOverrides, 'header' | 'claims' | 'key' | 'headerText' | 'payloadText' | 'reshape'> {
  readonly algorithm?: string;
}

interface ProofTarget {
  readonly method?: string;
  readonly url: string;
  readonly token: string;
  readonly nowSeconds?: number;
}

/** Uses a proof that was verified, and returns why its request is rejected, if it is. */
export async function useVerified(verified: ReturnType<CheckBinding>): Promise<RejectionReason | undefined> {
  const proof = await verified;
  return (proof instanceof Rejected ? proof : await proof?.use())?.reason;
}

export const anyProof = {
  dpopAlgorithms: defaultProofAlgorithms,
  dpopProofMaxAgeSeconds: 60,
  dpopNonceSecret: undefined,
  now: Date.now,
  withinLimit: createTimeLimit(systemClock, 5000),
};

/** Returns the header and the claims of a proof that is accepted once. */
export function goodProofParts(target: ProofTarget, key: KeyObject, alg: string) {
  const { method = 'GET', url, token, nowSeconds = now() } = target;
  return {
    header: { typ: 'dpop+jwt', alg, jwk: publicJwk(key) },
    claims: { jti: crypto.randomUUID(), htm: method, htu: url, iat: nowSeconds, ath: sha256(token) },
  };
}

/** A key that does not fit the `alg` of the header signs with its own algorithm. */
function signableWith(key: KeyObject, algorithm: string): string {
  const able = {
    ec: ['ES256', 'ES384', 'ES512'],
    rsa: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
    ed25519: ['EdDSA'],
  }[String(key.asymmetricKeyType)];
  return able?.find((name) => name === algorithm) ?? able?.[0] ?? '';
}

export function makeProof(target: ProofTarget, overrides: ProofOverrides = {}): string {
  const { algorithm = 'ES256', key = proofKey(algorithm) } = overrides;
  const signedAs = signableWith(key, algorithm);
  return assemble(goodProofParts(target, key, algorithm), { ...overrides, key, signedAs });
}

export const bound = { jkt: thumbprintOf(proofKey()) };

export const proven = (token: string, url: string) => ({
  authorization: `DPoP ${token}`,
  dpop: makeProof({ url, token }),
});
