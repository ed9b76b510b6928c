import { createPrivateKey, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import { code, text, withDefault } from '../options/kinds.ts';
import { checkMembers } from '../options/members.ts';
import { certificateThumbprint } from '../proof/certificate.ts';
import type { Certificate } from '../types.ts';
import { sha256 } from '../values/base64url.ts';
import { ifPossible } from '../values/faults.ts';
import { isJsonObject, type Members } from '../values/json.ts';
import { createKey, createSigner } from './create-signer.ts';
import { lifetimeSeconds, nowSeconds } from './signer.ts';

/** The options of a token. */
export interface TokenOptions {
  /** Replaces members of the header. `undefined` removes one. */
  readonly header?: Readonly<Record<string, unknown>> | undefined;
  /** Whether it expired an hour ago. */
  readonly expired?: boolean | undefined;
  /** Whether it is signed with another key than the one that its header names. */
  readonly forged?: boolean | undefined;
  /** `dpop` binds the token to the key that signs proofs. A certificate (DER or PEM) binds it to that certificate. */
  readonly boundTo?: 'dpop' | Certificate | undefined;
}

/** The options of a proof. */
export interface ProofOptions {
  /** The `DPoP-Nonce` header of a rejection, for a guard with `dpopNonceSecret`. */
  readonly nonce?: string | undefined;
}

/** The options of an issuer for tests. */
export interface TestIssuerOptions {
  /** The identifier of the issuer, `iss` in its tokens. Defaults to `https://issuer.invalid/`. */
  readonly issuer?: string | undefined;
  /** The identifier of the API, `aud` in its tokens. Defaults to `https://api.invalid`. */
  readonly audience?: string | undefined;
  /**
   * Claims of every token, such as those that a schema of the API requires. Those of `token()` replace them. Defaults
   * to none.
   */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** The RSA key that signs tokens, as a private JWK, whose `kid` defaults to its thumbprint. Defaults to a new key. */
  readonly key?: Readonly<Record<string, unknown>> | undefined;
}

/** An issuer for tests. By default, each has its own keys. */
export interface TestIssuer {
  /** The options of a guard that accepts its tokens, without network. */
  readonly options: {
    readonly issuer: string;
    readonly audience: string;
    readonly keys: { readonly keys: readonly object[] };
  };
  /** The private JWK that signs tokens, with its `kid`: for tests that sign a header and claims by themselves. */
  readonly key: Readonly<Record<string, unknown>>;
  /**
   * Returns a token that the guard accepts for an hour.
   * @param claims replace members of the claims; `undefined` removes one
   * @throws {TypeError} `boundTo` is not a certificate
   */
  token(claims?: Readonly<Record<string, unknown>>, options?: TokenOptions): Promise<string>;
  /** Returns a DPoP proof for one request with this token. Its URL must begin with the guard's `publicUrl`. */
  proof(request: Pick<Request, 'method' | 'url'>, token: string, options?: ProofOptions): Promise<string>;
}

const optionRules = {
  // RFC 6761 §6.4: no server has a name in this domain, so nobody can mistake these keys for real ones.
  issuer: withDefault(text('text'), 'https://issuer.invalid/'),
  audience: withDefault(text('text'), 'https://api.invalid'),
  claims: withDefault(code<object>('an object', isJsonObject), {}),
  key: { kind: 'code' as const, expected: 'a private RSA key as a JWK', isSecret: true, read: readKey },
};

/**
 * Returns an issuer for tests, whose tokens the real guard accepts. Its keys are in memory; it needs no network and no
 * port.
 * @example
 * const issuer = await createTestIssuer();
 * const guard = createGuard(issuer.options);
 * const authorization = `Bearer ${await issuer.token({ sub: 'ada', scope: 'read:messages' })}`;
 * const result = await guard.check(new Request('https://api.invalid/messages', { headers: { authorization } }));
 * @throws {TypeError} an option is unknown or mistyped, or `key` is not a private RSA key as a JWK
 */
export async function createTestIssuer(given: TestIssuerOptions = {}): Promise<TestIssuer> {
  const checked = checkMembers('Cannot create an issuer for tests', optionRules, given);
  const { issuer, audience, claims: common, key = { kid: undefined, privateKey: createKey('RS256') } } = checked;
  const { privateKey } = key;
  const signer = createSigner('RS256', privateKey);
  const { kid = signer.kid } = key;
  const prover = createSigner('ES256');
  const jkt = await calculateJwkThumbprint({ ...prover.jwk });

  return {
    options: { issuer, audience, keys: { keys: [{ ...signer.jwk, kid, use: 'sig', alg: 'RS256' }] } },
    key: { ...privateKey.export({ format: 'jwk' }), kid },
    async token(claims = {}, { header = {}, expired = false, forged = false, boundTo } = {}) {
      const now = nowSeconds();
      const iat = expired ? now - 2 * lifetimeSeconds : now;
      const cnf = boundTo === undefined ? undefined : boundTo === 'dpop' ? { jkt } : await bindToCertificate(boundTo);
      const good = { iss: issuer, aud: audience, sub: 'test', iat, exp: iat + lifetimeSeconds, cnf };
      const { sign } = forged ? createSigner('RS256') : signer;
      return sign({ typ: 'at+jwt', kid, ...header }, { ...good, ...common, ...claims });
    },
    async proof({ method, url }, token, { nonce } = {}) {
      const ath = await sha256(token);
      const htu = url.replace(/[?#].*$/s, '');
      const claims = { jti: randomUUID(), htm: method, htu, iat: nowSeconds(), ath, nonce };
      return prover.sign({ typ: 'dpop+jwt', jwk: prover.jwk }, claims);
    },
  };
}

function readKey(jwk: unknown) {
  const { kid }: Members = Object(jwk);
  const privateKey = ifPossible(() => createPrivateKey({ key: { ...Object(jwk) }, format: 'jwk' }));
  return privateKey?.asymmetricKeyType === 'rsa' ? { kid, privateKey } : undefined;
}

async function bindToCertificate(certificate: Certificate) {
  const thumbprint = await certificateThumbprint(certificate);
  if (thumbprint === undefined)
    throw new TypeError("Cannot create a token: boundTo must be 'dpop' or a certificate as DER or PEM");
  return { 'x5t#S256': thumbprint };
}
