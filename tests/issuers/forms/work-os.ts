import type { Issuer, SignedToken } from '../form.ts';

const connect = { ISSUER: 'https://SUBDOMAIN.authkit.app', AUDIENCE: 'https://api.example.com' };
const session = {
  ISSUER: 'https://api.workos.com',
  AUDIENCE: 'ORGANIZATION_ID',
  AUDIENCE_CLAIM: 'org_id',
  SCOPE_CLAIM: 'permissions',
  JWKS_URI: 'https://api.workos.com/sso/jwks/CLIENT_ID',
};
const sessionToken: SignedToken = {
  header: { alg: 'RS256', kid: 'sso_oidc_key_pair_01HQSXZ' },
  claims: {
    iss: session.ISSUER,
    sub: 'user_01HBEQKA6K4QJAS93VPE39W1JT',
    org_id: session.AUDIENCE,
    role: 'member',
    roles: ['member'],
    permissions: ['read:messages'],
    entitlements: ['audit-logs'],
    sid: 'session_01HQSXZGF8FHF7A9ZZFCW4387R',
    jti: '01HQSXZXPPFPKMDD32RKTFY6PV',
  },
  published: { jwksUri: session.JWKS_URI, key: { alg: 'RS256', x5c: ['MIICQDCCAakCFA'], 'x5t#S256': 'x5tS256' } },
};
const connectToken: SignedToken = {
  header: { alg: 'RS256', kid: 'sso_oidc_key_pair_01HQSXZ' },
  claims: {
    iss: connect.ISSUER,
    aud: connect.AUDIENCE,
    sub: 'user_01HBEQKA6K4QJAS93VPE39W1JT',
    client_id: 'client_01JP8BD0CZ401TDF9X54NT5ZEK',
    org_id: session.AUDIENCE,
    sid: 'app_consent_01HQSXZGF8FHF7A9ZZFCW4387R',
    scope: 'openid read:messages',
    jti: '01HQSXZXPPFPKMDD32RKTFY6PV',
  },
  published: {
    jwksUri: `${connect.ISSUER}/oauth2/jwks`,
    metadata: `${connect.ISSUER}/.well-known/openid-configuration`,
  },
};

export const workOs: Issuer = {
  name: 'WorkOS',
  sources: [
    'https://workos.com/docs/authkit/connect/token-claims',
    'https://workos.com/docs/authkit/connect/m2m',
    'https://workos.com/docs/reference/authkit/session-tokens',
  ],
  request: `curl -s https://SUBDOMAIN.authkit.app/oauth2/token -d grant_type=client_credentials \\
  -d client_id=CLIENT_ID -d client_secret=CLIENT_SECRET -d scope=read:messages`,
  forms: [
    {
      name: 'Connect, token of a user',
      settings: connect,
      token: connectToken,
      outcome: 'scope',
      advice:
        'Connect > Configuration: the API as a resource indicator. Clients send it as `resource`; without one, `aud` is the client ID of the environment.',
    },
    {
      name: 'Connect, token of a machine',
      settings: { ...connect, AUDIENCE: 'ENVIRONMENT_CLIENT_ID' },
      token: {
        ...connectToken,
        claims: {
          ...connectToken.claims,
          aud: 'ENVIRONMENT_CLIENT_ID',
          sub: 'client_01JP8BD0CZ401TDF9X54NT5ZEK',
          sid: undefined,
        },
      },
      outcome: 'scope',
      advice:
        '`aud` of a machine is always the client ID of the environment. To accept both kinds, list both values in `AUDIENCE`.',
    },
    {
      name: 'Session token of AuthKit, for the members of named organizations',
      settings: session,
      token: sessionToken,
      outcome: 'scope',
      advice:
        'A session token has no `aud`. Its key set is that of your client ID alone, and `AUDIENCE` lists the organizations whose members may call. For all organizations use Connect.',
    },
    {
      name: 'A session token without an organization',
      settings: session,
      token: { ...sessionToken, claims: { ...sessionToken.claims, org_id: undefined } },
      outcome: 'invalid_claims',
      advice: 'The user signed in without an organization.',
    },
  ],
};
