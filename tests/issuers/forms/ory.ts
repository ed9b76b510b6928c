import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://PROJECT.projects.oryapis.com',
  AUDIENCE: 'https://api.example.com',
  SCOPE_CLAIM: 'scp',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: '5f5d4b1e-9a26-4d0c-8c5f-5d4b1e9a2611', typ: 'JWT' },
  claims: {
    aud: ['https://api.example.com'],
    client_id: '3b4fb0a8-5f5d-4b1e-9a26-1d0c8c5f5d4b',
    ext: {},
    iss: settings.ISSUER,
    jti: 'd8c8a0b0-61b3-4c6a-a2b5-2d0e1e2b1a3c',
    nbf: 1_700_000_000,
    scp: ['read:messages'],
    sub: '3b4fb0a8-5f5d-4b1e-9a26-1d0c8c5f5d4b',
  },
  published: {
    jwksUri: 'https://PROJECT.projects.oryapis.com/.well-known/jwks.json',
    metadata: 'https://PROJECT.projects.oryapis.com/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};
const { scp, ...withoutScp } = token.claims;

export const ory: Issuer = {
  name: 'Ory Hydra and Ory Network',
  sources: [
    'https://www.ory.com/docs/oauth2-oidc/jwt-access-token',
    'https://www.ory.com/docs/hydra/guides/audiences',
    'https://github.com/ory/hydra/pull/3531',
  ],
  request: `curl -s https://PROJECT.projects.oryapis.com/oauth2/token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages -d audience=https://api.example.com`,
  forms: [
    {
      name: 'JWT strategy, scopes as the list `scp`',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Set `strategies.access_token` to `jwt` (or `access_token_strategy` of the client), and add the API to the `audience` of the client. The client requests it with `audience`. Copy `ISSUER` from the metadata: some versions of Hydra use a trailing slash.',
    },
    {
      name: 'JWT strategy, scopes as a string',
      settings: { ISSUER: settings.ISSUER, AUDIENCE: settings.AUDIENCE },
      token: { ...token, claims: { ...withoutScp, scope: 'read:messages' } },
      outcome: 'scope',
      advice: '`strategies.jwt.scope_claim` is `string` or `both`.',
    },
    {
      name: 'A token without an audience',
      settings,
      token: { ...token, claims: { ...token.claims, aud: [] } },
      outcome: 'invalid_claims',
      advice: 'The client sent no `audience`, and Hydra adds none by itself.',
    },
    {
      name: 'The opaque strategy, the default',
      settings,
      token: 'ory_at_JGhESDjKfHMQ8Wcy0cC3.hIQxGmX37ydn8WmKAnlD3U',
      outcome: 'invalid_header',
      advice: 'It is opaque. Set the JWT strategy.',
    },
  ],
};
