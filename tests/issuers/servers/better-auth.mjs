// Better Auth with its OAuth provider plugin, in a process of its own. Arguments: the API identifier.
// An API in the same process checks its tokens at /me.
// Prints one line of JSON once it listens: its issuer identifier and two clients.
import { oauthProvider, oauthProviderAuthServerMetadata } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { getAuthTables } from 'better-auth/db';
import { jwt } from 'better-auth/plugins';
import { createGuard } from '../../../src/auth/index.ts';

const [audience] = process.argv.slice(2);
let respond = () => new Response(null, { status: 503 });
const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => respond(request) });
const origin = `http://127.0.0.1:${server.port}`;

const plugins = [
  jwt(),
  oauthProvider({
    loginPage: '/sign-in',
    consentPage: '/consent',
    scopes: ['read:messages', 'write:messages'],
    resources: [audience],
    enforcePerClientResources: false,
    clientPrivileges: () => true,
    silenceWarnings: { oauthAuthServerConfig: true },
  }),
];
const models = Object.keys(getAuthTables({ plugins }));
const auth = betterAuth({
  baseURL: origin,
  secret: crypto.randomUUID(),
  database: memoryAdapter(Object.fromEntries(models.map((model) => [model, []]))),
  logger: { disabled: true },
  emailAndPassword: { enabled: true },
  plugins,
});
const metadata = oauthProviderAuthServerMetadata(auth);
const issuer = `${origin}/api/auth`;
const guard = createGuard({
  issuer,
  audience,
  algorithms: ['EdDSA'],
  jwksUri: `${issuer}/jwks`,
  fetch: (url, init) => auth.handler(new Request(url, init)),
});
respond = async (request) => {
  if (request.url.includes('/.well-known/')) return metadata(request);
  if (!request.url.endsWith('/me')) return auth.handler(request);
  const result = await guard.check(request, { scope: 'read:messages' });
  return result instanceof Response ? result : Response.json(result.clientId);
};

// Clients belong to somebody who is signed in.
const { headers: signedIn } = await auth.api.signUpEmail({
  body: { name: 'Admin', email: 'admin@example.test', password: crypto.randomUUID() },
  returnHeaders: true,
});
const headers = { cookie: signedIn.get('set-cookie').replace(/;.*/, '') };
const register = async (scope) => {
  const { client_id: id, client_secret: secret } = await auth.api.adminCreateOAuthClient({
    headers,
    body: { grant_types: ['client_credentials'], scope, client_credentials_scopes: [scope] },
  });
  return { id, secret, scope };
};
const clients = { reader: await register('read:messages'), visitor: await register('write:messages') };
process.stdout.write(`${JSON.stringify({ issuer, clients })}\n`);
