import { Buffer } from 'node:buffer';
import { constants, createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Members } from '../values/json.ts';

// Here a token is made with exactly one fault and a real signature. Which faults there are is in the tables of rows/.

/** What is changed in a good token. */
export interface Change {
  /** Replaces members of the header. `undefined` removes one. */
  readonly header?: Members;
  /** Replaces members of the claims. `undefined` removes one. */
  readonly claims?: Members;
  readonly key?: KeyObject;
  /** The algorithm of the signature, whatever the header says: by default that of good tokens. */
  readonly signedAs?: string;
  /** The text of the header or the payload, for JSON that JSON.stringify cannot produce. */
  readonly headerText?: string | Uint8Array;
  readonly payloadText?: string | Uint8Array;
  /** Changes an encoded part before it is signed, so that only its encoding is wrong. */
  readonly respell?: { readonly part: 'header' | 'payload'; readonly as: (encoded: string) => string };
  readonly signWith?: (input: Buffer) => Uint8Array;
  /** Changes the finished token. */
  readonly reshape?: (token: string) => string;
}

/** A good token, and what is known of the issuer that signs it. */
export interface Base {
  readonly issuer: string;
  readonly audience: string;
  /** The scope that the target requires, or an empty text. */
  readonly scope: string;
  readonly header: Members & { readonly alg: string };
  readonly claims: () => Members;
  /** The private key of the issuer, if it is a test issuer; otherwise every signature is an attacker's. */
  readonly key: KeyObject | undefined;
  /** The public key of good tokens as a JWK, if it is known. */
  readonly publicKey: Members | undefined;
  /** A token from outside, if the issuer is not ours. */
  readonly token: string | undefined;
  /** Tokens from outside that must be rejected, by what is wrong with them. */
  readonly given?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where an attacker would publish keys. */
  readonly elsewhere: string;
}

/** A changed token; a text is sent as it is. */
export type Forgery = Change | ((base: Base) => Change | string);

export const base64url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');
export const bytesOf = (part: string): Buffer => Buffer.from(part, 'base64url');

/** Returns the token of a forgery, by default the good one. Without the issuer's key, an attacker's signs it. */
export function forge(base: Base, forgery: Forgery = {}): string {
  const change = typeof forgery === 'function' ? forgery(base) : forgery;
  if (typeof change === 'string') return change;
  const { reshape = (token) => token, ...others } = change;
  if (base.token !== undefined && Object.keys(others).length === 0) return reshape(base.token);
  const { alg } = base.header;
  return assemble(
    { header: base.header, claims: base.claims() },
    { key: base.key ?? strangersKey(alg), signedAs: alg, ...change },
  );
}

/** Returns the JWT of a header and claims with the given changes. */
export function assemble(
  good: { readonly header: Members; readonly claims: Members },
  change: Change & { readonly key: KeyObject; readonly signedAs: string },
): string {
  const header = change.headerText ?? JSON.stringify({ ...good.header, ...change.header });
  const payload = change.payloadText ?? JSON.stringify({ ...good.claims, ...change.claims });
  const spell = (part: 'header' | 'payload', text: string | Uint8Array) =>
    change.respell?.part === part ? change.respell.as(base64url(text)) : base64url(text);
  const input = Buffer.from(`${spell('header', header)}.${spell('payload', payload)}`);
  const signature = change.signWith?.(input) ?? signAs(change.signedAs, change.key, input);
  const token = `${input}.${base64url(signature)}`;
  return change.reshape?.(token) ?? token;
}

/**
 * Returns the parameters of a JWS algorithm (RFC 7518 §3, RFC 8037 §3.1) for node:crypto: the hash, and the key with
 * its parameters.
 */
export function cryptoOf(algorithm: string, key: KeyObject) {
  const parameters = {
    PS: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
    ES: { dsaEncoding: 'ieee-p1363' as const },
  }[algorithm.slice(0, 2)];
  // A real token may have any algorithm; an RSA key signs where there is no other.
  const hash = /^(?:rsa|ec)$/.test(key.asymmetricKeyType ?? '') ? `sha${/\d{3}$/.exec(algorithm)?.[0] ?? 256}` : null;
  return [hash, { key, ...parameters }] as const;
}

/** Returns the signature of a JWS algorithm over `input`; HMAC uses the public key as its secret, as in an attack. */
function signAs(algorithm: string, key: KeyObject, input: Buffer): Uint8Array {
  const [hash, parameters] = cryptoOf(algorithm, key);
  if (!algorithm.startsWith('HS')) return sign(hash, input, parameters);
  const secret = createPublicKey(key).export({ type: 'spki', format: 'pem' });
  return createHmac(String(hash), secret).update(input).digest();
}

/** Returns a token with this text for its signature. */
export const withSignature = (token: string, signature: string): string =>
  token.slice(0, token.lastIndexOf('.') + 1) + signature;

/** Changes one part of a finished token: 0 is the header, 2 the signature. */
export const changePart = (index: number, change: (part: string) => string): Change => ({
  reshape: (token) =>
    token
      .split('.')
      .map((part, at) => (at === index ? change(part) : part))
      .join('.'),
});

const made = new Map<string, KeyObject>();
/** Returns a private key that is made once a process, so that a run without it costs nothing. */
export function keyNamed(name: string, algorithm: string, modulusLength = 2048): KeyObject {
  const namedCurve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[algorithm];
  const make = () => {
    if (namedCurve !== undefined) return generateKeyPairSync('ec', { namedCurve }).privateKey;
    return /^Ed/.test(algorithm)
      ? generateKeyPairSync('ed25519').privateKey
      : generateKeyPairSync('rsa', { modulusLength, publicExponent: 65537 }).privateKey;
  };
  const id = `${namedCurve ?? (/^Ed/.test(algorithm) ? 'Ed' : modulusLength)} ${name}`;
  const key = made.get(id) ?? make();
  made.set(id, key);
  return key;
}

export const strangersKey = (algorithm: string): KeyObject => keyNamed('stranger', algorithm);

/** Returns the public half as a JWK with these members; `undefined` removes one. */
export const publish = (key: KeyObject, kid: string, members: Members = {}): Members =>
  Object.fromEntries(
    Object.entries({ ...createPublicKey(key).export({ format: 'jwk' }), kid, use: 'sig', ...members }).filter(
      ([, value]) => value !== undefined,
    ),
  );
