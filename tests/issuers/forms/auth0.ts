import type { Issuer, SignedToken } from '../form.ts';

const settings = { ISSUER: 'https://TENANT.us.auth0.com/', AUDIENCE: 'https://api.example.com' };
const published = {
  jwksUri: 'https://TENANT.us.auth0.com/.well-known/jwks.json',
  key: { alg: 'RS256', x5c: ['MIIDDTCCAfWgAwIBAgIJ'], x5t: 'NjVBRjY5MDlCMUIwNzU4RTA2QzZFMDQ4QzQ2MDAyQjVDNjk1RTM2Qg' },
};
const header = { alg: 'RS256', typ: 'JWT', kid: 'NjVBRjY5MDlCMUIwNzU4' };
const claims = {
  iss: settings.ISSUER,
  sub: 'awZfdIir8YFdGZWkvCejDoUb7SjTDicx@clients',
  aud: settings.AUDIENCE,
  azp: 'awZfdIir8YFdGZWkvCejDoUb7SjTDicx',
  gty: 'client-credentials',
  scope: 'read:messages',
};
const token: SignedToken = { header, claims, published };
const { azp, gty, ...common } = claims;

export const auth0: Issuer = {
  name: 'Auth0',
  sources: [
    'https://auth0.com/docs/secure/tokens/access-tokens/access-token-profiles',
    'https://auth0.com/docs/get-started/apis/enable-role-based-access-control-for-apis',
    'https://auth0.com/docs/get-started/apis/configure-access-token-profile',
  ],
  request: `curl -s https://TENANT.us.auth0.com/oauth/token -d grant_type=client_credentials \\
  -d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET -d audience=https://api.example.com`,
  forms: [
    {
      name: 'Auth0 profile, the default',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Create an API whose identifier is `AUDIENCE`, and add the permission `read:messages` to it and to the application.',
    },
    {
      name: 'Auth0 profile of a user, with the userinfo endpoint as a second audience',
      settings,
      token: {
        ...token,
        claims: {
          ...common,
          sub: 'auth0|123456',
          aud: [settings.AUDIENCE, 'https://TENANT.us.auth0.com/userinfo'],
          azp,
          scope: 'openid profile read:messages',
        },
      },
      outcome: 'scope',
      advice: 'The client sends `audience` with its authorization request; without it the token is opaque.',
    },
    {
      name: 'RFC 9068 profile',
      settings,
      token: {
        ...token,
        header: { ...header, typ: 'at+jwt' },
        claims: { ...common, client_id: azp, jti: '73WakrfVbNJBaAmhQtEeDv' },
      },
      outcome: 'scope',
      advice: 'APIs > the API > JSON Web Token Profile. No setting changes.',
    },
    {
      name: 'Permissions of role-based access control',
      settings: { ...settings, SCOPE_CLAIM: 'permissions' },
      token: { ...token, claims: { ...claims, scope: '', permissions: ['read:messages'] } },
      outcome: 'scope',
      advice:
        'APIs > the API > Enable RBAC and Add Permissions in the Access Token. Then `permissions` lists what the user may do, regardless of the scopes that the client requested.',
    },
    {
      name: 'Custom domain',
      settings: { ...settings, ISSUER: 'https://login.example.com/' },
      token: {
        ...token,
        claims: { ...claims, iss: 'https://login.example.com/' },
        published: { ...published, jwksUri: 'https://login.example.com/.well-known/jwks.json' },
      },
      outcome: 'scope',
      advice:
        '`iss` is the domain from which the client requested the token. If clients use both domains, set both: `ISSUER=https://login.example.com/,https://TENANT.us.auth0.com/`.',
    },
    {
      name: 'PS256',
      settings: { ...settings, ALGORITHMS: 'PS256' },
      token: { ...token, header: { ...header, alg: 'PS256' }, published: { ...published, key: { alg: 'PS256' } } },
      outcome: 'scope',
      advice: 'APIs > the API > JSON Web Token Signing Algorithm.',
    },
    {
      name: 'A token without an audience',
      settings,
      token:
        'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIiwiaXNzIjoiaHR0cHM6Ly9URU5BTlQudXMuYXV0aDAuY29tLyJ9..c29tZSBub25jZQ.Y2lwaGVydGV4dA.dGFnIG9mIHRoZSBqd2U',
      outcome: 'invalid_header',
      advice: 'The token is encrypted, and only Auth0 can read it. Request one with `audience`.',
    },
    {
      name: 'HS256',
      settings,
      token: { ...token, header: { alg: 'HS256', typ: 'JWT' } },
      outcome: 'invalid_header',
      advice:
        'Anyone who can verify such a token can also create one. Choose RS256 or PS256 as the signing algorithm of the API.',
    },
  ],
};
