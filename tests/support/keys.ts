import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import testKeys from './test-keys.json' with { type: 'json' };

/** A member of a key set. Its values are unknown, because many tests publish broken keys. */
export type PublishedKey = Readonly<Record<string, unknown>>;

const known = new Map<string, KeyObject>();

/**
 * Returns the private key of this name: from the file of test keys, so that no test waits for large primes, else one that is made
 * once per process.
 */
export function namedKey(name: string, make?: () => { readonly privateKey: KeyObject }): KeyObject {
  const der: string | undefined = testKeys[name as keyof typeof testKeys];
  const read = () => der && createPrivateKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'pkcs8' });
  const key = known.get(name) || read() || make?.().privateKey;
  if (!key) throw new TypeError(`No key is called ${name}`);
  known.set(name, key);
  return key;
}

/** Returns the RSA private key of this name, usually of 2048 bits. */
export const rsaKey = (name: string, bits = 2048) =>
  namedKey(`rsa ${bits} ${name}`, () => generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: 65537 }));

/** Like `rsaKey`, with a modulus of just so many bits, which Bun itself rounds down to a multiple of 128: only from the file. */
export const exactRsaKey = (name: string, bits: number) => namedKey(`exact rsa ${bits} ${name}`);

/** A key with the exponent 3. */
export const cubicKey = () => namedKey('rsa cubic');

/** Returns the P-256 private key of this name. */
export const ecKey = (name: string) => namedKey(`ec ${name}`, () => generateKeyPairSync('ec', { namedCurve: 'P-256' }));

/**
 * Returns the public half as the specification's key object (`kty`, `kid`, `use`, `n`, `e`), with `overrides` laid over it;
 * an override of `undefined` takes the member away.
 */
export function publish(key: KeyObject, kid: string, overrides: PublishedKey = {}): PublishedKey {
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid, use: 'sig', ...overrides };
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== undefined));
}
