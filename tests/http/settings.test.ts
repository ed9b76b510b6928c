import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { type Environment, freePort, runToEnd } from '../support/child-process.ts';
import { expectMessage } from '../support/expect-error.ts';
import { bearer } from '../support/fixture.ts';
import { type CommandForm, executableForm, sourceForm } from '../support/forms.ts';
import { startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, SIGNING_KID } from '../support/mint.ts';

// A process starts slowly on a busy machine.
setDefaultTimeout(30_000);

const ISSUER = 'https://issuer.example.test/';
const good = { ISSUER, AUDIENCE };

interface BadSetting {
  readonly setting: string;
  /** What is read; undefined when the setting is missing. */
  readonly value: string | undefined;
  readonly wanted: RegExp;
  /** Further settings of the row. */
  readonly beside?: Environment;
}

const rows = (setting: string, wanted: RegExp, values: readonly string[]): readonly BadSetting[] =>
  values.map((value) => ({ setting, value, wanted }));

/** The last two are no addresses that a browser would write, but that somebody pastes a password into. */
const CREDENTIALS = [
  'https://somebody:hunter2@issuer.example.test/',
  'https://somebody:hunter/2@issuer.example.test/',
  'https:somebody:hunter2@issuer.example.test/',
];

const HTTPS = /https/;
const SECONDS = ['-1', '1.5', '1e3', '0x10', '+5', ' 5', '5s', 'soon', '99999999999999999999'];

const badSettings: readonly BadSetting[] = [
  { setting: 'ISSUER', value: undefined, wanted: /issuer|address|authorization server/i, beside: { AUDIENCE } },
  { setting: 'ISSUER', value: '', wanted: /issuer|address|authorization server/i, beside: { AUDIENCE } },
  ...rows('ISSUER', HTTPS, [
    'http://issuer.example.test/',
    'http://127.0.0.1.example.test/',
    'http://localhost.example.test/',
    'ftp://issuer.example.test/',
    'issuer.example.test',
    'not an address',
    'https://',
  ]),
  ...rows('ISSUER', /fragment/, ['https://issuer.example.test/#part']),
  { setting: 'AUDIENCE', value: undefined, wanted: /identifier/, beside: { ISSUER } },
  ...rows('AUDIENCE', /identifier/, ['   ']),
  ...rows('JWKS_URI', HTTPS, ['http://issuer.example.test/keys', 'keys.json', 'file:///keys.json']),
  ...rows('PORT', /0 .*65535/, ['-1', '65536', '80.5', '1e3', '0x50', 'http']),
  ...rows('JWKS_MAX_AGE_SECONDS', /number/, SECONDS),
  ...rows('JWKS_MAX_STALE_SECONDS', /number/, ['-1', 'soon']),
  ...rows('JWKS_COOLDOWN_SECONDS', /number/, ['-1', 'soon']),
  ...rows('JWKS_TIMEOUT_SECONDS', /number/, ['-1', 'soon']),
  ...rows('CLOCK_TOLERANCE_SECONDS', /0 .*300/, ['-1', '301', 'some']),
  ...rows('TOKEN_CACHE_SIZE', /number/, ['-1', 'large']),
  ...rows('METRICS_PORT', /65535/, ['65536', 'on']),
  ...rows('SHUTDOWN_DELAY_SECONDS', /number/, ['-1', 'later']),
  ...rows('SHUTDOWN_TIMEOUT_SECONDS', /number/, ['-1', 'later']),
  ...rows('REUSE_PORT', /true.*false/, ['maybe']),
  ...rows('DOCS', /true.*false/, ['maybe']),
  ...rows('LOG_LEVEL', /debug.*info/, ['loud']),
  ...rows('PUBLIC_URL', HTTPS, ['http://api.example.test', 'api.example.test']),
];

const NAMES = new Set(['AUDIENCE', ...badSettings.map(({ setting }) => setting)]);

/** Returns what each line is about: the first setting that it names. */
function problemsIn(stderr: string): [name: string, line: string][] {
  return stderr.split('\n').flatMap((line) => {
    const name = line.match(/\b[A-Z]+(?:_[A-Z]+)*\b/g)?.find((word) => NAMES.has(word));
    return name === undefined ? [] : [[name, line] satisfies [string, string]];
  });
}

function expectRefusal({ status, stdout, stderr }: Awaited<ReturnType<typeof runToEnd>>): void {
  expect({ status, stdout }, stderr).toEqual({ status: 1, stdout: '' });
  expect(stderr, 'no stack trace').not.toMatch(/^\s+at |node:|\.ts:\d/m);
}

const startWith = async (form: CommandForm, environment: Environment) =>
  runToEnd(await form.command(), { HOST: '127.0.0.1', PORT: '0', ...environment });

const namesIn = (stderr: string) =>
  problemsIn(stderr)
    .map(([name]) => name)
    .sort();

/** A process for each row, and so for the form that starts fastest: all forms read their settings with the same code. */
function describeEachBadSetting(form: CommandForm): void {
  for (const { setting, value, wanted, beside = good } of badSettings) {
    const read = value === undefined ? 'nothing' : JSON.stringify(value);
    test(`${setting} of ${read} is told in one line, with what is wanted`, async () => {
      const finished = await startWith(form, { ...beside, ...(value !== undefined && { [setting]: value }) });
      expectRefusal(finished);
      const problems = problemsIn(finished.stderr);
      expect(problems.map(([name]) => name)).toEqual([setting]);
      expect(problems[0]?.[1]).toContain(value ?? '');
      expect(problems[0]?.[1]).toMatch(wanted);
    });
  }

  for (const setting of ['ISSUER', 'JWKS_URI', 'PUBLIC_URL']) {
    for (const value of CREDENTIALS) {
      test(`credentials in ${setting} are refused and not repeated: ${value}`, async () => {
        const finished = await startWith(form, { ...good, [setting]: value });
        expectRefusal(finished);
        expect(namesIn(finished.stderr)).toEqual([setting]);
        expect(finished.stderr).toContain('issuer.example.test');
        expect(finished.stderr).not.toContain('hunter');
      });
    }
  }

  for (const setting of ['ISSUER', 'PUBLIC_URL']) {
    test(`a query in ${setting} is refused and not repeated`, async () => {
      const finished = await startWith(form, { ...good, [setting]: 'https://issuer.example.test/?key=hunter2' });
      expectRefusal(finished);
      expect(namesIn(finished.stderr)).toEqual([setting]);
      expect(finished.stderr).not.toContain('hunter2');
    });
  }
}

function describeBadStarts(form: CommandForm): void {
  test('a bad value for every setting is as many lines, all at once', async () => {
    const oneOfEach = badSettings.filter(({ value }) => value).map(({ setting, value = '' }) => [setting, value]);
    const finished = await startWith(form, Object.fromEntries(oneOfEach.reverse()));
    expectRefusal(finished);
    expect(namesIn(finished.stderr)).toEqual([...NAMES].sort());
  });

  test('neither ISSUER nor AUDIENCE in production is two problems', async () => {
    const finished = await startWith(form, { NODE_ENV: 'production' });
    expectRefusal(finished);
    expect(namesIn(finished.stderr)).toEqual(['AUDIENCE', 'ISSUER']);
  });

  test('an address that is not this machine is told in one line', async () => {
    const finished = await startWith(form, { ...good, HOST: '203.0.113.1' });
    expectRefusal(finished);
    expect(finished.stderr.trim().split('\n')).toEqual([expect.stringContaining('203.0.113.1')]);
  });
}

function describePortInUse(form: CommandForm): void {
  let taken: Server;
  let port = '';

  beforeAll(async () => {
    taken = createServer();
    await new Promise<void>((done) => taken.listen(0, '127.0.0.1', done));
    port = String((taken.address() as AddressInfo).port);
  });
  afterAll(() => void taken.close());

  for (const setting of ['PORT', 'METRICS_PORT']) {
    test(`a ${setting} in use is told in one line`, async () => {
      const environment = { ...good, HOST: '127.0.0.1', PORT: String(await freePort()), [setting]: port };
      const { status, stderr } = await runToEnd(await form.command(), environment);
      expect(status, stderr).toBe(1);
      expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(port)]);
      expect(stderr).toMatch(/in use/);
    });
  }
}

/** What the issuer calls itself, by how it is configured; its keys are always where the stand-in has them. */
const goodSettings: readonly {
  name: string;
  iss: (origin: string) => string;
  settings: (url: string) => Environment;
}[] = [
  { name: 'http on 127.0.0.1', iss: (url) => url, settings: (url) => ({ ISSUER: url }) },
  {
    name: 'http on localhost',
    iss: (url) => url.replace('127.0.0.1', 'localhost'),
    settings: (url) => ({ ISSUER: url.replace('127.0.0.1', 'localhost') }),
  },
  {
    name: 'a path',
    iss: (url) => `${url}tenant/`,
    settings: (url) => ({ ISSUER: `${url}tenant/` }),
  },
  {
    name: 'JWKS_URI and no trailing slash',
    iss: () => 'https://issuer.example.test/realms/a',
    settings: (url) => ({ ISSUER: 'https://issuer.example.test/realms/a', JWKS_URI: `${url}.well-known/jwks.json` }),
  },
  {
    name: 'empty values for everything optional',
    iss: (url) => url,
    settings: (url) => ({
      ISSUER: url,
      ...Object.fromEntries(
        [...NAMES, 'HOST']
          .filter((name) => !['ISSUER', 'AUDIENCE', 'PORT', 'HOST'].includes(name))
          .map((name) => [name, '']),
      ),
    }),
  },
];

function describeGoodSettings(form: CommandForm): void {
  for (const { name, iss, settings } of goodSettings) {
    test(`an issuer with ${name} is accepted, and its tokens are`, async () => {
      const issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
      const service = await form.start({ AUDIENCE, ...settings(issuer.url) });
      try {
        const headers = bearer(mintToken(iss(issuer.url)));
        await expectMessage(await service.fetch('/api/private-scoped', { headers }));
      } finally {
        expect(await service.close()).toBe(0);
        await issuer.close();
      }
    });
  }
}

for (const form of [sourceForm, executableForm]) {
  describe(form.name, () => {
    beforeAll(async () => void (await form.command()), form.startTimeoutMs);
    describe('settings', () => describeBadStarts(form));
    describe('listening', () => describePortInUse(form));
    describe('settings of', () => describeGoodSettings(form));
  });
}

describe('settings', () => describeEachBadSetting(executableForm));
