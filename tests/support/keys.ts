import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { generateExactRsaKey } from './exact-rsa-key.ts';

/** A member of a key set. Its values are unknown, because many tests publish broken keys. */
export type PublishedKey = Readonly<Record<string, unknown>>;

const pairs = new Map<string, KeyObject>();

function remembered(name: string, make: () => KeyObject): KeyObject {
  const known = pairs.get(name);
  if (known !== undefined) return known;
  const made = make();
  pairs.set(name, made);
  return made;
}

/** Returns the RSA private key of this name, which is generated once per process, because that takes a tenth of a second. */
export function rsaKey(name: string, bits = 2048): KeyObject {
  return remembered(
    `rsa ${bits} ${name}`,
    () => generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: 65537 }).privateKey,
  );
}

/** Like `rsaKey`, with a modulus of just so many bits where the number is not one that keys usually have. */
export function exactRsaKey(name: string, bits: number): KeyObject {
  return remembered(`exact rsa ${bits} ${name}`, () => generateExactRsaKey(bits));
}

/** Returns the P-256 private key of this name, which is generated once per process. */
export function ecKey(name: string): KeyObject {
  return remembered(`ec ${name}`, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/**
 * Returns the public half as the specification's key object (`kty`, `kid`, `use`, `n`, `e`), with `overrides` laid over it;
 * an override of `undefined` takes the member away.
 */
export function publish(key: KeyObject, kid: string, overrides: PublishedKey = {}): PublishedKey {
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid, use: 'sig', ...overrides };
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== undefined));
}
