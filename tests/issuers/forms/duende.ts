import type { Issuer, SignedToken } from '../form.ts';

const settings = { ISSUER: 'https://identity.example.com', AUDIENCE: 'messages-api' };
const token: SignedToken = {
  header: { alg: 'RS256', kid: '9E8F1CDE5B2B3A4C9D8E7F6A5B4C3D2E', typ: 'at+jwt' },
  claims: {
    iss: settings.ISSUER,
    nbf: 1_700_000_000,
    aud: settings.AUDIENCE,
    scope: ['read:messages'],
    client_id: 'my-client',
    jti: 'E4A5B6C7D8E9F0A1B2C3D4E5F6A7B8C9',
  },
  published: {
    jwksUri: `${settings.ISSUER}/.well-known/openid-configuration/jwks`,
    metadata: `${settings.ISSUER}/.well-known/openid-configuration`,
    key: { alg: 'RS256' },
  },
};

export const duende: Issuer = {
  name: 'Duende IdentityServer',
  sources: [
    'https://docs.duendesoftware.com/identityserver/fundamentals/resources/api-resources',
    'https://docs.duendesoftware.com/identityserver/reference/options',
  ],
  request: `curl -s https://identity.example.com/connect/token -d grant_type=client_credentials \\
  -d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET -d scope=read:messages`,
  forms: [
    {
      name: 'API resource, scopes as an array (the default)',
      settings,
      token,
      outcome: 'scope',
      advice:
        'An `ApiResource` whose name is `AUDIENCE` and whose `Scopes` contain `read:messages`. The client requests the scope.',
    },
    {
      name: 'API resource, scopes as a string',
      settings,
      token: { ...token, claims: { ...token.claims, scope: 'read:messages' } },
      outcome: 'scope',
      advice: '`EmitScopesAsSpaceDelimitedStringInJwt` is true. No setting changes.',
    },
    {
      name: 'Static audience',
      settings: { ...settings, AUDIENCE: 'https://identity.example.com/resources' },
      token: { ...token, claims: { ...token.claims, aud: 'https://identity.example.com/resources' } },
      outcome: 'scope',
      advice:
        '`EmitStaticAudienceClaim` is true. Every access token of this server has that audience, so prefer an API resource.',
    },
    {
      name: 'ES256',
      settings: { ...settings, ALGORITHMS: 'ES256' },
      token: {
        ...token,
        header: { ...token.header, alg: 'ES256' },
        published: { ...token.published, key: { alg: 'ES256' } },
      },
      outcome: 'scope',
      advice: '`KeyManagement.SigningAlgorithms` begins with ES256.',
    },
    {
      name: 'Scopes without an API resource',
      settings,
      token: { ...token, claims: { ...token.claims, aud: undefined } },
      outcome: 'invalid_claims',
      advice: 'With only an `ApiScope` the token has no `aud`. Add an `ApiResource`.',
    },
    {
      name: 'A reference token',
      settings,
      token: '2B1F6A0E7C4D4E0E9C1F6A0E7C4D4E0E9C1F6A0E7C4D4E0E9C1F6A0E7C4D4E0E-1',
      outcome: 'invalid_header',
      advice: 'It is opaque. Set `AccessTokenType` of the client to `Jwt`.',
    },
  ],
};
