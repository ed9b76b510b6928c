import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://clerk.example.com',
  AUDIENCE: 'https://app.example.com',
  AUDIENCE_CLAIM: 'azp',
  SCOPE_CLAIM: 'permissions',
};
const token: SignedToken = {
  header: { alg: 'RS256', cat: 'cl_B7d4PD111AAA', kid: 'ins_2GIoQhbUpy0hX7B2cVkuTMinXoD', typ: 'JWT' },
  claims: {
    azp: 'https://app.example.com',
    fva: [7, -1],
    iss: settings.ISSUER,
    jti: 'a0b1c2d3e4f5a6b7c8d9',
    nbf: 1_700_000_000,
    permissions: ['read:messages'],
    sid: 'sess_2GbDB4enNdCa5vS1zpC3Xzg9tK9',
    sts: 'active',
    sub: 'user_2GIpXOEpVyJw51rkZn9Kmnc6Sxr',
    v: 2,
  },
  published: {
    jwksUri: 'https://clerk.example.com/.well-known/jwks.json',
    metadata: 'https://clerk.example.com/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};
const { azp, fva, sid, sts, v, ...common } = token.claims;

export const clerk: Issuer = {
  name: 'Clerk',
  sources: [
    'https://clerk.com/docs/guides/sessions/session-tokens',
    'https://clerk.com/docs/guides/sessions/jwt-templates',
    'https://clerk.com/docs/guides/configure/auth-strategies/oauth/how-clerk-implements-oauth',
  ],
  forms: [
    {
      name: 'Session token',
      settings,
      token,
      outcome: 'scope',
      advice:
        'A session token has no `aud`: `AUDIENCE` lists the addresses of the pages that may call the API. Sessions > Customize session token: `{"permissions": "{{user.public_metadata.permissions}}"}`. Never read scopes from `unsafe_metadata`, which users can change.',
    },
    {
      name: 'A session token without a custom claim',
      settings,
      token: { ...token, claims: { ...token.claims, permissions: undefined } },
      outcome: 'no scope',
      advice: 'Customize the session token as above.',
    },
    {
      name: 'JWT template',
      settings: { ISSUER: settings.ISSUER, AUDIENCE: 'https://api.example.com', SCOPE_CLAIM: 'permissions' },
      token: { ...token, claims: { ...common, azp, aud: 'https://api.example.com' } },
      outcome: 'scope',
      advice:
        'JWT templates: `{"aud": "https://api.example.com", "permissions": "{{user.public_metadata.permissions}}"}`. The page calls `getToken({ template: "my-api" })`. Prefer this: the token is for this API only.',
    },
    {
      name: 'A session token of another page',
      settings,
      token: { ...token, claims: { ...token.claims, azp: 'https://other.example.com' } },
      outcome: 'invalid_claims',
      advice: 'Add the address of the page to `AUDIENCE`.',
    },
    {
      name: 'An opaque OAuth access token',
      settings,
      token: 'oat_8XOIucKvqHVr5tYP123456789abcdefghij',
      outcome: 'invalid_header',
      advice: 'OAuth applications > Settings > Generate access tokens as JWTs.',
    },
  ],
};
