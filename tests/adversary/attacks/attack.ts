import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { ecKey, publish, rsaKey } from '../../support/keys.ts';
import { mintToken, SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { cubicKey } from './forgery.ts';

/** A known attack by the advisory or rule that tells of it, and what it must come to. */
export interface Attack {
  readonly name: string;
  /** CVE, GHSA or HSEC identifiers of products that fell for it, or the section of the standard that forbids it. */
  readonly advisory: string;
  /** What follows `Bearer `: a token by its overrides, or any text, which may need the issuer's address. */
  readonly token: TokenOverrides | ((issuer: string) => string);
  /** `invalid_header` unless the row says otherwise. */
  readonly code?: 'invalid_header' | 'invalid_claims' | 'token_expired';
}

export const credentialsOf = ({ token }: Attack, issuer: string): string =>
  typeof token === 'function' ? token(issuer) : mintToken(issuer, token);

/** Starts an issuer that publishes every key an attack could hope for; its signing key names no algorithm, as most do not. */
export function startTemptingIssuer(): Promise<Issuer> {
  return startIssuer([
    publish(rsaKey(SIGNING_KID), SIGNING_KID),
    publish(rsaKey('other'), 'other'),
    publish(rsaKey('encrypting'), 'encrypting', { use: 'enc' }),
    publish(rsaKey('weak', 1024), 'weak'),
    publish(ecKey('elliptic'), 'elliptic'),
    publish(cubicKey(), 'cubic'),
    { kty: 'oct', kid: 'symmetric', use: 'sig', k: Buffer.alloc(32, 1).toString('base64url') },
  ]);
}
