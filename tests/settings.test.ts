import { describe, expect, test } from 'bun:test';
import { type Environment, readSettings, SettingsError } from '../src/settings.ts';

const good = { NODE_ENV: 'production', ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test/' };

/** Returns what is reported for these settings, without the heading. */
function problemsOf(environment: Environment): readonly string[] {
  try {
    readSettings(environment, false);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

const SECONDS = ['-1', '1.5', '1e3', '0x10', '+5', ' 5', '5s', 'soon', '99999999999999999999'];

/** Values that a setting refuses, and what it asks for instead. The rules of the options have a table of their own. */
const wrong: readonly (readonly [setting: string, expected: RegExp, values: readonly string[]])[] = [
  ['ISSUER', /https address/, ['http://a.example.test/', 'https://a.example.test/,', ',']],
  ['AUDIENCE', /API identifier/, ['   ', 'a,,b', ',']],
  ['JWKS_URI', /https address/, ['http://issuer.example.test/keys', 'keys.json']],
  ['JWKS_ALLOW_HTTP', /true or false/, ['yes', '1', 'TRUE']],
  ['ALGORITHMS', /a list of RS256/, ['HS256', 'none', 'RS256,', 'RS256 ES256']],
  ['SCOPE_CLAIM', /claim names/, ['scope,', '/a~2']],
  ['SCOPE_PREFIX', /printable ASCII/, ['a b', '"']],
  ['AUDIENCE_CLAIM', /name of a claim/, [' ']],
  ['REQUIRED_CLAIMS', /name=value/, ['tid', '=a', 'tid=a,', 'tid=a,b']],
  ['DPOP', /one of off, on, required/, ['true', 'ON']],
  ['DPOP_ALGORITHMS', /a list of ES256/, ['HS256', 'none', 'ES256,']],
  ['TOKEN_TYPE', /one of jwt, at\+jwt/, ['id+jwt', 'AT+JWT']],
  ['SCOPE_IMPLIES', /name=value/, ['admin', '=read:messages', 'admin=', 'admin=a b', 'admin=a,']],
  ['CLIENT_CERT_HEADER', /header/, ['Cookie', 'authorization', 'DPoP', 'client cert', 'a:b']],
  ['PORT', /from 0 to 65535/, ['-1', '65536', '80.5', '1e3', '0x50', 'http']],
  ['HOST', /host name or an IP address/, ['a b', 'a/b', 'http://a']],
  ['JWKS_MAX_AGE_SECONDS', /from 1 to 1000000/, [...SECONDS, '0', '1000001']],
  ['METRICS_PORT', /from 0 to 65535/, ['65536', 'on']],
  ['SHUTDOWN_DELAY_SECONDS', /from 0 to 3600/, ['-1', '3601']],
  ['SHUTDOWN_TIMEOUT_SECONDS', /from 0 to 3600/, ['-1', '3601']],
  ['REUSE_PORT', /true or false/, ['maybe']],
  ['DOCS', /true or false/, ['maybe']],
  ['LOG_LEVEL', /one of debug, info/, ['loud']],
  ['REDIS_URL', /redis:\/\//, ['http://redis', 'redis://', 'redis:///0']],
  ['PUBLIC_URL', /https address/, ['http://api.example.test']],
];

describe('readSettings()', () => {
  for (const [setting, expected, values] of wrong)
    test.each(values)(`reports ${setting} of %p in one line, with what is expected`, (value) => {
      const problems = problemsOf({ ...good, [setting]: value });
      expect(problems).toEqual([expect.stringMatching(new RegExp(`^${setting} must be .*, got ".*"$`))]);
      expect(problems[0]).toMatch(expected);
    });

  test('reports every problem at once, and settings that are missing or empty', () => {
    const oneOfEach = wrong.map(([setting, , [value]]) => [setting, value]);
    const named = problemsOf(Object.fromEntries(oneOfEach)).map((problem) => problem.replace(/ .*/, ''));
    expect(named.sort()).toEqual(wrong.map(([setting]) => setting).sort());
    for (const missing of [{}, { ISSUER: '', AUDIENCE: '' }])
      expect(problemsOf({ NODE_ENV: 'production', ...missing })).toEqual([
        expect.stringMatching(/^ISSUER must be .*, or start with --dev to run a development issuer, got nothing$/),
        expect.stringMatching(/^AUDIENCE must be .*, or start with --dev to run a development issuer, got nothing$/),
      ]);
    for (const given of [{ ISSUER: good.ISSUER }, { AUDIENCE: good.AUDIENCE }])
      expect(problemsOf({ NODE_ENV: 'production', ...given })).toEqual([expect.not.stringContaining('--dev')]);
  });

  test.each([
    ['credentials', 'ISSUER', 'https://somebody:hunter2@issuer.example.test/', '***@issuer.example.test/'],
    ['credentials with a slash', 'JWKS_URI', 'https://somebody:hunter/2@a.example.test/', '***@a.example.test/'],
    ['credentials without slashes', 'PUBLIC_URL', 'https:somebody:hunter2@api.example.test/', '***@api.example.test/'],
    ['a query', 'ISSUER', 'https://issuer.example.test/?key=hunter2', 'https://issuer.example.test/?***'],
    ['the address of a store', 'REDIS_URL', 'http://:hunter2@redis', '***'],
    ['ESC', 'PUBLIC_URL', 'https://x/\u001b[2J', 'https://x/\\u001b[2J'],
    ['DEL, C1 and Cyrillic letters', 'PUBLIC_URL', 'https://x/\u007f\u009b\u0430', 'https://x/\\u007f\\u009b\\u0430'],
    ['a quote and a line end', 'PUBLIC_URL', 'https://x/"\n', 'https://x/\\"\\n'],
  ])('refuses %s in %s and repeats nothing secret or meant for a terminal', (_name, setting, value, shown) => {
    const [problem] = problemsOf({ ...good, [setting]: value });
    expect(problem).toEndWith(`, got "${shown}"`);
  });

  test.each([
    ['ISSUER', 'https://a.test/ , http://127.0.0.1:4000/', { issuer: ['https://a.test/', 'http://127.0.0.1:4000/'] }],
    ['AUDIENCE', 'a, b c ,a', { audience: ['a', 'b c'] }],
    ['ALGORITHMS', 'ES256,Ed25519', { algorithms: ['ES256', 'EdDSA'] }],
    ['SCOPE_CLAIM', 'scp, /realm/roles', { scopeClaim: ['scp', '/realm/roles'] }],
    ['REQUIRED_CLAIMS', 'tid=t, org = a=b ,empty=', { requiredClaims: { tid: 't', org: 'a=b', empty: '' } }],
    ['SCOPE_IMPLIES', 'a=b, a = c ,c=d=e', { scopeImplies: { a: ['b', 'c'], c: ['d=e'] } }],
    ['PORT', '0', { port: 0 }],
    ['METRICS_PORT', '9090', { metricsPort: 9090 }],
    ['DOCS', 'false', { docs: false }],
    ['REUSE_PORT', 'true', { reusePort: true }],
    ['SHUTDOWN_DELAY_SECONDS', '5', { shutdownDelaySeconds: 5 }],
  ])('reads %s of %p', (setting, value, expected) => {
    const settings = readSettings({ ...good, [setting]: value }, false);
    expect(settings).toMatchObject({ isEmbedded: false, ignored: [], ...expected });
    expect(() => Object.assign(settings, { port: 1 })).toThrow(TypeError);
  });

  test('takes an empty value for a missing one', () => {
    const empty = Object.fromEntries(wrong.map(([setting]) => [setting, '']));
    expect(readSettings({ ...empty, ...good }, false)).toEqual(readSettings(good, false));
  });

  test.each([
    ['0.0.0.0', 'an issuer', good, false],
    ['127.0.0.1', 'neither issuer nor audience', {}, false],
    ['127.0.0.1', '--dev', good, true],
    ['0.0.0.0', '--dev and a host', { HOST: '0.0.0.0' }, true],
    ['::1', 'neither, and IPv6 loopback', { HOST: '::1' }, false],
    ['localhost', 'neither, and localhost', { HOST: 'localhost' }, false],
  ] as const)('listens on %s with %s', (host, _name, environment, isDev) => {
    expect(readSettings(environment, isDev)).toMatchObject({ host, isEmbedded: environment !== good || isDev });
  });

  test.each(['0.0.0.0', '192.0.2.1', '::', 'example.test'])('needs --dev for a development issuer on %s', (HOST) => {
    expect(problemsOf({ HOST })).toEqual([expect.stringMatching(/^HOST must be a loopback address .*--dev/)]);
  });

  test.each([
    ['an https address', 'http://a.example.test/keys'],
    ['unset', 'https://a.example.test/keys'],
  ])('reports one mistake of a setting: that JWKS_URI of two issuers must be %s, not %s', (expected, JWKS_URI) => {
    const problems = problemsOf({ ...good, ISSUER: `${good.ISSUER},https://b.example.test/`, JWKS_URI });
    expect(problems).toEqual([expect.stringContaining(`JWKS_URI must be ${expected} `)]);
  });

  test('ignores settings that tokens of the embedded issuer do not fulfil', () => {
    const given = {
      ALGORITHMS: 'ES256',
      SCOPE_CLAIM: 'scp',
      SCOPE_PREFIX: 'https://api.example.test/',
      AUDIENCE_CLAIM: 'azp',
      REQUIRED_CLAIMS: 'nonsense',
      TOKEN_TYPE: 'at+jwt',
      CLIENT_CERT_HEADER: 'Client-Cert',
    };
    const settings = readSettings(given, true);
    expect([...settings.ignored].sort()).toEqual(Object.keys(given).sort());
    expect({ ...settings, ignored: [] }).toEqual({ ...readSettings({}, true), ignored: [] });
  });
});
