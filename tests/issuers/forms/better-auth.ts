import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://auth.example.com/api/auth',
  AUDIENCE: 'https://api.example.com',
  ALGORITHMS: 'EdDSA',
  REQUIRED_CLAIMS: 'azp=CLIENT_ID',
};
const token: SignedToken = {
  header: { alg: 'EdDSA', typ: 'at+jwt', kid: 'yY7Z2QeqzJ1KfQpQbU0cS4Y7Vb2pQm1T' },
  claims: {
    iss: settings.ISSUER,
    sub: 'CLIENT_ID',
    aud: settings.AUDIENCE,
    azp: 'CLIENT_ID',
    client_id: 'CLIENT_ID',
    scope: 'read:messages',
    jti: 'a0c7d5e2-61b3-4c6a-a2b5-2d0e1e2b1a3c',
  },
  published: {
    jwksUri: 'https://auth.example.com/api/auth/jwks',
    metadata: 'https://auth.example.com/.well-known/oauth-authorization-server/api/auth',
    key: { alg: 'EdDSA' },
  },
};
const { REQUIRED_CLAIMS, ...anyClient } = settings;

export const betterAuth: Issuer = {
  name: 'Better Auth',
  sources: [
    'https://better-auth.com/docs/plugins/oauth-provider/resource-server',
    'https://better-auth.com/docs/plugins/oauth-provider/tokens',
    'https://better-auth.com/docs/plugins/jwt',
  ],
  request: `curl -s https://auth.example.com/api/auth/oauth2/token -u CLIENT_ID:CLIENT_SECRET -d grant_type=client_credentials \\
  -d resource=https://api.example.com -d scope=read:messages`,
  forms: [
    {
      name: 'OAuth provider plugin with the JWT plugin (EdDSA, the default)',
      settings: anyClient,
      token,
      outcome: 'scope',
      advice:
        'Register the API as a resource and serve the metadata at the path that its documentation names (RFC 8414). The client sends `resource`.',
    },
    {
      name: 'The same, for one client only',
      settings,
      token,
      outcome: 'scope',
      advice:
        '`REQUIRED_CLAIMS` also rejects the session tokens of the JWT plugin, which are signed with the same key and have no `azp`. Without it, give the JWT plugin an audience of its own.',
    },
    {
      name: 'A session token of the JWT plugin',
      settings,
      token: {
        ...token,
        header: { alg: 'EdDSA', kid: 'yY7Z2QeqzJ1KfQpQbU0cS4Y7Vb2pQm1T' },
        claims: { ...token.claims, azp: undefined, scope: undefined },
      },
      outcome: 'invalid_claims',
      advice: 'It is for a signed-in user, not for an OAuth client.',
    },
    {
      name: 'ES256',
      settings: { ...anyClient, ALGORITHMS: 'ES256' },
      token: {
        ...token,
        header: { ...token.header, alg: 'ES256' },
        published: { ...token.published, key: { alg: 'ES256' } },
      },
      outcome: 'scope',
      advice: '`jwks.keyPairConfig.alg` of the JWT plugin is ES256.',
    },
    {
      name: 'A token without a resource',
      settings: anyClient,
      token: 'QmV0dGVyQXV0aE9wYXF1ZUFjY2Vzc1Rva2Vu',
      outcome: 'invalid_header',
      advice: 'It is opaque. The client must send `resource`.',
    },
  ],
};
