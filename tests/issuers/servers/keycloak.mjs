// Keycloak, in a folder of its own. Arguments: the folder of its distribution, the API identifier, the algorithm.
// Prints one line of JSON: its issuer identifier.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/child-process.ts';
import { realm } from './keycloak-realm.mjs';

const [distribution, audience, algorithm] = process.argv.slice(2);
// It writes into its own folder.
const home = join(process.cwd(), 'server');
cpSync(distribution, home, { recursive: true });
mkdirSync(join(home, 'data/import'), { recursive: true });
writeFileSync(join(home, 'data/import/realm.json'), JSON.stringify(realm('test', audience, algorithm)));
const port = await freePort();
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
spawn('setpriv', ['--pdeathsig', 'KILL', ...java, 'start', ...flags], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: environment,
});
const issuer = `${origin}/realms/test`;
while ((await fetch(`${issuer}/.well-known/openid-configuration`).catch(() => undefined))?.status !== 200)
  await Bun.sleep(300);
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
