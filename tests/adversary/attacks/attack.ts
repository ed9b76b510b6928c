import { ecKey, type PublishedKey, publish, rsaKey } from '../../support/keys.ts';
import { mintToken, type TokenOverrides } from '../../support/mint.ts';
import { cubicKey } from './forgery.ts';

/** A known attack with its advisory or rule, and the expected response. */
export interface Attack {
  readonly name: string;
  /** CVE, GHSA or HSEC identifiers of products that fell for it, or the section of the standard that forbids it. */
  readonly advisory: string;
  /** What follows `Bearer `: a token by its overrides, or any text, which may need the issuer's address. */
  readonly token: TokenOverrides | ((issuer: string) => string);
  /** `invalid_header` unless the row says otherwise. */
  readonly code?: 'invalid_header' | 'invalid_claims' | 'token_expired';
}

export const attack = (name: string, advisory: string, token: Attack['token'], code?: Attack['code']): Attack => ({
  name,
  advisory,
  token,
  ...(code && { code }),
});

export const credentialsOf = ({ token }: Attack, issuer: string): string =>
  typeof token === 'function' ? token(issuer) : mintToken(issuer, token);

/** Returns every kind of key that an attack could use, and the signing key. */
export function temptingKeys(): readonly PublishedKey[] {
  return [
    publish(rsaKey('other'), 'other'),
    publish(rsaKey('encrypting'), 'encrypting', { use: 'enc' }),
    publish(rsaKey('weak', 1024), 'weak'),
    publish(ecKey('elliptic'), 'elliptic'),
    publish(cubicKey(), 'cubic'),
    { kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') },
  ];
}
