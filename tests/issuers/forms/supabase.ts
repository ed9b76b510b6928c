import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://PROJECT.supabase.co/auth/v1',
  AUDIENCE: 'authenticated',
  ALGORITHMS: 'ES256',
  JWKS_URI: 'https://PROJECT.supabase.co/auth/v1/.well-known/jwks.json',
  REQUIRED_CLAIMS: 'role=authenticated',
  SCOPE_CLAIM: '/app_metadata/permissions',
};
const token: SignedToken = {
  header: { alg: 'ES256', kid: 'b81269f1-21d8-4f2e-b719-c2240a840d90', typ: 'JWT' },
  claims: {
    iss: settings.ISSUER,
    sub: '123e4567-e89b-12d3-a456-426614174000',
    aud: 'authenticated',
    email: 'user@example.com',
    phone: '',
    app_metadata: { provider: 'email', providers: ['email'], permissions: ['read:messages'] },
    user_metadata: {},
    role: 'authenticated',
    aal: 'aal1',
    amr: [{ method: 'password', timestamp: 1_700_000_000 }],
    session_id: '123e4567-e89b-12d3-a456-426614174000',
    is_anonymous: false,
  },
  published: { jwksUri: settings.JWKS_URI, key: { alg: 'ES256', key_ops: ['verify'], ext: true } },
};

export const supabase: Issuer = {
  name: 'Supabase',
  sources: [
    'https://supabase.com/docs/guides/auth/jwt-fields',
    'https://supabase.com/docs/guides/auth/signing-keys',
    'https://supabase.com/docs/guides/auth/auth-hooks/custom-access-token-hook',
  ],
  forms: [
    {
      name: 'JWT signing keys, ES256',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Project settings > JWT signing keys: an ECC key is in use. Put `permissions`, a list of strings, into `app_metadata` of the user with the service key. Never read scopes from `user_metadata`, which users can change.',
    },
    {
      name: 'Claim of a custom access token hook',
      settings: { ...settings, SCOPE_CLAIM: 'permissions' },
      token: { ...token, claims: { ...token.claims, permissions: ['read:messages'] } },
      outcome: 'scope',
      advice: 'The hook adds `permissions` to the claims.',
    },
    {
      name: 'JWT signing keys, RS256',
      settings: { ...settings, ALGORITHMS: 'RS256' },
      token: {
        ...token,
        header: { ...token.header, alg: 'RS256' },
        published: { ...token.published, key: { alg: 'RS256' } },
      },
      outcome: 'scope',
      advice: 'An RSA key is in use.',
    },
    {
      name: 'A user without permissions',
      settings,
      token: { ...token, claims: { ...token.claims, app_metadata: { provider: 'email' } } },
      outcome: 'no scope',
      advice: 'Session tokens have no `scope` claim.',
    },
    {
      name: 'The legacy JWT secret',
      settings,
      token: { ...token, header: { alg: 'HS256', typ: 'JWT' } },
      outcome: 'invalid_header',
      advice: 'HS256. Migrate the project to JWT signing keys. The `anon` and `service_role` keys are such tokens too.',
    },
  ],
};
