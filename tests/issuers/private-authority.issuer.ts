import { afterAll, describe, test } from 'bun:test';
import { join } from 'node:path';
import { $ } from 'bun';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { serve } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { AUDIENCE, bearer, mintToken, signingKeys } from '../support/mint.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('an issuer with a certificate of a private authority', async () => {
  const folder = temporaryFolder();
  const file = (name: string) => Bun.file(join(folder, name));
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-addext', 'subjectAltName=IP:127.0.0.1'];
  await $`openssl req -x509 ${key} -subj /CN=authority -keyout ca.key -out ca.pem`.cwd(folder).quiet();
  await $`openssl req -x509 ${key} ${signed} -subj /CN=issuer -keyout issuer.key -out issuer.pem`.cwd(folder).quiet();
  const respond = ({ url }: Request) => {
    const { origin: issuer } = new URL(url);
    return Response.json(url.endsWith('/keys') ? { keys: signingKeys() } : { issuer, jwks_uri: `${issuer}/keys` });
  };
  const server = serve(respond, { key: file('issuer.key'), cert: file('issuer.pem') });
  afterAll(() => server.stop(true));

  for (const form of [sourceForm, executableForm]) {
    const request = async (settings: Readonly<Record<string, string>>) => {
      const { origin: issuer } = server.url;
      const service = await form.start({ ISSUER: issuer, AUDIENCE, ...settings });
      const response = await service.fetch('/api/private', { headers: bearer(mintToken(issuer)) });
      await service.close();
      return response;
    };

    test(`${form.name} with NODE_EXTRA_CA_CERTS accepts its tokens`, async () =>
      expectMessage(await request({ NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') })));

    test(`${form.name} without it rejects its tokens, because the keys are unavailable`, async () =>
      expectError(await request({}), 503, 'key_set_unavailable', undefined));
  }
});
