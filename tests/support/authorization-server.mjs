// A real authorization server in a process of its own: it brings no types, and writes warnings of its own to the terminal.
// Arguments: the API identifier, the algorithm, the scopes. Prints one line of JSON, its issuer identifier and two clients, once
// it listens. A person logs in without a page: an hour ago with the acr `low`, or as asked for. The environment may have PORT, and in
// KEYS the names of its keys: the first signs, all are published. A resource may end with its algorithm, or with `opaque`.

import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { signingKey } from './keys.ts';

const [audience, alg = 'RS256', scope = 'read:messages'] = process.argv.slice(2);
const { PORT = '0', KEYS = 'issuer', LOGOUT_URL } = process.env;
const server = createServer();
await new Promise((done) => server.listen(Number(PORT), '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = (id, others) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
  redirect_uris: ['https://app.example.test/callback', 'http://127.0.0.1:6276/oauth/callback'],
  response_types: ['code'],
  id_token_signed_response_alg: alg,
  ...others,
});

const keys = KEYS.split(' ').flatMap((name) =>
  [...new Set([alg, 'ES256', 'EdDSA'])].map((each) => ({
    ...signingKey(each, name).export({ format: 'jwk' }),
    ...{ kid: `${name}-${each}`, use: 'sig', alg: each },
  })),
);
const provider = new Provider(issuer, {
  clients: [
    client('reader', { scope: `openid ${scope}`, backchannel_logout_uri: LOGOUT_URL }),
    client('visitor'),
    client('certified', { scope, tls_client_certificate_bound_access_tokens: true }),
  ],
  jwks: { keys },
  scopes: ['openid', ...scope.split(' ')],
  acrValues: ['low', 'high'],
  cookies: { keys: ['not a secret'] },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  // RFC 9470 §6.1.
  extraTokenClaims({ oidc }, { accountId }) {
    const { acr, authTime } = oidc.entities.AuthorizationCode ?? {};
    return { acr, auth_time: authTime, roles: accountId === 'ada' ? scope.split(' ') : [] };
  },
  issueRefreshToken: () => true,
  // So that a test whose clock is ahead of this one sees a token expire, and the refreshed one not.
  ttl: { AccessToken: ({ oidc }) => (oidc.params?.grant_type === 'refresh_token' ? 86_400 : 3600) },
  interactions: { url: (_, { uid }) => `/login/${uid}` },
  async loadExistingGrant({ oidc }) {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope(`openid ${scope}`);
    grant.addResourceScope(oidc.params.resource ?? audience, scope);
    await grant.save();
    return grant;
  },
  features: {
    backchannelLogout: { enabled: LOGOUT_URL !== undefined },
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    dPoP: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    revocation: { enabled: true },
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      // As nginx sends it.
      getCertificate: (context) => decodeURIComponent(context.get('client-cert')) || undefined,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      getResourceServerInfo: (_, audience) => ({
        audience,
        scope,
        accessTokenFormat: audience.endsWith('/opaque') ? 'opaque' : 'jwt',
        jwt: { sign: { alg: /(?:ES256|EdDSA)$/.exec(audience)?.[0] ?? alg } },
      }),
    },
  },
});

/** oidc-provider introspects no JWTs. Here, one is active until its grant is revoked. */
const grants = new Map();
provider.on('access_token.issued', ({ jti, grantId }) => grants.set(jti, grantId));
async function introspectJwt(request, response) {
  const token = new URLSearchParams(Buffer.concat(await request.toArray()).toString()).get('token');
  const { jti } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
  const isClient = decodeURIComponent(atob(request.headers.authorization.slice(6))) === 'reader:reader-secret';
  const active = isClient && grants.has(jti) && (await provider.Grant.find(grants.get(jti))) !== undefined;
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ active }));
}

const respond = provider.callback();
server.on('request', async (request, response) => {
  if (request.url === '/introspection-of-jwt') return introspectJwt(request, response);
  if (!request.url.startsWith('/login/')) return respond(request, response);
  const { params } = await provider.interactionDetails(request, response);
  const ageSeconds = params.max_age === undefined ? 3600 : 0;
  const ts = Math.floor(Date.now() / 1000) - ageSeconds;
  const login = { accountId: params.login_hint ?? 'ada', acr: params.acr_values ?? 'low', ts };
  return provider.interactionFinished(request, response, { login });
});
const visitor = { id: 'visitor', secret: 'visitor-secret' };
const clients = { reader: { id: 'reader', secret: 'reader-secret', scope }, visitor };
process.stdout.write(`${JSON.stringify({ issuer, clients })}\n`);
