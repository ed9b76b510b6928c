// A real authorization server in a process of its own: it brings no types, and writes warnings of its own to the terminal.
// Arguments: the API identifier. Prints one line of JSON, its issuer identifier, once it listens.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const audience = process.argv[2];
const server = createServer();
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const client = (id, scope) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
  ...(scope && { scope }),
});

const provider = new Provider(issuer, {
  clients: [client('reader', 'read:messages'), client('visitor')],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'provider-key', use: 'sig', alg: 'RS256' }] },
  scopes: ['read:messages'],
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => audience,
      getResourceServerInfo: () => ({
        audience,
        scope: 'read:messages',
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});
server.on('request', provider.callback());
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
