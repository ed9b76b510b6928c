import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://login.example.com/oauth/v2/oauth-anonymous',
  AUDIENCE: 'https://api.example.com',
  REQUIRED_CLAIMS: 'purpose=access_token',
};
const token: SignedToken = {
  header: { kid: '-38074812', x5t: 'MR-pGTa866RdZLjN6Vwrfay907g', alg: 'RS256' },
  claims: {
    jti: 'a0c7d5e2-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    delegationId: 'ed63e5b0-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    nbf: 1_700_000_000,
    scope: 'read:messages',
    iss: settings.ISSUER,
    sub: 'my-client',
    aud: settings.AUDIENCE,
    purpose: 'access_token',
    client_id: 'my-client',
  },
  published: {
    jwksUri: `${settings.ISSUER}/jwks`,
    metadata: `${settings.ISSUER}/.well-known/openid-configuration`,
    key: { alg: 'RS256' },
  },
};

export const curity: Issuer = {
  name: 'Curity Identity Server',
  sources: [
    'https://curity.io/docs/identity-server/profiles/token-profile/token-issuers',
    'https://curity.io/docs/identity-server/configuration-reference/profiles/profile/token-issuers/default-token-issuer',
    'https://curity.io/resources/learn/introspect-with-phantom-token',
  ],
  request: `curl -s https://login.example.com/oauth/v2/oauth-token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages`,
  forms: [
    {
      name: 'JWT, from the token issuer or from a gateway with the phantom token approach',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Token Issuers > Default: `access-token-as-jwt`, or the gateway exchanges the opaque token for this JWT. `AUDIENCE` is an audience of the client.',
    },
    {
      name: 'PS256',
      settings: { ...settings, ALGORITHMS: 'PS256' },
      token: { ...token, header: { ...token.header, alg: 'PS256' }, published: { ...token.published, key: {} } },
      outcome: 'scope',
      advice: 'The JWT issuer signs with PS256.',
    },
    {
      name: 'An opaque token, the default',
      settings,
      token: '_0XBPWQQ_6e9b0e0b-61b3-4c6a-a2b5-2d0e1e2b1a3c',
      outcome: 'invalid_header',
      advice:
        'It is a reference. Issue JWTs, or let the gateway exchange it. A wrapped opaque token does not help: its JWT contains no scopes.',
    },
  ],
};
