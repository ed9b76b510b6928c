// Ory Hydra with JWTs as access tokens, and a login that accepts everyone as ada. Arguments: its program, the API identifier.
// Prints one line of JSON once it listens.
import { spawn } from 'node:child_process';
import { freePort } from '../../support/child-process.ts';

const [program, audience] = process.argv.slice(2);
const [publicPort, adminPort] = [await freePort(), await freePort()];
const issuer = `http://127.0.0.1:${publicPort}`;
const admin = `http://127.0.0.1:${adminPort}/admin`;

const ask = async (method, path, body) => {
  const response = await fetch(`${admin}${path}`, {
    method,
    body: body && JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
};
// The pages of login and consent, which an application has to bring.
const pages = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch({ url }) {
    const [[name, challenge]] = [...new URL(url).searchParams];
    const kind = name.replace('_challenge', '');
    const path = `/oauth2/auth/requests/${kind}`;
    const { requested_scope, requested_access_token_audience } = await ask('GET', `${path}?${name}=${challenge}`);
    const grants = { grant_scope: requested_scope, grant_access_token_audience: requested_access_token_audience };
    const accepted = await ask(
      'PUT',
      `${path}/accept?${name}=${challenge}`,
      kind === 'login' ? { subject: 'ada' } : grants,
    );
    return Response.redirect(accepted.redirect_to);
  },
});
const environment = {
  DSN: 'memory',
  SERVE_PUBLIC_HOST: '127.0.0.1',
  SERVE_PUBLIC_PORT: publicPort,
  SERVE_ADMIN_HOST: '127.0.0.1',
  SERVE_ADMIN_PORT: adminPort,
  URLS_SELF_ISSUER: issuer,
  URLS_LOGIN: pages.url.href,
  URLS_CONSENT: pages.url.href,
  STRATEGIES_ACCESS_TOKEN: 'jwt',
  SECRETS_SYSTEM: crypto.randomUUID(),
  LOG_LEVEL: 'error',
  SQA_OPT_OUT: 'true',
};
spawn('setpriv', ['--pdeathsig', 'KILL', program, 'serve', 'all', '--dev'], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, ...environment },
});
while ((await fetch(`${issuer}/health/ready`).catch(() => undefined))?.status !== 200) await Bun.sleep(200);
for (const [client_id, audiences] of Object.entries({ reader: [audience], visitor: ['https://other.example.test'] }))
  await ask('POST', '/clients', {
    client_id,
    client_secret: `${client_id}-secret`,
    grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['https://app.example.test/callback'],
    scope: 'openid offline_access read:messages',
    audience: audiences,
  });
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
