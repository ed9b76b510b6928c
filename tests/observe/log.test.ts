import { expect, test } from 'bun:test';
import { optionsFromEnvironment } from 'protected-api/guard';
import { version } from '../../package.json' with { type: 'json' };
import { processRules } from '../../src/settings.ts';
import { tokenFaults } from '../http/table/token-faults.ts';
import { run, until } from '../support/child-process.ts';
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

/** A value of every setting, and what the line "Settings" shows of it, if it is not the value itself. */
const everySetting: readonly (readonly [name: string, value: string, shown?: unknown])[] = [
  ['ISSUER', 'http://127.0.0.1:9/', ['http://127.0.0.1:9/']],
  ['AUDIENCE', 'x,y', ['x', 'y']],
  ['JWKS_URI', 'http://127.0.0.1:9/keys?leaked-in-query', 'http://127.0.0.1:9/keys'],
  ['ALGORITHMS', 'ES256', ['ES256']],
  ['SCOPE_CLAIM', 'scp', ['scp']],
  ['REQUIRED_CLAIMS', 'azp=a', { azp: ['a'] }],
  ['JWKS_ALLOW_HTTP', 'false', false],
  ['TOKEN_TYPE', 'at+jwt'],
  ['REQUIRE_SCOPE', 'true', true],
  ['SCOPE_PREFIX', 'api:'],
  ['SCOPE_IMPLIES', 'a=b', { a: ['b'] }],
  ['AUDIENCE_CLAIM', 'azp'],
  ['DPOP', 'on'],
  ['DPOP_ALGORITHMS', 'ES256', ['ES256']],
  ['DPOP_PROOF_MAX_AGE_SECONDS', '30', 30],
  ['DPOP_NONCE_SECRET', `leaked-${'n'.repeat(32)},https://leaked-${'m'.repeat(32)}`, '***'],
  ['PUBLIC_URL', 'https://x.test'],
  ['JWKS_MAX_AGE_SECONDS', '1', 1],
  ['JWKS_MAX_STALE_SECONDS', '2', 2],
  ['JWKS_COOLDOWN_SECONDS', '3', 3],
  ['JWKS_TIMEOUT_SECONDS', '4', 4],
  ['CLOCK_TOLERANCE_SECONDS', '5', 5],
  ['TOKEN_CACHE_SIZE', '6', 6],
  // A function.
  ['CLIENT_CERTIFICATE', 'Client-Cert', undefined],
  ['REDIS_URL', 'redis://leaked-user:leaked-password@127.0.0.1:9/1?leaked-in-query', 'redis://***@127.0.0.1:9/1'],
  ['PORT', '0', 0],
  ['HOST', '127.0.0.1'],
  ['REUSE_PORT', 'true', true],
  ['DOCS', 'false', false],
  ['METRICS_PORT', '0', 0],
  ['METRICS_HOST', '127.0.0.1'],
  ['LOG_LEVEL', 'debug'],
  ['SHUTDOWN_DELAY_SECONDS', '0', 0],
  ['SHUTDOWN_TIMEOUT_SECONDS', '7', 7],
];

/** `jwksUri` for `JWKS_URI`. */
const optionOf = (setting: string) => setting.toLowerCase().replace(/_(.)/g, (_, first) => first.toUpperCase());

test('the line "Settings" shows every setting and nothing of a secret, whichever are set', async () => {
  const names = everySetting.map(([name]) => name);
  // A new setting needs a row, and with it a decision.
  const known = [...optionsFromEnvironment.settingNames.map(optionOf), ...Object.keys(processRules)];
  expect(names.map(optionOf).toSorted()).toEqual(known.toSorted());
  const child = run(await sourceForm.command(), Object.fromEntries(everySetting));
  await until(() => child.stdout().includes('"Listening"'), 'a service that listens');
  child.signal('SIGTERM');
  const { stdout, stderr } = await child.finished;
  expect(stdout + stderr).not.toContain('leaked-');
  const shown = everySetting.flatMap((row) => [[optionOf(row[0]), row.length === 3 ? row[2] : row[1]]]);
  const line = readJsonLines(stdout).find(({ msg }) => msg === 'Settings');
  expect(line).toEqual({ level: 'debug', time: expect.any(String), msg: 'Settings', ...Object.fromEntries(shown) });
});
