// Better Auth with its OAuth provider plugin, in a process of its own. Arguments: the API identifier.
// An API in the same process checks its tokens at /me. Its database is in DATA, if that is set.
// Prints one line of JSON once it listens: its issuer identifier and two clients.
import { Database } from 'bun:sqlite';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { oauthProvider, oauthProviderAuthServerMetadata } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { jwt } from 'better-auth/plugins';
import { createGuard } from '../../../src/auth/index.ts';

const [audience] = process.argv.slice(2);
const { DATA, PORT = '0', LOGOUT_URL } = process.env;
let respond = () => new Response(null, { status: 503 });
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(PORT),
  idleTimeout: 120,
  fetch: (request) => respond(request),
});
const origin = `http://127.0.0.1:${server.port}`;

const database = new Database(DATA ? join(DATA, 'database') : ':memory:');
const options = {
  baseURL: origin,
  secret: 'not a secret, but as long as one',
  database,
  logger: { disabled: true },
  rateLimit: { enabled: false },
  emailAndPassword: { enabled: true },
  plugins: [
    jwt({ jwks: { keyPairConfigs: [{ alg: 'ES256' }] } }),
    oauthProvider({
      loginPage: '/sign-in',
      consentPage: '/consent',
      scopes: ['openid', 'offline_access', 'read:messages', 'write:messages'],
      resources: [
        audience,
        { identifier: `${audience}ES256`, signingAlgorithm: 'ES256' },
        'https://other.example.test/',
      ],
      enforcePerClientResources: false,
      clientPrivileges: () => true,
      customAccessTokenClaims: ({ user }) => ({ roles: user?.email === 'ada@example.test' ? ['read:messages'] : [] }),
      silenceWarnings: { oauthAuthServerConfig: true },
    }),
  ],
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const metadata = oauthProviderAuthServerMetadata(auth);
const issuer = `${origin}/api/auth`;
const guard = createGuard({
  issuer,
  audience,
  algorithms: ['EdDSA'],
  jwksUri: `${issuer}/jwks`,
  fetch: (url, init) => auth.handler(new Request(url, init)),
});
const password = 'password';
const form = '<form method="post"><input name="username"><input type="password" name="password"></form>';
/** The page to sign in, which an application has to bring. */
async function signIn(request) {
  if (request.method === 'GET') return new Response(form, { headers: { 'content-type': 'text/html' } });
  const email = `${(await request.formData()).get('username')}@example.test`;
  const { headers } = await auth.api.signInEmail({ body: { email, password }, returnHeaders: true });
  headers.set('location', `/api/auth/oauth2/authorize${new URL(request.url).search}`);
  return new Response(null, { status: 302, headers });
}

const setExpiry = (condition, ms) =>
  database.run(`UPDATE jwks SET expiresAt = ? WHERE ${condition}`, [new Date(Date.now() + ms).toISOString()]);
/** What happens to keys after `rotationInterval`, and after the `gracePeriod` of thirty days. */
const changes = {
  '/rotate': () => setExpiry('expiresAt IS NULL', -1000),
  '/withdraw': () => setExpiry('expiresAt IS NOT NULL', -31 * 86_400_000),
};

respond = async (request) => {
  const { pathname } = new URL(request.url);
  if (changes[pathname]?.()) return new Response();
  if (pathname === '/sign-in') return signIn(request);
  if (pathname.startsWith('/.well-known/')) return metadata(request);
  if (pathname !== '/me') return auth.handler(request);
  const result = await guard.check(request, { scope: 'read:messages' });
  return result instanceof Response ? result : Response.json(result.clientId);
};

/** Clients belong to somebody who is signed in. */
async function registerClients() {
  const signUp = (name) =>
    auth.api.signUpEmail({ body: { name, email: `${name}@example.test`, password }, returnHeaders: true });
  await signUp('bob');
  const { headers: signedIn } = await signUp('ada');
  const headers = { cookie: signedIn.get('set-cookie').replace(/;.*/, '') };
  const register = async (scope) => {
    const { client_id: id, client_secret: secret } = await auth.api.adminCreateOAuthClient({
      headers,
      body: {
        grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
        redirect_uris: ['https://app.example.test/callback'],
        scope: `openid offline_access ${scope}`,
        client_credentials_scopes: [scope],
        skip_consent: true,
        enable_end_session: true,
      },
    });
    // It takes public https URLs only.
    if (LOGOUT_URL)
      database.run('UPDATE oauthClient SET backchannelLogoutUri = ? WHERE clientId = ?', [LOGOUT_URL, id]);
    return { id, secret, scope };
  };
  return { reader: await register('read:messages'), visitor: await register('write:messages') };
}

const known = DATA && join(DATA, 'clients.json');
const clients = known && existsSync(known) ? JSON.parse(readFileSync(known, 'utf8')) : await registerClients();
if (known) writeFileSync(known, JSON.stringify(clients));
process.stdout.write(`${JSON.stringify({ issuer, clients, control: origin })}\n`);
