import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { $ } from 'bun';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, type RunningProcess, until } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { AUDIENCE } from '../support/mint.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { haproxy, nginx } from './proxies.ts';

const folder = temporaryFolder();
const processes: RunningProcess[] = [];

/** Runs curl with the certificate of a client, and returns what it prints; undefined if it gets no response. */
async function curl(client: string | undefined, ...args: readonly string[]): Promise<string | undefined> {
  const identity = client ? ['--cert', `${client}.pem`, '--key', `${client}.key`] : [];
  const { exitCode, stdout } = await $`curl --silent --cacert ca.pem ${identity} ${args}`.cwd(folder).nothrow().quiet();
  return exitCode === 0 ? stdout.toString() : undefined;
}

const header = async (client: string) => {
  const pem = await Bun.file(join(folder, `${client}.pem`)).text();
  return [`:${new X509Certificate(pem).raw.toString('base64')}:`, encodeURIComponent(pem)];
};

/** Starts a proxy, with or without client certificates, and returns its URL. */
async function startProxy(proxied: typeof haproxy, server: string, tls?: 'mutualTls' | 'selfSigned'): Promise<string> {
  const frontend = `127.0.0.1:${await freePort()}`;
  const proxy = await proxied.start(frontend + (tls ? proxied[tls](folder) : ''), server);
  processes.push(proxy);
  const address = `http${tls ? 's' : ''}://${frontend}`;
  await until(async () => ((await curl('a', `${address}/livez`)) ?? '').length > 0, `the proxy: ${proxy.stderr()}`);
  return address;
}

const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
await $`openssl req -x509 ${key} -subj /CN=ca -keyout ca.key -out ca.pem`.cwd(folder).quiet();
for (const name of ['server', 'a', 'b']) {
  const of = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  await $`openssl req -x509 ${key} ${of} -keyout ${name}.key -out ${name}.pem`.cwd(folder).quiet();
}
await $`cat server.pem server.key > server.both`.cwd(folder).quiet();
await $`openssl req -x509 ${key} -subj /CN=own -keyout own.key -out own.pem`.cwd(folder).quiet();
const provider = await startAuthorizationServer();
const service = await sourceForm.start({ ISSUER: provider.issuer, AUDIENCE, CLIENT_CERTIFICATE: 'Client-Cert' });
const atProvider = await startProxy(nginx, new URL(provider.issuer).host, 'selfSigned');
const grant = ['--user', 'certified:certified-secret', '--data', 'grant_type=client_credentials'];
const tokenOf = async (client: string): Promise<string> =>
  JSON.parse((await curl(client, ...grant, `${atProvider}/token`)) ?? '{}').access_token;
/** A token that oidc-provider bound to the certificate of client a. */
const token = await tokenOf('a');
const ownToken = await tokenOf('own');

afterAll(async () => {
  for (const { signal } of processes) signal('SIGTERM');
  await Promise.all([provider.close(), service.close(), ...processes.map(({ finished }) => finished)]);
});

test('oidc-provider binds the token to the certificate', () => {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  expect(claims.cnf).toEqual({ 'x5t#S256': expect.any(String) });
});

/** The headers that clients send themselves, each written as the client whose certificate it contains. */
const rows: readonly [name: string, client: string, sends: readonly string[], status: string][] = [
  ['its certificate', 'a', [], '200'],
  ['another certificate', 'b', [], '401'],
  ['another certificate, and its own in the header', 'b', ['a'], '401'],
  ['another certificate, and its own in the header twice', 'b', ['a', 'a'], '401'],
  ['its certificate, and another in the header', 'a', ['b'], '200'],
];

for (const proxy of [haproxy, nginx]) {
  describe(`a token that is bound to a certificate, behind ${proxy.name}`, () => {
    let encrypted: string;
    let plain: string;
    beforeAll(async () => {
      encrypted = await startProxy(proxy, `127.0.0.1:${service.port}`, 'mutualTls');
      plain = await startProxy(proxy, `127.0.0.1:${service.port}`);
    });

    async function statusOf(address: string, client: string | undefined, sends: readonly string[], form: number) {
      const values = await Promise.all(sends.map(async (name) => (await header(name))[form]));
      const headers = [`Authorization: Bearer ${token}`, ...values.map((value) => `Client-Cert: ${value}`)];
      const args = headers.flatMap((line) => ['--header', line]);
      return curl(client, ...args, '--output', '/dev/null', '--write-out', '%{http_code}', `${address}/api/private`);
    }

    for (const [name, client, sends, status] of rows)
      test(`makes the response to a client with ${name} a ${status}`, async () => {
        for (const form of [0, 1]) expect(await statusOf(encrypted, client, sends, form)).toBe(status);
      });

    test('is not passed on from a client without a certificate', async () => {
      // HAProxy aborts the handshake, and nginx sends a response of its own.
      expect([undefined, '400']).toContain(await statusOf(encrypted, undefined, ['a'], 0));
    });

    // RFC 8705 §2.2.
    test('is accepted with a certificate that the client has signed itself, and with no other', async () => {
      const address = await startProxy(proxy, `127.0.0.1:${service.port}`, 'selfSigned');
      const authorization = ['--header', `Authorization: Bearer ${ownToken}`];
      const status = (client?: string) =>
        curl(client, ...authorization, '-o', '/dev/null', '-w', '%{http_code}', `${address}/api/private`);
      expect([await status('own'), await status('a'), await status()]).toEqual(['200', '401', '401']);
    });

    test('makes the response without TLS a 401, with any header', async () => {
      for (const form of [0, 1])
        for (const sends of [[], ['a'], ['a', 'b']]) expect(await statusOf(plain, undefined, sends, form)).toBe('401');
    });

    // A known limit, in SECURITY.md.
    test('makes the response to any client that reaches the port of the service and sends the header a 200', async () =>
      expect(await statusOf(`http://127.0.0.1:${service.port}`, undefined, ['a'], 0)).toBe('200'));
  });
}
