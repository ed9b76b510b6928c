import type { Issuer, SignedToken } from '../form.ts';

const application = 'APPLICATION_ID';
const settings = { ISSUER: 'https://auth.example.com', AUDIENCE: application };
const token: SignedToken = {
  header: { alg: 'RS256', typ: 'JWT', gty: ['authorization_code'], kid: 'gGRiDHfCGQQ0zrrxzHfGHN' },
  claims: {
    aud: application,
    iss: settings.ISSUER,
    sub: '858a4b01-62c8-4c2f-bfa7-6d018833bea7',
    jti: '3c4e0b0e-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    authenticationType: 'PASSWORD',
    email: 'test0@example.com',
    email_verified: true,
    applicationId: application,
    roles: ['read:messages'],
    scope: 'openid read:messages',
    auth_time: 1_700_000_000,
    tid: '30663132-6464-6665-3032-326466613934',
  },
  published: {
    jwksUri: 'https://auth.example.com/.well-known/jwks.json',
    metadata: 'https://auth.example.com/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};

export const fusionAuth: Issuer = {
  name: 'FusionAuth',
  sources: [
    'https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/tokens',
    'https://fusionauth.io/docs/operate/secure/key-rotation',
  ],
  forms: [
    {
      name: 'Scopes',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Tenant > General > Issuer is `ISSUER`, an https address. Application > JWT: enabled, with an RSA or EC key as Access Token signing key. Application > Scopes: add `read:messages`. `AUDIENCE` is the ID of the application.',
    },
    {
      name: 'Roles',
      settings: { ...settings, SCOPE_CLAIM: 'roles' },
      token: { ...token, claims: { ...token.claims, scope: 'openid' } },
      outcome: 'scope',
      advice: 'Application > Roles: add `read:messages`, and register users with it.',
    },
    {
      name: 'Permissions of an entity, by client credentials',
      settings: { ...settings, AUDIENCE: 'ENTITY_ID', SCOPE_CLAIM: 'permissions' },
      token: {
        ...token,
        claims: {
          aud: 'ENTITY_ID',
          iss: settings.ISSUER,
          sub: '858a4b01-62c8-4c2f-bfa7-6d018833bea7',
          jti: '3c4e0b0e-61b3-4c6a-a2b5-2d0e1e2b1a3c',
          permissions: ['read:messages'],
          scope: 'target-entity:ENTITY_ID:read:messages',
          tid: '30663132-6464-6665-3032-326466613934',
        },
      },
      outcome: 'scope',
      advice:
        'The entity type of the API has the permission `read:messages` and an asymmetric signing key; `AUDIENCE` is the ID of the target entity.',
    },
    {
      name: 'A symmetric signing key',
      settings,
      token: { ...token, header: { ...token.header, alg: 'HS256' } },
      outcome: 'invalid_header',
      advice:
        'The token is signed with HS256. Create an RSA or EC key in Key Master and select it in the application or the tenant.',
    },
  ],
};
