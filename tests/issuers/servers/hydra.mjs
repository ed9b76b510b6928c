// Ory Hydra with JWTs as access tokens, and a login that accepts everyone as ada. Arguments: its program, the API identifier.
// Its database is in DATA. Prints one line of JSON once it listens.
import { spawn, spawnSync } from 'node:child_process';
import { freePort } from '../../support/child-process.ts';

const [program, audience] = process.argv.slice(2);
const { DATA, LOGOUT_URL, PORT } = process.env;
const [publicPort, adminPort] = [PORT === '0' ? await freePort() : PORT, await freePort()];
const issuer = `http://127.0.0.1:${publicPort}`;
const admin = `http://127.0.0.1:${adminPort}/admin`;

const ask = async (method, path, body) => {
  const response = await fetch(`${admin}${path}`, {
    method,
    body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? undefined : response.json();
};
const keys = '/keys/hydra.jwt.access-token';
/** As the administrator replaces a key. */
const changes = {
  '/rotate': () => ask('POST', keys, { alg: 'RS256', kid: crypto.randomUUID(), use: 'sig' }),
  async '/withdraw'() {
    const { keys: found } = await ask('GET', keys);
    await ask('DELETE', `${keys}/${found.at(-1).kid}`);
  },
};

// The pages of login, consent and logout, which an application has to bring.
const pages = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  async fetch({ url }) {
    const { pathname, searchParams } = new URL(url);
    if (pathname in changes) {
      await changes[pathname]();
      return new Response();
    }
    const [[name, challenge]] = [...searchParams];
    const kind = name.replace('_challenge', '');
    const path = `/oauth2/auth/requests/${kind}`;
    const { requested_scope, requested_access_token_audience, oidc_context, subject } = await ask(
      'GET',
      `${path}?${name}=${challenge}`,
    );
    const roles = subject === 'ada' ? ['read:messages'] : [];
    const bodies = {
      login: { subject: oidc_context?.login_hint || 'ada', remember: true },
      consent: {
        grant_scope: requested_scope,
        grant_access_token_audience: requested_access_token_audience,
        session: { access_token: { roles } },
      },
    };
    const accepted = await ask('PUT', `${path}/accept?${name}=${challenge}`, bodies[kind]);
    return Response.redirect(accepted.redirect_to);
  },
});
const environment = {
  DSN: `sqlite://${DATA}/database?_fk=true`,
  SERVE_PUBLIC_HOST: '127.0.0.1',
  SERVE_PUBLIC_PORT: publicPort,
  SERVE_ADMIN_HOST: '127.0.0.1',
  SERVE_ADMIN_PORT: adminPort,
  URLS_SELF_ISSUER: issuer,
  URLS_LOGIN: pages.url.href,
  URLS_CONSENT: pages.url.href,
  URLS_LOGOUT: pages.url.href,
  STRATEGIES_ACCESS_TOKEN: 'jwt',
  SECRETS_SYSTEM: 'not-a-secret-but-as-long-as-one',
  LOG_LEVEL: 'error',
  SQA_OPT_OUT: 'true',
};
const env = { ...process.env, ...environment };
spawnSync(program, ['migrate', 'sql', 'up', '--read-from-env', '--yes'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env,
});
const child = spawn('setpriv', ['--pdeathsig', 'KILL', program, 'serve', 'all', '--dev'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env,
});
child.on('exit', (code) => process.exit(code ?? 1));
// It makes its first keys when it is asked for them.
for (const path of ['/health/ready', '/.well-known/openid-configuration', '/.well-known/jwks.json'])
  while ((await fetch(issuer + path).catch(() => undefined))?.status !== 200) await Bun.sleep(200);
const known = await ask('GET', '/clients');
const clients = {
  reader: {},
  visitor: { audience: ['https://other.example.test'] },
  opaque: { access_token_strategy: 'opaque' },
};
for (const [client_id, more] of known.length > 0 ? [] : Object.entries(clients))
  await ask('POST', '/clients', {
    client_id,
    client_secret: `${client_id}-secret`,
    grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['https://app.example.test/callback'],
    scope: 'openid offline_access read:messages',
    audience: [audience],
    backchannel_logout_uri: LOGOUT_URL,
    ...more,
  });
const control = pages.url.origin;
process.stdout.write(`${JSON.stringify({ issuer, control, admin })}\n`);
