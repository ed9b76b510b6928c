import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import * as base64url from 'jose/base64url';
import type { Members } from '../values/json.ts';

/** How long issued tokens are valid by default. */
export const lifetimeSeconds = 3600;

/** Returns the time as tokens have it: seconds since 1970. */
export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** A private key in memory, and its public half as a JWK. */
export interface Signer {
  readonly jwk: Readonly<Record<string, unknown>>;
  /** The thumbprint of the key: an API that has cached another key of the same name would reject its tokens. */
  readonly kid: string;
  /** Returns a JWT that is signed regardless of its header. Undefined members are left out. */
  sign(header: object, claims: object): string;
}

/** Returns a new private key for this algorithm. */
export const createKey = (algorithm: 'RS256' | 'ES256'): KeyObject =>
  algorithm === 'RS256'
    ? generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    : generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** Returns a key pair for this algorithm, by default a new one. */
export function createSigner(algorithm: 'RS256' | 'ES256', key = createKey(algorithm)): Signer {
  const encode = (part: object) => base64url.encode(JSON.stringify(part));
  const jwk: Members = { ...createPublicKey(key).export({ format: 'jwk' }) };
  return {
    jwk,
    kid: thumbprintOf(jwk),
    sign(header, claims) {
      const input = `${encode({ alg: algorithm, ...header })}.${encode(claims)}`;
      // An EC signature is both numbers side by side, without ASN.1 (RFC 7518 §3.4).
      const signature = sign('sha256', new TextEncoder().encode(input), { key, dsaEncoding: 'ieee-p1363' });
      return `${input}.${base64url.encode(signature)}`;
    },
  };
}

/** RFC 7638 §3. JSON.stringify leaves out members that a key of this type does not have, and the names are in order. */
const thumbprintOf = ({ crv, e, kty, n, x, y }: Members) =>
  createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url');
