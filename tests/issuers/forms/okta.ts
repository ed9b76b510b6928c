import type { Issuer, SignedToken } from '../form.ts';

const settings = {
  ISSUER: 'https://ORG.okta.com/oauth2/default',
  AUDIENCE: 'api://default',
  SCOPE_CLAIM: 'scp',
};
const token: SignedToken = {
  header: { alg: 'RS256', kid: 'KGzTr0CKMeNrbVGEH0Wv' },
  claims: {
    ver: 1,
    jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
    iss: settings.ISSUER,
    aud: settings.AUDIENCE,
    cid: '0oa1gcs4y5aJhGq5w0h8',
    scp: ['read:messages'],
    sub: '0oa1gcs4y5aJhGq5w0h8',
  },
  published: {
    jwksUri: 'https://ORG.okta.com/oauth2/default/v1/keys',
    metadata: 'https://ORG.okta.com/oauth2/default/.well-known/openid-configuration',
    key: { alg: 'RS256' },
  },
};

export const okta: Issuer = {
  name: 'Okta',
  sources: [
    'https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/tag/CustomAS',
    'https://help.okta.com/en-us/Content/topics/security/api-config-auth-server.htm',
    'https://support.okta.com/help/s/article/Signature-Validation-Failed-on-Access-Token',
  ],
  request: `curl -s https://ORG.okta.com/oauth2/default/v1/token -u CLIENT_ID:CLIENT_SECRET \\
  -d grant_type=client_credentials -d scope=read:messages`,
  forms: [
    {
      name: 'Custom authorization server, `default` among them',
      settings,
      token,
      outcome: 'scope',
      advice:
        'Security > API > Authorization Servers: copy Issuer URI to `ISSUER` and Audience to `AUDIENCE`, and add the scope `read:messages` with an access policy that grants it.',
    },
    {
      name: 'Custom authorization server behind a custom domain',
      settings: { ...settings, ISSUER: 'https://id.example.com/oauth2/default' },
      token: {
        ...token,
        claims: { ...token.claims, iss: 'https://id.example.com/oauth2/default' },
        published: {
          jwksUri: 'https://id.example.com/oauth2/default/v1/keys',
          metadata: 'https://id.example.com/oauth2/default/.well-known/openid-configuration',
        },
      },
      outcome: 'scope',
      advice:
        'Set the Issuer of the authorization server to Custom URL. With Dynamic, list both addresses in `ISSUER`.',
    },
    {
      name: 'The org authorization server',
      settings: { ...settings, ISSUER: 'https://ORG.okta.com' },
      token: {
        header: { alg: 'RS256', typ: 'application/okta-internal-at+jwt', kid: 'only Okta knows' },
        claims: { ...token.claims, iss: 'https://ORG.okta.com', aud: 'https://ORG.okta.com' },
        published: {
          jwksUri: 'https://ORG.okta.com/oauth2/v1/keys',
          metadata: 'https://ORG.okta.com/.well-known/openid-configuration',
        },
      },
      outcome: 'invalid_header',
      advice:
        'Its access tokens are for Okta only, and Okta says to treat them as opaque. Use a custom authorization server.',
    },
  ],
};
