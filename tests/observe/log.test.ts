import { expect, test } from 'bun:test';
import { optionsFromEnvironment } from 'protected-api';
import { version } from '../../package.json' with { type: 'json' };
import { settingOf } from '../../src/auth/options/setting.ts';
import { maxTokenLength } from '../../src/auth/rejections.ts';
import { processRules, readSettings } from '../../src/settings.ts';
import { type Environment, run, until } from '../support/child-process.ts';
import { START_TIMEOUT_MS } from '../support/fixture.ts';
import { executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { AUDIENCE, bearer, SIGNING_KID } from '../support/mint.ts';
import { rawGet } from '../support/raw-http.ts';
import { readJsonLines, recordLog } from '../support/recorded-log.ts';
import { type TokenRow, tokenFaults, tokenTextOf } from '../support/token-faults.ts';

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
    // Bun itself responds to longer headers.
    const read = sent.filter((token) => token.length < maxTokenLength);
    expect(requests.filter(({ route }) => route !== '/livez')).toHaveLength(read.length + HEADERS.length + 2);
    expect(requests.find(({ route }) => route === '/api/private')).toMatchObject({ status: 200, outcome: 'accepted' });
    expect(requests.at(-1)).toMatchObject({ route: 'unmatched', status: 404 });
  },
  START_TIMEOUT_MS,
);

/** Every setting, so a new one needs a decision here: what of its value is secret begins with `leaked-`. */
const everySetting = `ISSUER=http://127.0.0.1:9/ AUDIENCE=x,y JWKS_URI=http://127.0.0.1:9/keys?leaked-in-query ALGORITHMS=ES256
  SCOPE_CLAIM=scp REQUIRED_CLAIMS=azp=a JWKS_ALLOW_HTTP=false TOKEN_TYPE=at+jwt REQUIRE_SCOPE=true SCOPE_PREFIX=api:
  SCOPE_IMPLIES=a=b SCOPE_REQUEST_PREFIX=api://x/ AUDIENCE_CLAIM=azp DPOP=on DPOP_ALGORITHMS=ES256 DPOP_PROOF_MAX_AGE_SECONDS=30
  DPOP_NONCE_SECRET=leaked-${'n'.repeat(32)},https://leaked-${'m'.repeat(32)} PUBLIC_URL=https://x.test
  JWKS_MAX_AGE_SECONDS=1 JWKS_MAX_STALE_SECONDS=2 JWKS_COOLDOWN_SECONDS=3 JWKS_TIMEOUT_SECONDS=4
  CLOCK_TOLERANCE_SECONDS=5 MAX_TOKEN_AGE_SECONDS=3600 TOKEN_CACHE_SIZE=6 CLIENT_CERTIFICATE=Client-Cert
  REDIS_URL=redis://leaked-user:leaked-password@127.0.0.1:9/1 PORT=0 HOST=127.0.0.1 REUSE_PORT=true
  DOCS=false CORS_ALLOWED_HEADERS=x-a METRICS_PORT=0 METRICS_HOST=127.0.0.1 IDLE_TIMEOUT_SECONDS=75 LOG_LEVEL=debug SHUTDOWN_DELAY_SECONDS=0 SHUTDOWN_TIMEOUT_SECONDS=7`;

const settings = Object.fromEntries(
  [...everySetting.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]),
);

test.each(Object.entries(settings))('white space around the value of %s is ignored', (name, value) => {
  const read = (environment: Environment) => {
    const { optionsAt, ...ofProcess } = readSettings(environment, false);
    // A function has a source, which tells two kinds apart.
    return JSON.parse(
      JSON.stringify([ofProcess, optionsAt(1)], (_, each) => (each instanceof Function ? `${each}` : each)),
    );
  };
  for (const padded of [`${value}\n`, ` ${value}`, `\t${value}\r\n`])
    expect(read({ ...settings, [name]: padded })).toEqual(read(settings));
});

test('the line "Settings" shows every setting and nothing of a secret, whichever are set', async () => {
  const child = run(await sourceForm.command(), settings);
  await until(() => child.stdout().includes('"Listening"'), 'a service that listens');
  child.signal('SIGTERM');
  const { stdout, stderr } = await child.finished;
  expect(stdout + stderr).not.toContain('leaked-');
  const { level, severity, time, msg, ...shown } = readJsonLines(stdout).find((line) => line.msg === 'Settings') ?? {};
  const urls = { jwksUri: 'http://127.0.0.1:9/keys', redisUrl: 'redis://***@127.0.0.1:9/1' };
  expect(shown).toMatchObject({ ...urls, dpopNonceSecret: '***', requiredClaims: { azp: ['a'] }, port: 0 });
  // Not CLIENT_CERTIFICATE, of which a guard makes a function.
  const names = Object.keys(shown).map(settingOf).concat('CLIENT_CERTIFICATE').toSorted();
  const known = [...optionsFromEnvironment.settingNames, ...Object.keys(processRules).map(settingOf)];
  expect([Object.keys(settings).toSorted(), names]).toEqual([known.toSorted(), known.toSorted()]);
});

test.each([
  ['debug', 'DEBUG'],
  ['info', 'INFO'],
  ['warn', 'WARNING'],
  ['error', 'ERROR'],
  ['fatal', 'CRITICAL'],
] as const)('a line of the level %s has the severity %s, which Google Cloud reads', (level, severity) => {
  const { log, lines } = recordLog('debug');
  log[level]('Line');
  expect(readJsonLines(lines.join(''))).toMatchObject([{ level, severity, msg: 'Line' }]);
});
