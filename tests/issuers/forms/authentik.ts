import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://authentik.example.com/application/o/my-api/',
  AUDIENCE: 'CLIENT_ID',
  SCOPE_CLAIM: 'permissions',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: '3f0c0bb5b3cf5ac4e3b1f4f5e6d7c8b9', typ: 'JWT' },
  claims: {
    iss: settings.ISSUER,
    sub: 'b5c7f6d3a2e14f5b9c8d7e6f5a4b3c2d',
    aud: settings.AUDIENCE,
    auth_time: 1_700_000_000,
    acr: 'goauthentik.io/providers/oauth2/default',
    permissions: ['read:messages'],
    azp: settings.AUDIENCE,
    uid: 'rW1Y2nCqNvSoE5Lr',
  },
  published: {
    jwksUri: 'https://authentik.example.com/application/o/my-api/jwks/',
    metadata: 'https://authentik.example.com/application/o/my-api/.well-known/openid-configuration',
    key: { alg: 'RS256', x5c: ['MIIFUzCCAzugAwIBAgIR'], x5t: 'x5t', 'x5t#S256': 'x5tS256' },
  },
};

export const authentik: Issuer = {
  name: 'authentik',
  sources: [
    'https://docs.goauthentik.io/add-secure-apps/providers/oauth2/',
    'https://github.com/goauthentik/authentik/blob/main/authentik/providers/oauth2/id_token.py',
  ],
  request: `curl -s https://authentik.example.com/application/o/token/ -d grant_type=client_credentials \\
  -d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET -d scope=read:messages`,
  forms: [
    {
      name: 'Scope mapping that adds a claim',
      settings,
      token,
      outcome: 'scope',
      advice:
        'The provider has a Signing Key, and Include claims in id_token is on. Its access tokens contain no scopes, so create a scope mapping with the scope name `read:messages` and the expression `return {"permissions": ["read:messages"]}`, and select it in the provider. `AUDIENCE` is the client ID of the provider.',
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
      advice: 'The Signing Key is a certificate of the type ECDSA.',
    },
    {
      name: 'Scopes without the mapping',
      settings,
      token: { ...token, claims: { ...token.claims, permissions: undefined } },
      outcome: 'no scope',
      advice: 'Access tokens carry no `scope` claim. Add the mapping.',
    },
    {
      name: 'A provider without a Signing Key',
      settings,
      token: { ...token, header: { alg: 'HS256', typ: 'JWT' } },
      outcome: 'invalid_header',
      advice: 'Tokens are then signed with the client secret (HS256). Select a Signing Key.',
    },
    {
      name: 'A provider with an Encryption Key',
      settings,
      token:
        'eyJhbGciOiJSU0EtT0FFUC0yNTYiLCJlbmMiOiJBMjU2Q0JDLUhTNTEyIn0.ZW5jcnlwdGVkIGtleQ.c29tZSBub25jZQ.Y2lwaGVydGV4dA.dGFnIG9mIHRoZSBqd2U',
      outcome: 'invalid_header',
      advice: 'The token is encrypted. Remove the Encryption Key.',
    },
  ],
};
