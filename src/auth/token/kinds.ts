import type { CheckedOptions } from '../types.ts';
import { isJsonObject, type Members } from '../values/json.ts';

/*
 * Which claims say that a token is no access token, in a JWT and in an introspection response alike (RFC 8725 §3.11 and
 * §3.12). The `typ` of a JWT's header is checked in header.ts.
 */

/** What issuers call tokens that are for clients or for themselves: OpenID Connect, RFC 6749 §1.5, Keycloak. */
const otherKinds = new Set<unknown>(['id', 'id_token', 'refresh', 'refresh_token', 'offline', 'logout']);
const namesOtherKind = (value: unknown) =>
  typeof value === 'string' && otherKinds.has(value.toLowerCase().replaceAll('-', '_'));
/** OpenID Connect Back-Channel Logout 1.0 §2.4. */
const backChannelLogout = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * Amazon Cognito and Ory Hydra write `token_use`, OpenIddict `token_usage`, Casdoor `tokenType` and `TokenType`,
 * ForgeRock and PingAM `tokenName`, Oracle `tok_type`, Keycloak `typ`.
 */
const kindNames = 'token_use token_usage token_type tokenType TokenType tokenName tok_type typ'.split(' ');

const kindClaims: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries(kindNames.map((name) => [name, namesOtherKind])),
  // Descope's refresh token.
  drn: (value) => value === 'DSR',
  events: (value) => isJsonObject(value) && Object.hasOwn(value, backChannelLogout),
};

/** Returns the name of a claim by which a token is of another kind. Claims that `requiredClaims` names do not count. */
export function otherKindClaim(claims: Members, requiredClaims: CheckedOptions['requiredClaims']): string | undefined {
  for (const name in kindClaims)
    if (kindClaims[name]?.(claims[name]) && ![name, `/${name}`].some((each) => Object.hasOwn(requiredClaims, each)))
      return name;
  return undefined;
}
