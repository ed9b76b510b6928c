// oidc-provider in a process of its own, for one person who logs in without a page. The first login is an hour old and of the
// acr `low`; one with acr_values or max_age is what they ask for. Arguments: the API identifier, the address for logout tokens.
// Prints one line of JSON, its issuer identifier, once it listens.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { signingKey } from './signatures.ts';

const [audience, backchannel_logout_uri] = process.argv.slice(2);
const scope = 'read:messages';
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'web',
      client_secret: 'web-secret',
      redirect_uris: ['https://app.example.test/callback'],
      backchannel_logout_uri,
      backchannel_logout_session_required: true,
    },
  ],
  acrValues: ['low', 'high'],
  cookies: { keys: ['not a secret'] },
  jwks: {
    keys: [
      {
        ...signingKey('RS256', 'issuer').export({ format: 'jwk' }),
        kid: 'provider-key',
        use: 'sig',
        alg: 'RS256',
      },
    ],
  },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  // RFC 9470 §6.1; the session is what a logout token names.
  extraTokenClaims: ({ oidc }) => {
    const { acr, authTime, sid } = oidc.entities.AuthorizationCode;
    return { acr, auth_time: authTime, sid };
  },
  interactions: { url: (_, { uid }) => `/login/${uid}` },
  async loadExistingGrant({ oidc }) {
    const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
    grant.addOIDCScope('openid');
    grant.addResourceScope(audience, scope);
    await grant.save();
    return grant;
  },
  features: {
    backchannelLogout: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ audience, scope, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } } }),
    },
  },
});

const answer = provider.callback();
server.on('request', async (request, response) => {
  if (!request.url.startsWith('/login/')) return answer(request, response);
  const { params } = await provider.interactionDetails(request, response);
  const now = Math.floor(Date.now() / 1000);
  const login = {
    accountId: 'ada',
    acr: params.acr_values?.split(' ')[0] ?? 'low',
    ts: params.max_age === undefined ? now - 3600 : now,
  };
  return provider.interactionFinished(request, response, { login });
});
process.stdout.write(`${JSON.stringify({ issuer, clients: {} })}\n`);
