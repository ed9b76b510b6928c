import { generateKeyPairSync } from 'node:crypto';
import { Provider } from 'oidc-provider';

// An authorization server to try an MCP server with. Clients such as the MCP Inspector register themselves, and every
// name and password signs in, so use it on your own machine only. Start it with:
// node mcp-login.ts
const { PORT = '3011', SCOPE = 'notes:read notes:write' } = process.env;
const issuer = `http://localhost:${PORT}`;
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const provider = new Provider(issuer, {
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'RSA', use: 'sig', alg: 'RS256' }] },
  cookies: { keys: [crypto.randomUUID()] },
  scopes: ['openid', 'offline_access', ...SCOPE.split(' ')],
  clientBasedCORS: () => true,
  // Clients of the SDK 1.x never request `offline_access`.
  issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
  // Clients refresh once for each request that gets a 401. Of several at once, all but the first would be rejected.
  rotateRefreshToken: false,
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // The audience of a token is the MCP server that the client requests it for.
      getResourceServerInfo: (_, audience) => ({
        audience,
        scope: SCOPE,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

// A page of another site must not reach this server by a name of its own (DNS rebinding), because every password signs
// in.
provider.use((context, next) => {
  if (context.host === new URL(issuer).host) return next();
  context.status = 421;
});

// Pages register and request tokens from their own origin, as that of the MCP Inspector.
provider.use(async (context, next) => {
  context.set('access-control-allow-origin', '*');
  context.set('access-control-allow-headers', 'Authorization, *');
  if (context.method === 'OPTIONS') context.status = 204;
  else await next();
});

provider.listen(Number(PORT), 'localhost', () => console.log(`Issuer at ${issuer}`));
