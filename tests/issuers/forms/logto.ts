import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://TENANT.logto.app/oidc',
  AUDIENCE: 'https://api.example.com',
  ALGORITHMS: 'ES384',
};
const token: SignedToken = {
  header: { alg: 'ES384', typ: 'at+jwt', kid: '2a-z8zkVQ9YqTl0x5Qw0C1JtYJ3m' },
  claims: {
    jti: 'mFzQGEZo3pJh0uW7Dqv3r',
    sub: 'foo',
    iss: settings.ISSUER,
    client_id: 'xpwgl1tkpsqp4xdpj2sy8',
    aud: settings.AUDIENCE,
    scope: 'read:messages',
  },
  published: {
    jwksUri: 'https://TENANT.logto.app/oidc/jwks',
    metadata: 'https://TENANT.logto.app/oidc/.well-known/openid-configuration',
  },
};

export const logto: Issuer = {
  name: 'Logto',
  sources: [
    'https://docs.logto.io/authorization/api-resources/protect-your-api',
    'https://docs.logto.io/authorization/validate-access-tokens',
  ],
  request: `curl -s https://TENANT.logto.app/oidc/token -u CLIENT_ID:CLIENT_SECRET -d grant_type=client_credentials \\
  -d resource=https://api.example.com -d scope=read:messages`,
  forms: [
    {
      name: 'API resource',
      settings,
      token,
      outcome: 'scope',
      advice:
        'API resources: one whose identifier is `AUDIENCE`, with the permission `read:messages`, given to a role. The client sends `resource`.',
    },
    {
      name: 'RSA signing key',
      settings: { ISSUER: settings.ISSUER, AUDIENCE: settings.AUDIENCE },
      token: { ...token, header: { ...token.header, alg: 'RS256' } },
      outcome: 'scope',
      advice: 'After the key was rotated to RSA. During the rotation: `ALGORITHMS=ES384,RS256`.',
    },
    {
      name: 'A token without a resource',
      settings,
      token: 'qFyc2xvbmctb3BhcXVlLWFjY2Vzcy10b2tlbg',
      outcome: 'invalid_header',
      advice: 'It is opaque. The client must send `resource`.',
    },
  ],
};
