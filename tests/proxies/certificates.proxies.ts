import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { freePort, type RunningProcess, until } from '../support/child-process.ts';
import { sourceForm } from '../support/forms.ts';
import { AUDIENCE } from '../support/mint.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { curl as curlIn, writeCertificates } from './client-certificates.ts';
import { haproxy, nginx } from './proxies.ts';

const folder = temporaryFolder();
const processes: RunningProcess[] = [];

const curl = (client: string | undefined, ...args: readonly string[]) => curlIn(folder, client, ...args);

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

await writeCertificates(folder);
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

/** nginx rejects a request that has the header, and HAProxy replaces it. */
for (const proxy of [haproxy, nginx]) {
  const rejects = (sends: readonly string[]) => proxy === nginx && sends.length > 0;
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

    for (const [name, client, sends, replaced] of rows) {
      const status = rejects(sends) ? '400' : replaced;
      test(`makes the response to a client with ${name} a ${status}`, async () => {
        for (const form of [0, 1]) expect(await statusOf(encrypted, client, sends, form)).toBe(status);
      });
    }

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

    test('is not accepted without TLS, with any header', async () => {
      for (const form of [0, 1])
        for (const sends of [[], ['a'], ['a', 'b']])
          expect(await statusOf(plain, undefined, sends, form)).toBe(rejects(sends) ? '400' : '401');
    });

    // A known limit, in SECURITY.md.
    test('makes the response to any client that reaches the port of the service and sends the header a 200', async () =>
      expect(await statusOf(`http://127.0.0.1:${service.port}`, undefined, ['a'], 0)).toBe('200'));
  });
}
