import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import * as base64url from 'jose/base64url';
import type { Members } from '../values/json.ts';
import type { Signer } from './signer.ts';

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
