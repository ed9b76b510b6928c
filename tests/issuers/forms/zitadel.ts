import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://INSTANCE.zitadel.cloud',
  AUDIENCE: 'PROJECT_ID',
  SCOPE_CLAIM: 'permissions',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: '234567890123456789' },
  claims: {
    iss: settings.ISSUER,
    sub: '77776025198584418',
    aud: ['69234237810729234@my_project', 'PROJECT_ID'],
    azp: '69234237810729234@my_project',
    nbf: 1_700_000_000,
    jti: '69234237813329048',
    client_id: '69234237810729234@my_project',
    permissions: ['read:messages'],
  },
  published: {
    jwksUri: 'https://INSTANCE.zitadel.cloud/oauth/v2/keys',
    metadata: 'https://INSTANCE.zitadel.cloud/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};
const roles = { 'read:messages': { '201982826478953724': 'acme.zitadel.cloud' } };

export const zitadel: Issuer = {
  name: 'Zitadel',
  sources: [
    'https://zitadel.com/docs/apis/openidoauth/claims',
    'https://zitadel.com/docs/guides/integrate/retrieve-user-roles',
    'https://help.zitadel.com/extend-authorization-in-zitadel-with-organization-metadata-preaccesstoken-action-',
  ],
  request: `curl -s https://INSTANCE.zitadel.cloud/oauth/v2/token -u CLIENT_ID:CLIENT_SECRET -d grant_type=client_credentials \\
  --data-urlencode 'scope=openid urn:zitadel:iam:org:project:id:PROJECT_ID:aud'`,
  forms: [
    {
      name: 'JWT with a claim `permissions` that an action adds',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Application or service account > Token settings: the access token type is JWT. `AUDIENCE` is the ID of the project. An action before the access token is issued (preAccessToken) appends `permissions`, a list of strings, to the claims.',
    },
    {
      name: 'Roles as Zitadel asserts them',
      settings: { ...settings, SCOPE_CLAIM: 'urn:zitadel:iam:org:project:roles' },
      token: {
        ...token,
        claims: { ...token.claims, permissions: undefined, 'urn:zitadel:iam:org:project:roles': roles },
      },
      outcome: 'no scope',
      advice: 'The roles are the member names of an object, not a list. Use an action, as above.',
    },
    {
      name: 'A bearer access token, the default, or a personal access token',
      settings,
      token: 'dEnGhIFs3VnqcQU5D2zRSeiarB1nwH6goIKY0J8MWZbsnWcTuu1C59lW9DgCq1y096GYdXA',
      outcome: 'invalid_header',
      advice: 'It is opaque. Set the access token type to JWT; personal access tokens cannot be JWTs.',
    },
  ],
};
