import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://ping.example.com',
  AUDIENCE: 'https://api.example.com',
  JWKS_URI: 'https://ping.example.com/ext/my-token-manager',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: 'k1' },
  claims: {
    scope: 'read:messages',
    client_id: 'my-client',
    iss: settings.ISSUER,
    aud: settings.AUDIENCE,
    jti: 'CgyZ4eZ0mYvE',
  },
  published: { jwksUri: settings.JWKS_URI },
};

export const pingFederate: Issuer = {
  name: 'PingFederate',
  sources: [
    'https://docs.pingidentity.com/pingfederate/latest/administrators_reference_guide/pf_configure_json_token_management.html',
    'https://docs.pingidentity.com/pingfederate/latest/administrators_reference_guide/pf_jwks_endpoint.html',
  ],
  request: `curl -s https://ping.example.com/as/token.oauth2 -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages`,
  forms: [
    {
      name: 'JSON token manager, scopes delimited by spaces',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Applications > OAuth > Access Token Management: an instance of type JSON Web Tokens, with an asymmetric signing key, Issuer Claim Value, Audience Claim Value and JWKS Endpoint Path. The key set is then at `/ext` and that path.',
    },
    {
      name: 'JSON token manager, scopes as an array',
      settings,
      token: { ...token, claims: { ...token.claims, scope: ['openid', 'read:messages'] } },
      outcome: 'scope',
      advice: 'Space Delimit Scope Values is off. No setting changes.',
    },
    {
      name: 'Signed with the central signing key',
      settings: { ISSUER: settings.ISSUER, AUDIENCE: settings.AUDIENCE, ALGORITHMS: 'ES256' },
      token: {
        ...token,
        header: { alg: 'ES256', kid: 'central' },
        published: {
          jwksUri: 'https://ping.example.com/pf/JWKS',
          metadata: 'https://ping.example.com/.well-known/openid-configuration',
        },
      },
      outcome: 'scope',
      advice:
        'Use Centralized Signing Key is on. The metadata then has the right key set, so `JWKS_URI` is not needed; `ALGORITHMS` is the JWS algorithm of the instance.',
    },
    {
      name: 'A token without a key ID',
      settings,
      token: { ...token, header: { alg: 'RS256' } },
      outcome: 'invalid_header',
      advice: 'Enable Include Key ID Header Parameter.',
    },
    {
      name: 'An internally managed reference token',
      settings,
      token: '0001xqLNRq5XvUJZ0Wg1nHTKBrYV',
      outcome: 'invalid_header',
      advice: 'It is opaque. Map the client to an access token manager of type JSON Web Tokens.',
    },
  ],
};
