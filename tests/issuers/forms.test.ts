import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLog } from '../../src/observe/log.ts';
import { createService } from '../../src/service.ts';
import { readSettings } from '../../src/settings.ts';
import { expectError, expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { mintToken } from '../support/mint.ts';
import { signAs, signingKey } from '../support/signatures.ts';
import type { SignedToken, TokenForm } from './form.ts';
import { ISSUERS } from './forms.ts';

/** What the issuer of the row serves, by address; any other address is a 404. */
const documents = new Map<string, unknown>();
let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer(({ url = '' }, response) => {
    const document = documents.get(`https:/${url}`);
    if (document === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.close();
});

/** Takes a request to the address that the row names to the server of the test. */
const fetchDocument = (url: string, init: RequestInit) => fetch(url.replace('https:/', origin), init);

function serve({ header, claims, published }: SignedToken): void {
  const key = publish(signingKey(header.alg, 'issuer'), String(header.kid ?? 'a key'), published.key);
  const encryption = publish(rsaKey('encryption'), 'encryption key', { use: 'enc', alg: 'RSA-OAEP' });
  documents.set(published.jwksUri, { keys: published.hasEncryptionKey ? [encryption, key] : [key] });
  if (published.metadata) documents.set(published.metadata, { issuer: claims.iss, jwks_uri: published.jwksUri });
}

function mint({ header, claims }: SignedToken): string {
  const { alg } = header;
  return mintToken('', {
    header: { typ: undefined, kid: undefined, ...header },
    claims: { aud: undefined, sub: undefined, scope: undefined, ...claims },
    signWith: (input) => signAs(alg, signingKey(alg, 'issuer'), input),
  });
}

async function hold({ settings, token, outcome }: TokenForm): Promise<void> {
  documents.clear();
  if (typeof token !== 'string') serve(token);
  const service = createService({
    settings: readSettings(settings, false),
    log: createLog('silent', { isTerminal: false, hasColour: false }),
    droppedLogLines: () => 0,
    fetch: fetchDocument,
  });
  const headers = bearer(typeof token === 'string' ? token : mint(token));
  const request = async (path: string) => service.fetch(new Request(`http://localhost${path}`, { headers }));
  try {
    if (typeof token === 'string') await expectHint(await request('/api/private'), token);
    const [open, scoped] = [await request('/api/private'), await request('/api/private-scoped')];
    if (outcome === 'scope' || outcome === 'no scope') await expectMessage(open);
    else await expectError(open, 401, outcome);
    if (outcome === 'scope') await expectMessage(scoped);
    else if (outcome === 'no scope') await expectError(scoped, 403, 'Unauthorized');
    else await expectError(scoped, 401, outcome);
  } finally {
    service.stop();
  }
}

/** A token that is no signed JWT is the commonest mistake of a first day: the answer says which kind it is. */
async function expectHint(response: Response, token: string): Promise<void> {
  const kind = token.split('.').length === 5 ? 'encrypted' : 'opaque';
  expect(await response.json()).toEqual({ code: 'invalid_header', description: expect.stringContaining(kind) });
}

for (const { name: issuer, forms } of ISSUERS) {
  describe(issuer, () => {
    for (const form of forms) test(`${form.name}: ${form.outcome}`, () => hold(form));
  });
}

test('no two rows of an issuer have one name, and each issuer has a form that works', () => {
  for (const { name, forms } of ISSUERS) {
    expect(new Set(forms.map((form) => form.name)).size, name).toBe(forms.length);
    expect(
      forms.map(({ outcome }) => outcome),
      name,
    ).toContain(name === 'Kubernetes service accounts' ? 'no scope' : 'scope');
  }
});
