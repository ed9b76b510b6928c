import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import type { TestIssuer } from 'protected-api/testing';
import type { Base } from '../forge/forge.ts';
import { type KeyServer, publishNew } from '../issuer/served-issuer.ts';
import type { ProbeOptions } from '../options/options.ts';
import { controlSubject } from '../row/row.ts';
import { isJsonObject, type Members } from '../values/json.ts';
import { nowSeconds } from '../values/time.ts';

// Here is where the good tokens of a run come from: an issuer of tests, a token, or nothing but imagination.

/** Where good tokens come from. */
export interface Source {
  /** What is known of the issuer, for this scope. */
  readonly baseFor: (scope: string) => Base;
  readonly hasToken: boolean;
  /** Signs with a key of a new name from now on, which the issuer publishes beside the others. */
  readonly rekey: () => void;
  /** The tokens from outside so far, which are secret. */
  readonly tokens: () => readonly string[];
  /** What to change if a good token is rejected; `isTrusted` is whether the issuer's signature is accepted. */
  readonly advice: (isTrusted: boolean) => string;
  /** Gets a new token if the old one expires within half a minute. Returns why there is none. */
  readonly renew: () => Promise<string | undefined>;
}

const renewSeconds = 30;

/** Returns where the tokens of a run come from: an issuer of tests, a token, or nothing but imagination. */
export async function sourceOf(
  { issuer, claims, token, tokens: given, keys }: ProbeOptions,
  server: KeyServer | undefined,
): Promise<Source> {
  if (issuer) return issuerSource(issuer, claims, server);
  const made = { ...imagined, given };
  const seen = new Set(Object.values(given ?? {}));
  const read = async () => {
    const text = (typeof token === 'function' ? await token() : token)?.trim().replace(/^(?:Bearer|DPoP)\s+/i, '');
    if (text === undefined) return;
    seen.add(text);
    const header = partOf(() => decodeProtectedHeader(text));
    const claims = partOf(() => decodeJwt(text));
    const published = keys?.keys.filter(isJsonObject).find(({ kid }) => kid === header.kid) ?? {};
    // It may be one that node:crypto does not know.
    const { kty } = partOf(() => ({ ...createPublicKey({ key: published, format: 'jwk' }).export({ format: 'jwk' }) }));
    const publicKey = kty === undefined ? undefined : published;
    Object.assign(made, { token: text, header: { alg: 'RS256', ...header }, claims: () => claims, publicKey });
  };
  await read();
  const leftSeconds = () => {
    const { exp } = made.claims();
    return made.token !== undefined && typeof exp === 'number' ? exp - nowSeconds() : Number.POSITIVE_INFINITY;
  };
  return {
    baseFor: (scope) => ({ ...made, scope }),
    hasToken: token !== undefined,
    tokens: () => [...seen],
    rekey() {},
    advice: () => (leftSeconds() > 0 ? 'Give a token that the API accepts' : 'The token has expired'),
    async renew() {
      if (leftSeconds() > renewSeconds) return undefined;
      // A failure is noticed once the old token has expired.
      if (typeof token === 'function') await read().catch(() => {});
      return leftSeconds() > 0 ? undefined : 'The token has expired: give one that lives longer';
    },
  };
}

/** Returns the claims of a good token. */
function imaginedClaims(iss: string, aud: string, scope: string): Members {
  const iat = nowSeconds();
  const about = { iss, aud, sub: controlSubject, client_id: 'probe', scope: scope === '' ? undefined : scope };
  return { ...about, iat, exp: iat + 3600, jti: crypto.randomUUID() };
}

/** What is sent if nothing is known: an API rejects it for any of several reasons. */
const imagined: Base = {
  issuer: 'https://issuer.invalid/',
  audience: 'https://api.invalid',
  scope: '',
  header: { alg: 'RS256', typ: 'at+jwt', kid: 'probe' },
  claims() {
    return imaginedClaims(this.issuer, this.audience, this.scope);
  },
  key: undefined,
  publicKey: undefined,
  token: undefined,
  elsewhere: 'https://attacker.invalid/elsewhere',
};

async function issuerSource(testIssuer: TestIssuer, given: Members = {}, server?: KeyServer): Promise<Source> {
  const { options, key: jwk } = testIssuer;
  const url = server?.url;
  const key = signingKeyOf(jwk);
  if (!key) throw new TypeError('Cannot probe: issuer must be an issuer that createTestIssuer() returned');
  const { issuer, audience, keys: published } = options;
  // Claims that the issuer was created with are in each of its tokens.
  const own = decodeJwt(await testIssuer.token());
  const { kid } = jwk;
  let signer = { key, kid, publicKey: published.keys.filter(isJsonObject).find((each) => each.kid === kid) };
  const elsewhere = url === undefined ? imagined.elsewhere : `${url}elsewhere`;
  const keys = url === undefined ? 'and the keys in issuer.options' : `whose keys are at ${url}.well-known/jwks.json`;
  return {
    hasToken: true,
    tokens: () => [],
    rekey() {
      signer = (server && publishNew(server)) ?? signer;
    },
    renew: async () => undefined,
    advice: (isTrusted) =>
      isTrusted
        ? 'The API trusts the issuer, but the token lacks what it needs: give the claims in a file, --claims claims.json'
        : `The API must trust the issuer ${issuer} with the audience ${audience}, ${keys}`,
    baseFor: (scope) => ({
      ...{ ...imagined, issuer, audience, scope, elsewhere, key: signer.key, publicKey: signer.publicKey },
      claims: () => ({ ...own, ...imaginedClaims(issuer, audience, scope), ...given }),
      header: { ...imagined.header, kid: signer.kid },
    }),
  };
}

/** Returns undefined for an issuer that shows no key, such as one for development. */
function signingKeyOf(jwk: object | undefined): KeyObject | undefined {
  try {
    return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function partOf(read: () => Members): Members {
  try {
    return read();
  } catch {
    return {};
  }
}
