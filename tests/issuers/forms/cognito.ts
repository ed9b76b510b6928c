import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_POOL',
  AUDIENCE: 'CLIENT_ID,OTHER_CLIENT_ID',
  AUDIENCE_CLAIM: 'client_id',
  REQUIRED_CLAIMS: 'token_use=access',
  SCOPE_PREFIX: 'https://api.example.com/',
};
const token: SignedToken = {
  header: { kid: '1234example=', alg: 'RS256' },
  claims: {
    sub: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    iss: settings.ISSUER,
    version: 2,
    client_id: 'CLIENT_ID',
    origin_jti: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    token_use: 'access',
    scope: 'openid https://api.example.com/read:messages',
    auth_time: 1_700_000_000,
    jti: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
    username: 'my-test-user',
  },
  published: {
    jwksUri: `${settings.ISSUER}/.well-known/jwks.json`,
    metadata: `${settings.ISSUER}/.well-known/openid-configuration`,
    key: { alg: 'RS256' },
  },
};

export const cognito: Issuer = {
  name: 'Amazon Cognito',
  sources: [
    'https://docs.aws.amazon.com/cognito/latest/developerguide/amazon-cognito-user-pools-using-the-access-token.html',
    'https://docs.aws.amazon.com/cognito-user-identity-pools/latest/APIReference/API_ResourceServerType.html',
  ],
  request: `curl -s https://DOMAIN.auth.eu-west-1.amazoncognito.com/oauth2/token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=https://api.example.com/read:messages`,
  forms: [
    {
      name: 'Access token of a user',
      settings,
      token,
      outcome: 'scope',
      advice:
        'The token has no `aud`, so `AUDIENCE` lists the app clients that may call the API. Create a resource server with the identifier `https://api.example.com` and the scope `read:messages`, and allow it in the app client.',
    },
    {
      name: 'Access token of a machine',
      settings,
      token: {
        ...token,
        claims: {
          sub: 'CLIENT_ID',
          token_use: 'access',
          scope: 'https://api.example.com/read:messages',
          auth_time: 1_700_000_000,
          iss: settings.ISSUER,
          version: 2,
          jti: 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee',
          client_id: 'CLIENT_ID',
        },
      },
      outcome: 'scope',
      advice:
        'An app client with a secret and the client-credentials grant. The client requests `https://api.example.com/read:messages`.',
    },
    {
      name: 'Access token bound to a resource',
      settings: {
        ISSUER: settings.ISSUER,
        AUDIENCE: 'https://api.example.com',
        REQUIRED_CLAIMS: settings.REQUIRED_CLAIMS,
        SCOPE_PREFIX: settings.SCOPE_PREFIX,
      },
      token: { ...token, claims: { ...token.claims, aud: 'https://api.example.com' } },
      outcome: 'scope',
      advice:
        'The client sends `resource=https://api.example.com` with its authorization request. Prefer this: any app client may then call, and the token is for this API only.',
    },
    {
      name: 'A token of another app client',
      settings,
      token: { ...token, claims: { ...token.claims, client_id: 'UNLISTED_CLIENT_ID' } },
      outcome: 'invalid_claims',
      advice: 'Add the app client to `AUDIENCE`.',
    },
    {
      name: 'A token of a listed app client that is bound to another resource',
      settings,
      token: { ...token, claims: { ...token.claims, aud: 'https://other.example.com' } },
      outcome: 'invalid_claims',
      advice: 'If a token has `aud`, only `aud` counts.',
    },
    {
      name: 'An ID token',
      settings,
      token: { ...token, claims: { ...token.claims, aud: 'CLIENT_ID', token_use: 'id', scope: undefined } },
      outcome: 'invalid_claims',
      advice: 'An ID token is for the app client. Send the access token.',
    },
  ],
};
