import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://auth.pingone.com/ENVIRONMENT_ID/as',
  AUDIENCE: 'https://api.example.com',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: 'default' },
  claims: {
    client_id: '3b4fb0a8-5f5d-4b1e-9a26-1d0c8c5f5d4b',
    iss: settings.ISSUER,
    jti: '76e9c3b0-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    aud: ['https://api.example.com'],
    scope: 'read:messages',
    env: 'ENVIRONMENT_ID',
    org: '0b0c0d0e-61b3-4c6a-a2b5-2d0e1e2b1a3c',
  },
  published: {
    jwksUri: 'https://auth.pingone.com/ENVIRONMENT_ID/as/jwks',
    metadata: 'https://auth.pingone.com/ENVIRONMENT_ID/as/.well-known/openid-configuration',
  },
};

export const pingOne: Issuer = {
  name: 'PingOne',
  sources: [
    'https://developer.pingidentity.com/pingone-api/foundations/authentication-concepts/access-tokens-and-id-tokens/token-claims.html',
    'https://docs.pingidentity.com/pingone/applications/p1_customizing_access_token_lifetime.html',
  ],
  request: `curl -s https://auth.pingone.com/ENVIRONMENT_ID/as/token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages`,
  forms: [
    {
      name: 'Custom resource',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Applications > Resources: a custom resource whose Audience is `AUDIENCE`, with the scope `read:messages`; then allow the scope in the application.',
    },
    {
      name: 'Custom resource, with the type `at+jwt` that PingOne sends from March 2027',
      settings,
      token: { ...token, header: { ...token.header, typ: 'at+jwt' } },
      outcome: 'scope',
      advice: 'No setting changes.',
    },
    {
      name: 'A token for the PingOne API',
      settings,
      token: { ...token, claims: { ...token.claims, aud: ['https://api.pingone.com'], scope: 'openid' } },
      outcome: 'invalid_claims',
      advice: 'The client requested no scope of your resource.',
    },
  ],
};
