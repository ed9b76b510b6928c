import { type Base, type Change, forge } from '../../src/probe/forge/forge.ts';
import { publish, rsaKey, signingKey } from './keys.ts';

export const AUDIENCE = 'https://api.example.test/';
export const SCOPE = 'read:messages';
/** The `kid`, and the name, of the key that signs a token by default. */
export const SIGNING_KID = 'signing-key';
export const signingKeys = () => [publish(rsaKey(SIGNING_KID), SIGNING_KID)];

export type TokenOverrides = Change;

export const nowSeconds = () => Math.floor(Date.now() / 1000);

export const baseOf = (issuer: string): Base => ({
  ...{
    issuer,
    audience: AUDIENCE,
    scope: SCOPE,
    header: { alg: 'RS256', typ: 'JWT', kid: SIGNING_KID },
    token: undefined,
  },
  ...{ key: rsaKey(SIGNING_KID), publicKey: signingKeys()[0], elsewhere: `${issuer}elsewhere` },
  claims() {
    const now = nowSeconds();
    return { iss: issuer, aud: AUDIENCE, sub: 'client-1', iat: now, exp: now + 300, scope: SCOPE };
  },
});

/** Returns an access token that is accepted on all paths, with the given changes and a real signature. */
export function mintToken(issuer: string, overrides: TokenOverrides = {}): string {
  const { signedAs = 'RS256', key = signingKey(signedAs, SIGNING_KID) } = overrides;
  return forge(baseOf(issuer), { ...overrides, signedAs, key });
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
