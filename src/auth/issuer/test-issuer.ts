import { createPrivateKey, type KeyObject, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { certificateThumbprint } from '../proof/certificate.ts';
import type { Certificate } from '../types.ts';
import { sha256 } from '../values/base64url.ts';
import { isJsonObject, isText, namesIn } from '../values/json.ts';
import { describeUnknown } from '../values/spelling.ts';
import { createKey, createSigner, lifetimeSeconds, nowSeconds } from './signer.ts';

/** What is special about a token. */
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

/** What is special about a proof. */
export interface ProofOptions {
  /** Of the `DPoP-Nonce` header of a rejection, for a guard with `dpopNonceSecret`. */
  readonly nonce?: string | undefined;
}

/** What is special about an issuer for tests. */
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
  /** The RSA key that signs tokens, as a private JWK, whose `kid` defaults to `test`. Defaults to a new key. */
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

/** RFC 6761 §6.4: no server has a name in this domain, so nobody can mistake these keys for real ones. */
const defaults = { issuer: 'https://issuer.invalid/', audience: 'https://api.invalid' };

/**
 * Returns an issuer for tests, whose tokens the real guard accepts. Its keys are in memory; it needs no network and no
 * port.
 * @example
 * const issuer = await createTestIssuer();
 * const guard = createGuard(issuer.options);
 * const authorization = `Bearer ${await issuer.token({ sub: 'ada', scope: 'read:reports' })}`;
 * const result = await guard.check(new Request('https://api.invalid/reports', { headers: { authorization } }));
 * @throws {TypeError} an option is unknown or mistyped, or `key` is not a private RSA key as a JWK
 */
export async function createTestIssuer(given: TestIssuerOptions = {}): Promise<TestIssuer> {
  checkGiven(given);
  const { issuer = defaults.issuer, audience = defaults.audience, claims: common = {}, key = {} } = given;
  const { kid = 'test' } = key;
  const privateKey = given.key === undefined ? createKey('RS256') : privateKeyOf(key);
  const signer = createSigner('RS256', privateKey);
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

const optionChecks: Readonly<Record<keyof TestIssuerOptions, (value: unknown) => boolean>> = {
  issuer: isText,
  audience: isText,
  claims: isJsonObject,
  key: isJsonObject,
};

function checkGiven(given: unknown): void {
  const fail = (fault: string) => new TypeError(`Cannot create an issuer for tests: ${fault}`);
  if (!isJsonObject(given))
    throw fail('its options must be an object, such as { audience: "https://api.example.com" }');
  for (const [name, isValid] of Object.entries(optionChecks))
    if (given[name] !== undefined && !isValid(given[name])) throw fail(`${name} is not valid`);
  const unknown = namesIn(given).find((name) => !(name in optionChecks));
  if (unknown !== undefined) throw fail(describeUnknown(unknown, Object.keys(optionChecks)));
}

function privateKeyOf(jwk: object): KeyObject {
  try {
    const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
    if (key.asymmetricKeyType === 'rsa') return key;
  } catch {}
  throw new TypeError('Cannot create an issuer for tests: key must be a private RSA key as a JWK');
}

async function bindToCertificate(certificate: Certificate) {
  const thumbprint = await certificateThumbprint(certificate);
  if (thumbprint === undefined)
    throw new TypeError("Cannot create a token: boundTo must be 'dpop' or a certificate as DER or PEM");
  return { 'x5t#S256': thumbprint };
}
