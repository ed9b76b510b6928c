// Keycloak, in the folder DATA. Arguments: the folder of its distribution, the API identifier. Prints one line of JSON: its
// issuer identifier, and where a POST replaces its key as an administrator does.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/child-process.ts';
import { realm } from './keycloak-realm.mjs';

const [distribution, audience] = process.argv.slice(2);
const { DATA, PORT } = process.env;
// It writes into its own folder.
const home = join(DATA, 'server');
if (!existsSync(home)) cpSync(distribution, home, { recursive: true });
mkdirSync(join(home, 'data/import'), { recursive: true });
// It imports what it has not.
writeFileSync(join(home, 'data/import/realm.json'), JSON.stringify(realm('test', audience)));
const port = PORT === '0' ? await freePort() : PORT;
const origin = `http://127.0.0.1:${port}`;
const flags = [
  '--optimized',
  '--import-realm',
  '--http-enabled=true',
  `--http-port=${port}`,
  '--http-host=127.0.0.1',
  `--hostname=${origin}`,
  '--http-management-port=0',
  '--cache=local',
  '--spi-x509cert-lookup--nginx--ssl-client-cert=client-cert',
  '--spi-x509cert-lookup--nginx--trust-proxy-verification=true',
];
const environment = {
  ...process.env,
  KC_BOOTSTRAP_ADMIN_USERNAME: 'admin',
  KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin',
};
// Not by its script, which starts it in the background. It ends with this process, however that ends.
const java = [
  ...['java', '-XX:TieredStopAtLevel=1', `-Dkc.home.dir=${home}`],
  '-Djava.util.logging.manager=org.jboss.logmanager.LogManager',
  '-Djava.util.concurrent.ForkJoinPool.common.threadFactory=io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory',
  ...['-cp', join(home, 'lib/quarkus-run.jar'), 'io.quarkus.bootstrap.runner.QuarkusEntryPoint'],
];
const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...java, 'start', ...flags], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: environment,
});
child.on('exit', (code) => process.exit(code ?? 1));
const issuer = `${origin}/realms/test`;
while ((await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined))?.status !== 200)
  await Bun.sleep(300);

/** Asks the administration as the administrator. */
async function administer(method, path, body) {
  const form = { client_id: 'admin-cli', grant_type: 'password', username: 'admin', password: 'admin' };
  const login = { method: 'POST', body: new URLSearchParams(form) };
  const response = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, login);
  const { access_token } = await response.json();
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  return fetch(`${origin}/admin/realms/test/${path}`, { method, headers, body: body && JSON.stringify(body) });
}
const keyProviders = async () => (await administer('GET', 'components?type=org.keycloak.keys.KeyProvider')).json();
const changes = {
  '/rotate': async () =>
    administer('POST', 'components', {
      name: 'new',
      providerId: 'rsa-generated',
      providerType: 'org.keycloak.keys.KeyProvider',
      config: { priority: ['200'], algorithm: ['RS256'] },
    }),
  async '/withdraw'() {
    const old = (await keyProviders()).find(({ name }) => name === 'rsa-generated');
    return administer('DELETE', `components/${old.id}`);
  },
};
const control = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 120,
  async fetch({ url }) {
    const { ok } = await changes[new URL(url).pathname]();
    return new Response(null, { status: ok ? 200 : 500 });
  },
});
process.stdout.write(`${JSON.stringify({ issuer, control: control.url.origin })}\n`);
