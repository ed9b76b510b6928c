import { expect, test } from 'bun:test';
import { version } from '../../package.json' with { type: 'json' };
import { tokenFaults } from '../http/table/token-faults.ts';
import { until } from '../support/child-process.ts';
import { START_TIMEOUT_MS } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, SIGNING_KID } from '../support/mint.ts';
import { rawGet } from '../support/raw-http.ts';
import { readJsonLines } from '../support/recorded-log.ts';
import { type TokenRow, tokenTextOf } from '../support/token-rows.ts';

const SECRET = 'only-the-holder-knows';

const tokens: readonly TokenRow[1][] = [
  { claims: { private_claim: SECRET } },
  { payloadText: `${SECRET} is no JSON` },
  { headerText: `${SECRET} is no JSON` },
  ...tokenFaults.map(({ token }) => token),
];

/** Headers and targets that can contain a credential by mistake. */
const HEADERS = ['Basic dXNlcjpsZWFrZWQ=', 'Bearer leaked-token', 'leaked-alone', 'Bearer leaked-one leaked-two'];
const PATHS = ['/api/private?access_token=leaked-in-query', '/nothing/leaked-in-path?code=leaked-in-query'];

test.each([sourceForm, executableForm])(
  'the log of $name is JSON lines from start to stop, one for each request, with nothing of a token or a query',
  async (form) => {
    await using issuer = await startIssuer();
    issuer.documents.set('/keys?leaked-in-jwks-uri', { kind: 'keys' });
    const JWKS_URI = `${issuer.url}keys?leaked-in-jwks-uri`;
    const service = await form.start({ ISSUER: issuer.url, JWKS_URI, AUDIENCE, LOG_LEVEL: 'debug', METRICS_PORT: '0' });
    await until(() => service.output().includes('Key set fetched'), 'keys are held');
    const sent = tokens.map((token) => tokenTextOf(token, issuer.url));
    for (const token of sent) await service.fetch('/api/private', { headers: bearer(token) });
    for (const header of HEADERS) await rawGet(service.origin, '/api/private', [`Authorization: ${header}`]);
    for (const path of PATHS) await rawGet(service.origin, path, ['Cookie: session=leaked-in-cookie']);
    await service.close();

    const written = service.output();
    for (const part of sent.flatMap((token) => token.match(/[\w-]{30,60}/g) ?? [])) expect(written).not.toContain(part);
    expect(written).not.toMatch(new RegExp(`${SECRET}|leaked-(?!in-path)|dXNlcjps`));
    const lines = readJsonLines(written);
    expect(lines.filter(({ level }) => level === 'info')).toMatchObject([
      { msg: 'Listening', version, port: expect.any(Number), metricsPort: expect.any(Number), issuer: [issuer.url] },
      { msg: 'Key set fetched', added: [SIGNING_KID], removed: [] },
      { msg: 'Shutting down', signal: 'SIGTERM' },
      { msg: 'Stopped' },
    ]);
    expect(lines.find(({ msg }) => msg === 'Settings')).toMatchObject({ audience: [AUDIENCE], tokenCacheSize: 10000 });
    const requests = lines.filter(({ msg }) => msg === 'Request');
    expect(requests.filter(({ route }) => route !== '/livez')).toHaveLength(tokens.length + HEADERS.length + 2);
    expect(requests.find(({ route }) => route === '/api/private')).toMatchObject({ status: 200, outcome: 'accepted' });
    expect(requests.at(-1)).toMatchObject({ route: 'unmatched', status: 404 });
  },
  START_TIMEOUT_MS,
);
