import { constants, createHash, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { base64url } from './mint.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url');
const saltOfDigestLength = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const;

/** How each algorithm signs (RFC 7518 §3, RFC 8037 §3.1), on node:crypto because the product verifies with jose. */
const SIGN: Readonly<Record<string, (input: Buffer, key: KeyObject) => Uint8Array>> = {
  ES256: (input, key) => sign('sha256', input, { key, dsaEncoding: 'ieee-p1363' }),
  ES384: (input, key) => sign('sha384', input, { key, dsaEncoding: 'ieee-p1363' }),
  RS256: (input, key) => sign('sha256', input, key),
  PS256: (input, key) => sign('sha256', input, { key, ...saltOfDigestLength }),
  EdDSA: (input, key) => sign(null, input, key),
  Ed25519: (input, key) => sign(null, input, key),
};

const GENERATE: Readonly<Record<string, () => KeyObject>> = {
  EC: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey,
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
  OKP: () => generateKeyPairSync('ed25519').privateKey,
};
const KIND_OF: Readonly<Record<string, string>> = {
  ES256: 'EC',
  ES384: 'P-384',
  RS256: 'RSA',
  PS256: 'RSA',
  EdDSA: 'OKP',
  Ed25519: 'OKP',
};

const keys = new Map<string, KeyObject>();

/** Returns the private key of this name that signs with this algorithm, which is generated once per process. */
export function proofKey(algorithm = 'ES256', name = 'client'): KeyObject {
  const kind = KIND_OF[algorithm] ?? 'EC';
  const id = `${kind} ${name}`;
  const key = keys.get(id) ?? GENERATE[kind]?.();
  if (key === undefined) throw new TypeError(`There is no key for ${algorithm}`);
  keys.set(id, key);
  return key;
}

export const publicJwk = (key: KeyObject): Readonly<Record<string, unknown>> =>
  ({ ...createPublicKey(key).export({ format: 'jwk' }) }) as Record<string, unknown>;

/** Returns the thumbprint of a key (RFC 7638): what `cnf.jkt` of a token bound to it says. */
export function thumbprintOf(key: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicJwk(key);
  // JSON.stringify leaves out what is undefined, and the names are in order.
  return sha256(JSON.stringify({ crv, e, kty, n, x, y }));
}

export interface ProofOverrides {
  /** Replaces members of the header. `undefined` removes one. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** Replaces members of the claims. `undefined` removes one. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Defaults to ES256. */
  readonly algorithm?: string;
  readonly key?: KeyObject;
  /** The text of the header or the payload, for JSON that JSON.stringify cannot produce. */
  readonly headerText?: string;
  readonly payloadText?: string;
  /** Changes the finished proof. */
  readonly reshape?: (proof: string) => string;
}

export interface ProofTarget {
  readonly method?: string;
  readonly url: string;
  readonly token: string;
  readonly nowSeconds: number;
}

/** Returns the header and the claims of a proof that is accepted once. */
export function goodProofParts({ method = 'GET', url, token, nowSeconds }: ProofTarget, key: KeyObject, alg: string) {
  return {
    header: { typ: 'dpop+jwt', alg, jwk: publicJwk(key) },
    claims: { jti: crypto.randomUUID(), htm: method, htu: url, iat: nowSeconds, ath: sha256(token) },
  };
}

/** A key that does not fit the `alg` of the header signs with its own algorithm. */
function signableWith(key: KeyObject, algorithm: string): string {
  const able = { ec: ['ES256', 'ES384'], rsa: ['RS256', 'PS256'], ed25519: ['EdDSA'] }[String(key.asymmetricKeyType)];
  return able?.find((name) => name === algorithm) ?? able?.[0] ?? '';
}

/** Returns a valid proof for this request with the given changes and a real signature. */
export function makeProof(target: ProofTarget, overrides: ProofOverrides = {}): string {
  const { algorithm = 'ES256', key = proofKey(algorithm) } = overrides;
  const good = goodProofParts(target, key, algorithm);
  const header = overrides.headerText ?? JSON.stringify({ ...good.header, ...overrides.header });
  const payload = overrides.payloadText ?? JSON.stringify({ ...good.claims, ...overrides.claims });
  const input = Buffer.from(`${base64url(header)}.${base64url(payload)}`);
  const signature = SIGN[signableWith(key, algorithm)]?.(input, key) ?? '';
  const proof = `${input}.${base64url(signature)}`;
  return overrides.reshape?.(proof) ?? proof;
}
