// A real authorization server in a process of its own: it brings no types, and writes warnings of its own to the terminal.
// Arguments: the API identifier, the algorithm, the scopes. Prints one line of JSON, its issuer identifier and two clients, once
// it listens.
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { signingKey } from './signatures.ts';

const [audience, alg = 'RS256', scope = 'read:messages'] = process.argv.slice(2);
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const client = (id, others) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  id_token_signed_response_alg: alg,
  ...others,
});

const provider = new Provider(issuer, {
  clients: [
    client('reader', { scope }),
    client('visitor'),
    client('certified', { scope, tls_client_certificate_bound_access_tokens: true }),
  ],
  jwks: { keys: [{ ...signingKey(alg, 'issuer').export({ format: 'jwk' }), kid: 'provider-key', use: 'sig', alg }] },
  scopes: ['openid', ...scope.split(' ')],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    dPoP: { enabled: true },
    mTLS: {
      enabled: true,
      certificateBoundAccessTokens: true,
      // As nginx sends it.
      getCertificate: (context) => decodeURIComponent(context.get('client-cert')) || undefined,
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      getResourceServerInfo: (_, resource) => ({
        audience: resource,
        scope,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg } },
      }),
    },
  },
});

server.on('request', provider.callback());
const clients = {
  reader: { id: 'reader', secret: 'reader-secret', scope },
  visitor: { id: 'visitor', secret: 'visitor-secret' },
};
process.stdout.write(`${JSON.stringify({ issuer, clients })}\n`);
