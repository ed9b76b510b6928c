import { afterAll, expect, test } from 'bun:test';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { nginxConf, nginxServers } from '../proxies/proxies.ts';
import { until } from '../support/child-process.ts';
import { imageUnderTest } from '../support/container.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken } from '../support/mint.ts';
import { isNight } from '../support/node-versions.ts';
import { bound, proven } from '../support/proof.ts';
import { root } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { createPeers } from './peers.ts';

/*
 * Each peer is found by its name, and gets another address: the issuer, the store, and both instances behind each
 * proxy. Nothing is left at the old address, so a connection to it hangs.
 */

const PUBLIC_URL = 'https://api.example.test';
const path = '/api/private-scoped';
/** Each is found within about three. By default, Bun would keep an address for 30 seconds. */
const MOST_SECONDS = 10;
const settings = {
  ...{ ISSUER: 'http://issuer:8080/', JWKS_ALLOW_HTTP: 'true', AUDIENCE },
  ...{ DPOP: 'required', PUBLIC_URL, REDIS_URL: 'redis://store:6379' },
};
const environment = Object.entries(settings).flatMap(([name, value]) => ['--env', `${name}=${value}`]);

const peers = await createPeers();
afterAll(peers.stop);
const image = await imageUnderTest();

const isOk = (url: string) =>
  fetch(url, { keepalive: false }).then(
    ({ ok }) => ok,
    () => false,
  );

/** Starts an issuer with this key. */
async function replaceIssuer(kid: string): Promise<void> {
  const keys = JSON.stringify({ keys: [publish(rsaKey(kid), kid)] });
  const server = `Bun.serve({ port: 8080, fetch: () => new Response(${JSON.stringify(keys)}) })`;
  const address = await peers.replace('issuer', peers.image, 'bun', '-e', server);
  await until(() => isOk(`http://${address}:8080`), 'the issuer');
}
const replaceStore = () => peers.replace('store', peers.image, 'redis-server', '--save', '', '--protected-mode', 'no');
const replaceInstances = () =>
  Promise.all(['one', 'two'].map(async (name) => `${await peers.replace(name, ...environment, image)}:3010`));

/** Sends a request that needs the issuer's key, the store, and an instance. */
async function statusAt(host: string, kid: string): Promise<number> {
  const key = rsaKey(kid);
  const token = mintToken(settings.ISSUER, { key, header: { kid }, claims: { cnf: bound } });
  const headers = proven(token, `${PUBLIC_URL}${path}`);
  const request = { headers, keepalive: false, signal: AbortSignal.timeout(15_000) };
  return fetch(`http://${host}${path}`, request).then(
    ({ status }) => status,
    () => 0,
  );
}

/** Returns after how many seconds twenty requests in a row are accepted. */
async function secondsUntilAccepted(host: string, kid: string): Promise<number> {
  const startedAtMs = performance.now();
  let seconds = 0;
  let inRow = 0;
  await until(async () => {
    if ((await statusAt(host, kid)) !== 200) inRow = 0;
    else if (inRow++ === 0) seconds = (performance.now() - startedAtMs) / 1000;
    return inRow === 20;
  }, `accepted requests at ${host}`);
  return seconds;
}

const folder = temporaryFolder();
await chmod(folder, 0o755);
const mounted = ['--volume', `${folder}:/files:ro`, '--workdir', '/tmp'];
const servers = ['one:3010', 'two:3010'] as const;

async function startNginx(name: string, text: string): Promise<string> {
  await Bun.write(join(folder, name, 'nginx.conf'), nginxConf.replaceAll('nginx.pid', '/tmp/nginx.pid'));
  await Bun.write(join(folder, name, 'protected-api.conf'), text);
  return peers.replace(name, ...mounted, peers.image, name, '-p', '/tmp', '-c', `/files/${name}/nginx.conf`);
}

/** What the file says about nginx 1.27.3 or later. */
const followed = (await nginxServers('80 default_server', `${servers[0]} resolve`, `${servers[1]} resolve`))
  .replace(/^upstream (\w+) \{$/gm, '$&\n  zone $1 64k;')
  .replace(/^upstream/m, 'resolver 127.0.0.11 valid=5s;\n$&');

async function startHaproxy(): Promise<string> {
  await Bun.write(join(folder, 'haproxy.cfg'), Bun.file(join(root, 'deploy/haproxy/haproxy.cfg')));
  const variables = { FRONTEND: ':80', SERVER_1: servers[0], SERVER_2: servers[1] };
  const options = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  return peers.replace('haproxy', ...options, ...mounted, peers.image, 'haproxy', '-db', '-f', '/files/haproxy.cfg');
}

await Promise.all([replaceIssuer('signing-key'), replaceStore()]);
// These start before there is an instance. The newest nginx is installed by night only.
const haproxy = await startHaproxy();
const following = isNight ? [haproxy, await startNginx('newest-nginx', followed)] : [haproxy];
for (const host of following) {
  await until(async () => [502, 503].includes(await statusAt(host, 'signing-key')), 'a proxy without instances');
}
const instances = await replaceInstances();
const nginx = await startNginx('nginx', await nginxServers('80 default_server', ...servers));

test('proxies that follow names start without them, and find them', async () => {
  for (const host of [...following, nginx]) await secondsUntilAccepted(host, 'signing-key');
});

test('instances that have just started find the store at another address, and the issuer within one request', async () => {
  await replaceStore();
  const startedAtMs = performance.now();
  const areReady = async () =>
    (await Promise.all(instances.map((host) => isOk(`http://${host}/readyz`)))).every(Boolean);
  await until(areReady, 'the store');
  expect((performance.now() - startedAtMs) / 1000).toBeLessThan(MOST_SECONDS);
  // The new store is empty, so proofs of before are rejected for a moment.
  for (const host of instances) await secondsUntilAccepted(host, 'signing-key');
  await replaceIssuer('other');
  expect(await Promise.all(instances.map((host) => statusAt(host, 'other')))).toEqual([200, 200]);
});

test('both instances at other addresses are found, by nginx before 1.27.3 after a reload', async () => {
  await replaceInstances();
  const found = following.map((host) => secondsUntilAccepted(host, 'other'));
  const [unreachable, ...seconds] = await Promise.all([statusAt(nginx, 'other'), ...found]);
  expect(unreachable).toBe(504);
  await peers.signal('nginx', 'HUP');
  expect(Math.max(...seconds, await secondsUntilAccepted(nginx, 'other'))).toBeLessThan(MOST_SECONDS);
});
