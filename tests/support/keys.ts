import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import testKeys from './test-keys.json' with { type: 'json' };

/** A member of a key set. Its values are unknown, because many tests publish broken keys. */
export type PublishedKey = Readonly<Record<string, unknown>>;

const known = new Map<string, KeyObject>();

/** Returns the private key with this name from the file of test keys, or one that is created once per process. */
function namedKey(name: string, make?: () => { readonly privateKey: KeyObject }): KeyObject {
  const der: string | undefined = testKeys[name as keyof typeof testKeys];
  const read = () => der && createPrivateKey({ key: Buffer.from(der, 'base64'), format: 'der', type: 'pkcs8' });
  const key = known.get(name) || read() || make?.().privateKey;
  if (!key) throw new TypeError(`No key is called ${name}`);
  known.set(name, key);
  return key;
}

export const rsaKey = (name: string, bits = 2048) =>
  namedKey(`rsa ${bits} ${name}`, () => generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: 65537 }));

/** Like `rsaKey`, with a modulus of exactly this many bits. Only from the file, because Bun rounds down to a multiple of 128. */
export const exactRsaKey = (name: string, bits: number) => namedKey(`exact rsa ${bits} ${name}`);

export const cubicKey = () => namedKey('rsa cubic');

/** Returns the private key of this name for an algorithm. Those for RSA share keys. */
export function signingKey(algorithm: string, name: string): KeyObject {
  if (/^[RPH]S/.test(algorithm)) return rsaKey(name);
  const kind = algorithm === 'Ed25519' ? 'EdDSA' : algorithm;
  const namedCurve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[kind];
  const type = (kind === 'EdDSA' ? 'ed25519' : kind.toLowerCase()) as 'ed25519';
  const make = () => (namedCurve ? generateKeyPairSync('ec', { namedCurve }) : generateKeyPairSync(type));
  return namedKey(`${kind} ${name}`, make);
}

/** Returns the public half as a JWK with these overrides; `undefined` removes a member. */
export function publish(key: KeyObject, kid: string, overrides: PublishedKey = {}): PublishedKey {
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), kid, use: 'sig', ...overrides };
  return Object.fromEntries(Object.entries(jwk).filter(([, value]) => value !== undefined));
}
