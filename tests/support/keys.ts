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

/**
 * Like `rsaKey`, with a modulus of exactly this many bits. Only from the file, because Bun rounds down to a multiple of
 * 128.
 */
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

/**
 * Returns a key set with every kind of faulty key, and every key that an attack could use. The valid keys in it must
 * still work.
 */
export const crowdedKeySet = (): readonly unknown[] => [
  ...[null, 1, 'text', [], {}, { kty: 'RSA' }, { kid: 'x' }],
  { ...createPublicKey(rsaKey('nameless')).export({ format: 'jwk' }), use: 'sig' },
  publish(rsaKey('other'), 'other'),
  publish(cubicKey(), 'cubic'),
  publish(signingKey('ES256', 'elliptic'), 'elliptic'),
  { kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') },
  publish(rsaKey('spoilt'), 'spoilt', { n: '!!!' }),
  publish(rsaKey('weak', 1024), 'spoilt'),
  publish(rsaKey('spoilt'), 'spoilt'),
  publish(rsaKey('with-alg'), 'with-alg', { alg: 'RS256' }),
  publish(rsaKey('without-use'), 'without-use', { use: undefined }),
  publish(rsaKey('to-verify'), 'to-verify', { use: undefined, key_ops: ['sign', 'verify'] }),
  publish(rsaKey('strong', 3072), 'strong'),
  publish(rsaKey('annotated'), 'annotated', { x5t: 'AAAA', 'x-note': { a: [1] } }),
  publish(rsaKey('first twin'), 'twins'),
  publish(rsaKey('second twin'), 'twins'),
  publish(rsaKey('weak', 1024), 'weak'),
  publish(rsaKey('encrypting'), 'encrypting', { use: 'enc' }),
  publish(rsaKey('numeric-use'), 'numeric-use', { use: 1 }),
  publish(rsaKey('for-ps256'), 'for-ps256', { alg: 'PS256' }),
  publish(rsaKey('signing-key'), 'signing-key'),
];
