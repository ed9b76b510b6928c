import type { Issuer, SignedToken } from '../form.ts';

const settings = { ISSUER: 'https://keycloak.example.com/realms/REALM', AUDIENCE: 'my-api' };
const token: SignedToken = {
  header: { alg: 'RS256', typ: 'JWT', kid: 'FJ86GcF3jTbNLOco4NvZkUCIUmfYCqoqtOQeMfbhNlE' },
  claims: {
    jti: '3a1d0c8c-5f5d-4b1e-9a26-1d0c8c5f5d4b',
    iss: settings.ISSUER,
    aud: ['my-api', 'account'],
    sub: 'b4a6e1a8-5f5d-4b1e-9a26-1d0c8c5f5d4b',
    typ: 'Bearer',
    azp: 'my-client',
    acr: '1',
    'allowed-origins': ['/*'],
    realm_access: { roles: ['offline_access', 'uma_authorization', 'read:messages'] },
    resource_access: { 'my-api': { roles: ['read:messages'] }, account: { roles: ['manage-account'] } },
    scope: 'profile email read:messages',
    preferred_username: 'service-account-my-client',
  },
  published: {
    jwksUri: `${settings.ISSUER}/protocol/openid-connect/certs`,
    metadata: `${settings.ISSUER}/.well-known/openid-configuration`,
    key: { alg: 'RS256', x5c: ['MIICmzCCAYMCBgGL'], x5t: 'x5t', 'x5t#S256': 'x5tS256' },
    hasEncryptionKey: true,
  },
};
const withoutScope = { ...token, claims: { ...token.claims, scope: 'profile email' } };

export const keycloak: Issuer = {
  name: 'Keycloak',
  sources: [
    'https://www.keycloak.org/docs/latest/server_admin/index.html#_audience',
    'https://www.keycloak.org/docs/latest/server_admin/index.html#_audience_resolve',
    'https://www.keycloak.org/nightly/admin-api/protocol-mappers',
  ],
  request: `curl -s https://keycloak.example.com/realms/REALM/protocol/openid-connect/token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages`,
  forms: [
    {
      name: 'Client scope',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Client scopes: create `read:messages` with Include in token scope on, add a mapper of type Audience to it with `my-api` as Included Custom Audience, and give the scope to the client as Optional. The client requests it.',
    },
    {
      name: 'Roles of the API (client roles)',
      settings: { ...settings, SCOPE_CLAIM: '/resource_access/my-api/roles' },
      token: withoutScope,
      outcome: 'scope',
      advice:
        'Create the client `my-api` with the role `read:messages`. The built-in mapper Audience Resolve adds `my-api` to `aud` for everyone who has the role.',
    },
    {
      name: 'Roles of the realm',
      settings: { ...settings, SCOPE_CLAIM: '/realm_access/roles' },
      token: withoutScope,
      outcome: 'scope',
      advice: 'Requires a mapper of type Audience as above, because realm roles add no audience.',
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
      advice:
        'Realm settings > Keys: add a provider ecdsa-generated. Tokens > Default Signature Algorithm: ES256. While both are in use: `ALGORITHMS=RS256,ES256`.',
    },
    {
      name: 'EdDSA',
      settings: { ...settings, ALGORITHMS: 'EdDSA' },
      token: {
        ...token,
        header: { ...token.header, alg: 'EdDSA' },
        published: { ...token.published, key: { alg: 'EdDSA' } },
      },
      outcome: 'scope',
      advice: 'The same with a provider eddsa-generated of the curve Ed25519.',
    },
    {
      name: 'A token without an audience mapper',
      settings,
      token: { ...token, claims: { ...token.claims, aud: 'account' } },
      outcome: 'invalid_claims',
      advice:
        '`aud` is `account`, or missing. Add the mapper; do not set `AUDIENCE=account`, which every token of the realm has.',
    },
  ],
};
