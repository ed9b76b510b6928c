import type { Issuer, SignedToken } from '../form.ts';

const tenant = 'TENANT_ID';
const application = 'APPLICATION_ID';
const v2 = {
  ISSUER: `https://login.microsoftonline.com/${tenant}/v2.0`,
  AUDIENCE: application,
  SCOPE_CLAIM: 'scp,roles',
};
const v1 = {
  ISSUER: `https://sts.windows.net/${tenant}/`,
  AUDIENCE: `api://${application}`,
  SCOPE_CLAIM: 'scp,roles',
  JWKS_URI: `https://login.microsoftonline.com/${tenant}/discovery/keys`,
};
const kid = 'nOo3ZDrODXEK1jKWhXslHR_KXEg';
const identity = {
  oid: '690222be-ff1a-4d56-abd1-7e4f7d38e474',
  tid: tenant,
  uti: 'z130AkBW8kOZFbpjWK4TAA',
  rh: '0.ARwA',
};
const key = { kid, issuer: v2.ISSUER, x5t: kid, x5c: ['MIIC/TCCAeWgAwIBAgII'] };
const tokenV2: SignedToken = {
  header: { typ: 'JWT', alg: 'RS256', kid },
  claims: {
    aud: v2.AUDIENCE,
    iss: v2.ISSUER,
    nbf: 1_700_000_000,
    aio: 'AXQAi/8TAAAA',
    azp: 'e16ce913-a262-4605-bb11-2d2dec29c9c9',
    azpacr: '1',
    name: 'Adele Vance',
    preferred_username: 'adele@example.com',
    ...identity,
    scp: 'read:messages',
    sub: 'HKZpfaHyWadeOouYlitjrI-KffTm222X5rrV3xDqfKQ',
    ver: '2.0',
  },
  published: {
    jwksUri: `https://login.microsoftonline.com/${tenant}/discovery/v2.0/keys`,
    metadata: `https://login.microsoftonline.com/${tenant}/v2.0/.well-known/openid-configuration`,
    key,
  },
};
const tokenV1: SignedToken = {
  header: { typ: 'JWT', alg: 'RS256', x5t: kid, kid },
  claims: {
    aud: v1.AUDIENCE,
    iss: v1.ISSUER,
    nbf: 1_700_000_000,
    acr: '1',
    aio: 'AXQAi/8TAAAA',
    amr: ['pwd'],
    appid: 'e16ce913-a262-4605-bb11-2d2dec29c9c9',
    appidacr: '0',
    unique_name: 'adele@example.com',
    ...identity,
    scp: 'read:messages',
    sub: 'l3_roISQU222bULS9yi2k0XpqpOiMz5H3ZACo1GeXA',
    ver: '1.0',
  },
  published: { jwksUri: v1.JWKS_URI, key },
};
const withoutScope = ({ scp, ...claims }: SignedToken['claims']) => claims;

export const entra: Issuer = {
  name: 'Microsoft Entra ID',
  sources: [
    'https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference',
    'https://learn.microsoft.com/en-us/entra/identity-platform/access-tokens',
    'https://learn.microsoft.com/en-us/entra/identity-platform/howto-add-app-roles-in-apps',
  ],
  request: `curl -s https://login.microsoftonline.com/TENANT_ID/oauth2/v2.0/token -d grant_type=client_credentials \\
  -d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET -d scope=api://APPLICATION_ID/.default`,
  forms: [
    {
      name: 'v2.0 token of a user',
      settings: v2,
      token: tokenV2,
      outcome: 'scope',
      advice:
        'App registrations > the API > Manifest: `requestedAccessTokenVersion` (`accessTokenAcceptedVersion` in older ones) is `2`. Expose an API: add the scope `read:messages`. `AUDIENCE` is the Application (client) ID of the API. The client requests `api://APPLICATION_ID/read:messages`.',
    },
    {
      name: 'v2.0 token of an application',
      settings: v2,
      token: {
        ...tokenV2,
        claims: { ...withoutScope(tokenV2.claims), idtyp: 'app', roles: ['read:messages'] },
      },
      outcome: 'scope',
      advice:
        'App roles: create `read:messages` for applications, assign it to the client and grant admin consent. The client requests `api://APPLICATION_ID/.default`.',
    },
    {
      name: 'v2.0 token of a user who has a role but did not consent to the scope',
      settings: v2,
      token: { ...tokenV2, claims: { ...tokenV2.claims, scp: 'user.read', roles: ['read:messages'] } },
      outcome: 'no scope',
      advice:
        'The first claim that the token has decides: `scp`. With `SCOPE_CLAIM=roles`, the roles of the user decide instead.',
    },
    {
      name: 'v1.0 token of a user',
      settings: v1,
      token: tokenV1,
      outcome: 'scope',
      advice: 'For an API whose `requestedAccessTokenVersion` is `null` or `1`. `AUDIENCE` is its Application ID URI.',
    },
    {
      name: 'v1.0 token of an application',
      settings: v1,
      token: { ...tokenV1, claims: { ...withoutScope(tokenV1.claims), appidacr: '1', roles: ['read:messages'] } },
      outcome: 'scope',
      advice: 'As for v2.0: an app role and admin consent.',
    },
    {
      name: 'A token for Microsoft Graph',
      settings: v1,
      token: {
        ...tokenV1,
        header: { ...tokenV1.header, nonce: 'aTr8Qz0yTz1', kid: 'only Graph verifies it' },
        claims: { ...tokenV1.claims, aud: '00000003-0000-0000-c000-000000000000' },
        published: { ...tokenV1.published, key: { ...key, kid: 'another key' } },
      },
      outcome: 'invalid_header',
      advice:
        'A client that requests scopes such as `User.Read` gets a token that only Microsoft Graph can verify. Request a scope of your API.',
    },
  ],
};
