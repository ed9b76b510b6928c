import { afterAll, beforeAll, describe, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

const folder = mkdtempSync(join(tmpdir(), 'private-authority-'));
const file = (name: string) => join(folder, name);

function openssl(...args: readonly string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['openssl', ...args], { cwd: folder, stderr: 'pipe' });
  if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
}

/** Makes an authority of our own, and a certificate for loopback that it signs. */
function makeCertificates(): void {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const authority = ['-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=Private authority', '-days', '2'];
  openssl('req', '-x509', ...newKey, ...authority);
  openssl('req', ...newKey, '-keyout', 'issuer.key', '-out', 'issuer.csr', '-subj', '/CN=issuer');
  writeFileSync(file('names'), 'subjectAltName=IP:127.0.0.1');
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
  openssl('x509', '-req', '-in', 'issuer.csr', ...signed, '-out', 'issuer.pem');
}

describe('an issuer with a certificate of a private authority', () => {
  let server: Server;
  let issuer: string;

  beforeAll(async () => {
    makeCertificates();
    server = createServer(
      { key: readFileSync(file('issuer.key')), cert: readFileSync(file('issuer.pem')) },
      ({ url }, response) => {
        const document = url?.endsWith('/keys')
          ? { keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] }
          : { issuer, jwks_uri: `${issuer}/keys` };
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
      },
    );
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    issuer = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }, sourceForm.startTimeoutMs);

  afterAll(() => {
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true });
  });

  for (const form of [sourceForm, executableForm]) {
    const settings = () => ({ ISSUER: issuer, AUDIENCE });

    test(
      `${form.name} with NODE_EXTRA_CA_CERTS accepts its tokens`,
      async () => {
        const service = await form.start({ ...settings(), NODE_EXTRA_CA_CERTS: file('ca.pem') });
        await expectMessage(await service.fetch('/api/private', { headers: bearer(mintToken(issuer)) }));
        await service.close();
      },
      form.startTimeoutMs,
    );

    test(
      `${form.name} without it trusts nobody, and says that the keys are unavailable`,
      async () => {
        const service = await form.start(settings());
        const response = await service.fetch('/api/private', { headers: bearer(mintToken(issuer)) });
        await expectError(response, 503, 'key_set_unavailable', undefined);
        await service.close();
      },
      form.startTimeoutMs,
    );
  }
});
