import { describe, expect, test } from 'bun:test';
import { readSettings, SettingsError } from '../src/settings.ts';
import type { Environment } from '../src/settings-warnings.ts';

const good = { NODE_ENV: 'production', ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test/' };

/** Returns what is reported for these settings, without the heading. */
function problemsOf(environment: Environment, isDev = false): readonly string[] {
  try {
    readSettings(environment, isDev);
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

const badStores = [
  ...['http://redis', 'redis://', 'redis:///0', 'redis://:hunter2@', 'redis://h:0', 'redis://h:00', 'redis://h/abc'],
  ...['redis://h/0/1', 'redis://h/-1', 'redis://h/9999999999', 'redis://:hun/ter2@h', 'redis://u:12/0@h'],
  ...[
    'redis://h#0',
    'redis://h?',
    'redis://h?db=1',
    'redis://h?tls=true',
    'redis://:hunter2@h/0?family=0&ssl=true',
    'valkey://h?ssl',
  ],
];

/**
 * Values that a setting of the process rejects, and what it asks for instead. Those of a guard have a table of their
 * own.
 */
const wrong: readonly (readonly [setting: string, expected: RegExp, values: readonly string[]])[] = [
  ['PORT', /from 0 to 65535/, ['-1', '65536', '80.5', '1e3', '0x50', 'http']],
  ['HOST', /host name or an IP address/, ['a b', 'a/b', 'http://a']],
  ['METRICS_PORT', /from 0 to 65535/, ['65536', 'on']],
  ['CORS_ALLOWED_HEADERS', /header names/, ['a b', 'x-a,', 'x-a\nx-b', '*']],
  ['METRICS_HOST', /host name or an IP address/, ['a b']],
  ['IDLE_TIMEOUT_SECONDS', /from 10 to 255/, ['9', '256', '0']],
  ['SHUTDOWN_DELAY_SECONDS', /from 0 to 3600/, ['-1', '3601']],
  ['SHUTDOWN_TIMEOUT_SECONDS', /from 0 to 3600/, ['-1', '3601']],
  ['REUSE_PORT', /true or false/, ['maybe']],
  ['DOCS', /true or false/, ['maybe', 'True', 'FALSE', '1', 'yes']],
  ['LOG_LEVEL', /one of debug, info/, ['loud']],
  ['REDIS_URL', /redis:\/\//, badStores],
];

describe('readSettings()', () => {
  for (const [setting, expected, values] of wrong)
    test.each(values)(`reports ${setting} of %p in one line, with what is expected`, (value) => {
      const problems = problemsOf({ ...good, [setting]: value });
      expect(problems).toEqual([
        expect.stringMatching(new RegExp(`^${setting} must be .*, got ".*"(?: \\(\\d+ characters\\))?$`)),
      ]);
      expect(problems[0]).toMatch(expected);
      if (setting === 'REDIS_URL') expect(problems[0]).toMatch(/, got "\*\*\*" \(\d+ characters\)$/);
    });

  test.each([
    ['PORT', '"3010"', 'PORT must not begin and end with quotes: remove them'],
    [
      'PORT',
      '3010 # the API',
      'PORT must not have white space beside "#": docker, systemd and kustomize keep such a comment. Put it on a line of its own',
    ],
    [
      'LOG_LEVEL',
      ' # loud',
      'LOG_LEVEL must not have white space beside "#": docker, systemd and kustomize keep such a comment. Put it on a line of its own',
    ],
    ['REDIS_URL', "'redis://:hunter2@h'", 'REDIS_URL must not begin and end with quotes: remove them'],
    ['HOST', '“127.0.0.1”', 'HOST must not begin and end with quotes: remove them'],
    [
      'REDIS_URL',
      'redis://:$(REDIS_PASSWORD)@h',
      'REDIS_URL must not have a placeholder such as $NAME, which docker, systemd and kustomize do not replace: write the value itself',
    ],
    [
      'REDIS_URL',
      'redis://:hunter2\u200b@h',
      'REDIS_URL must not have invisible characters, which come with copied text: type it again',
    ],
    ['LOG_LEVEL', 'redis://:hunter2@h/0', 'LOG_LEVEL must be one of debug, info, warn, error, silent, got "***@h/0"'],
    ['HOST', ` ${'/'.repeat(100_000)}`, `HOST must be a host name or an IP address, got "${'/'.repeat(256)}"`],
  ])('reports %s of %j without what is secret or long', (setting, value, problem) =>
    expect(problemsOf({ ...good, [setting]: value })).toEqual([problem]),
  );

  test('rejects an environment that switches off the check of certificates, but not for the development issuer', () => {
    const unchecked = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    expect(problemsOf({ ...good, ...unchecked })).toEqual([expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED /)]);
    expect([problemsOf({ ...good, ...unchecked }, true), problemsOf(unchecked)]).toEqual([[], []]);
    expect(problemsOf({ ...good, NODE_TLS_REJECT_UNAUTHORIZED: '1' })).toEqual([]);
  });

  test('reports all problems together, those of the guard first, and says where --dev would help', () => {
    const oneOfEach = Object.fromEntries(wrong.map(([setting, , [value]]) => [setting, value]));
    const named = problemsOf({ ISSUER: 'ftp://x', ...oneOfEach }).map((problem) => problem.replace(/ .*/, ''));
    expect(named.slice(0, 2)).toEqual(['ISSUER', 'AUDIENCE']);
    expect(named.slice(2).sort()).toEqual(wrong.map(([setting]) => setting).sort());
    const required = expect.stringMatching(/^[A-Z]+ is required: /);
    const help = 'To run with a development issuer, start with --dev';
    for (const NODE_ENV of ['production', 'PRODUCTION', ' Production '])
      expect(problemsOf({ NODE_ENV, ISSUER: '' })).toEqual([required, required, help]);
    for (const given of [{ ISSUER: good.ISSUER }, { AUDIENCE: good.AUDIENCE }])
      expect(problemsOf({ NODE_ENV: 'production', ...given })).toEqual([required]);
  });

  test.each([
    ['PORT', '0', { port: 0 }],
    ['CORS_ALLOWED_HEADERS', ' traceparent , X-Request-Id', { corsAllowedHeaders: ['traceparent', 'X-Request-Id'] }],
    ['METRICS_PORT', '9090', { metricsPort: 9090, metricsHost: '0.0.0.0' }],
    ['METRICS_HOST', '127.0.0.1', { host: '0.0.0.0', metricsHost: '127.0.0.1' }],
    ['HOST', '::1', { host: '::1', metricsHost: '::1' }],
    ['DOCS', 'false', { docs: false }],
    ['REUSE_PORT', 'true', { reusePort: true }],
    ['IDLE_TIMEOUT_SECONDS', '255', { idleTimeoutSeconds: 255 }],
    ['SHUTDOWN_DELAY_SECONDS', '5', { shutdownDelaySeconds: 5 }],
    ['REDIS_URL', 'rediss://user:p%2Fw@h:6380/15', { redisUrl: 'rediss://user:p%2Fw@h:6380/15' }],
  ])('reads %s of %p', (setting, value, expected) => {
    const settings = readSettings({ ...good, [setting]: value }, false);
    expect(settings).toMatchObject({ issuer: 'configured', ...expected });
    expect(() => Object.assign(settings, { port: 1 })).toThrow(TypeError);
    expect(settings.optionsAt(1)).toMatchObject({ issuer: [good.ISSUER], audience: [good.AUDIENCE] });
  });

  test.each(['', ' ', '\n'])('treats the value %j as missing', (value) => {
    const empty = Object.fromEntries(wrong.map(([setting]) => [setting, value]));
    const { optionsAt: _, ...settings } = readSettings(good, false);
    expect(readSettings({ ...empty, ...good }, false)).toMatchObject(settings);
  });

  test.each([
    ['0.0.0.0', 'an issuer', good, false],
    ['127.0.0.1', 'neither issuer nor audience', {}, false],
    ['127.0.0.1', '--dev', good, true],
    ['0.0.0.0', '--dev and a host', { HOST: '0.0.0.0' }, true],
    ['::1', 'neither, and IPv6 loopback', { HOST: '::1' }, false],
    ['localhost', 'neither, and localhost', { HOST: 'localhost' }, false],
  ] as const)('listens on %s with %s', (host, _name, environment, isDev) => {
    const issuer = environment !== good || isDev ? 'development' : 'configured';
    expect(readSettings(environment, isDev)).toMatchObject({ host, issuer });
  });

  test.each(['0.0.0.0', '192.0.2.1', '::', 'example.test'])('needs --dev for a development issuer on %s', (HOST) =>
    expect(problemsOf({ HOST })).toEqual([expect.stringMatching(/^HOST must be a loopback address .*--dev/)]),
  );
});

describe('the options of a guard that trusts the development issuer', () => {
  test.each([
    ['its port by default', {}, 'http://localhost:7'],
    ['its port on any address', { HOST: '::' }, 'http://localhost:7'],
    ['PUBLIC_URL', { PUBLIC_URL: 'https://x.test/v1/' }, 'https://x.test/v1'],
  ])('name %s', (_name, environment, origin) => {
    const expected = { issuer: [`${origin}/`], audience: [origin], publicUrl: origin, jwksUri: undefined };
    expect(readSettings({ ...good, ...environment }, true).optionsAt(7)).toMatchObject(expected);
  });

  test('lack settings that its tokens do not satisfy', () => {
    const given = {
      ALGORITHMS: 'ES256',
      SCOPE_CLAIM: 'scp',
      SCOPE_PREFIX: 'https://api.example.test/',
      SCOPE_REQUEST_PREFIX: 'api://a/',
      AUDIENCE_CLAIM: 'azp',
      REQUIRED_CLAIMS: 'nonsense',
      TOKEN_TYPE: 'at+jwt',
      CLIENT_CERTIFICATE: 'Client-Cert',
    };
    const { optionsAt, warnings } = readSettings({ ...given, ...good, JWKS_URI: 'x' }, true);
    expect(optionsAt(7)).toEqual(readSettings({}, true).optionsAt(7));
    expect(warnings.map(({ settings }) => settings)).toEqual([['ISSUER', 'AUDIENCE', 'JWKS_URI'], Object.keys(given)]);
    expect(problemsOf({ DPOP: 'x', PUBLIC_URL: 'x' }, true)).toHaveLength(2);
  });
});

describe('warnings', () => {
  const dpop = { DPOP: 'on', PUBLIC_URL: 'https://api.example.test' };
  const tenants = { ISSUER: 'https://login.microsoftonline.com/{tenantid}/v2.0' };
  const store = { REDIS_URL: 'redis://:hunter2@h' };

  test.each<[name: string, environment: Environment, message: RegExp | undefined]>([
    ['plain http', { JWKS_ALLOW_HTTP: 'true' }, /^JWKS_ALLOW_HTTP is set: an attacker/],
    ['no plain http', { JWKS_ALLOW_HTTP: 'false' }, undefined],
    ['a shared port and no store', { ...dpop, REUSE_PORT: 'true' }, /^REUSE_PORT is set without REDIS_URL/],
    ['a shared port and a store', { ...dpop, ...store, REUSE_PORT: 'true' }, undefined],
    ['a shared port without DPoP', { REUSE_PORT: 'true' }, undefined],
    ['one process with DPoP', dpop, undefined],
    ['a store without DPoP', store, /^REDIS_URL is set, but has no effect, because DPOP is off$/],
    ...['DPOP_ALGORITHMS=ES256', 'DPOP_PROOF_MAX_AGE_SECONDS=30', `DPOP_NONCE_SECRET=${'hunter2'.repeat(5)}`].map(
      (setting): [string, Environment, RegExp] => {
        const [name = '', value] = setting.split('=');
        return [`${name} without DPoP`, { [name]: value }, RegExp(`^${name} is set, but has no effect, because DPOP`)];
      },
    ),
    ['an earlier name', { CLIENT_CERT_HEADER: 'x' }, /^Ignoring CLIENT_CERT_HEADER, .*did you mean CLIENT_CERTIFICATE/],
    [
      'a connection that closes early',
      { IDLE_TIMEOUT_SECONDS: '10', JWKS_TIMEOUT_SECONDS: '7' },
      /^IDLE_TIMEOUT_SECONDS is set too close to JWKS/,
    ],
    ['one that does not', { IDLE_TIMEOUT_SECONDS: '10', JWKS_TIMEOUT_SECONDS: '6' }, undefined],
    ['all tenants', tenants, /^ISSUER is set for all tenants, but REQUIRED_CLAIMS has no tid: tokens of every tenant/],
    ['listed tenants', { ...tenants, REQUIRED_CLAIMS: `tid=${crypto.randomUUID()}` }, undefined],
    ['a letter less', { REQUIRED_CLAIM: 'hunter2' }, /^Ignoring REQUIRED_CLAIM, .*did you mean REQUIRED_CLAIMS\?$/],
    ['one too many', { SCOPE_CLAIMS: 'hunter2' }, /^Ignoring SCOPE_CLAIMS, .*did you mean SCOPE_CLAIM\?$/],
    ['one missing within', { ISSUR: 'hunter2' }, /^Ignoring ISSUR, .*did you mean ISSUER\?$/],
    ['two replaced', { AUDEINCE: 'hunter2' }, /^Ignoring AUDEINCE, .*did you mean AUDIENCE\?$/],
    ['of the process, one replaced', { REDIS_URI: 'hunter2' }, /^Ignoring REDIS_URI, .*did you mean REDIS_URL\?$/],
    ['a beginning', { DPOP_MODE: 'hunter2' }, /^Ignoring DPOP_MODE, .*did you mean DPOP, DPOP_ALGORITHMS, .* or DPOP_/],
    ['another beginning', { JWKS_ENDPOINT: 'hunter2' }, /^Ignoring JWKS_ENDPOINT, .*did you mean JWKS_URI, JWKS_AL/],
    ['three letters off', { ISSUERURI: 'x', HOSTNAME: 'x', REDIS_PORT: 'x', DPOPMODE: 'x' }, undefined],
    ['no unit', { CLOCK_TOLERANCE: '5' }, /^Ignoring CLOCK_TOLERANCE, .*did you mean CLOCK_TOLERANCE_SECONDS\?$/],
    ['another case', { DPoP: 'required' }, /^Ignoring DPoP, which is not a setting: did you mean DPOP\?$/],
    ['lower case', { issuer: 'hunter2' }, /^Ignoring issuer, which is not a setting: did you mean ISSUER\?$/],
    ['hyphens', { 'REQUIRED-CLAIMS': 'hunter2' }, /^Ignoring REQUIRED-CLAIMS, .*did you mean REQUIRED_CLAIMS\?$/],
    ['dots', { 'required.claims': 'hunter2' }, /^Ignoring required.claims, .*did you mean REQUIRED_CLAIMS\?$/],
    ['a byte order mark', { '\ufeffDPOP': 'required' }, /^Ignoring \ufeffDPOP, .*did you mean DPOP\?$/],
    ['a file', { REDIS_URL_FILE: 'hunter2' }, /^Ignoring REDIS_URL_FILE, .*did you mean REDIS_URL\?$/],
    ['a file of a secret', { DPOP_NONCE_SECRET_FILE: 'x' }, /^Ignoring DPOP_N.*did you mean DPOP_NONCE_SECRET\?$/],
    ['the file of an earlier name', { CLIENT_CERT_FILE: 'x' }, /^Ignoring .*did you mean CLIENT_CERTIFICATE\?$/],
    ['a short name', { PROT: 'x', DOC: 'x' }, undefined],
    ['an empty value', { REQUIRED_CLAIM: '' }, undefined],
    ['what every system sets', { PATH: 'x', HOME: 'x', SHELL: 'x', TERM: 'x', EDITOR: 'x', NODE_ENV: 'x' }, undefined],
  ])('for %s', (_name, environment, message) => {
    const { warnings } = readSettings({ ...good, ...environment }, false);
    expect(warnings.map((warning) => warning.message)).toEqual(message ? [expect.stringMatching(message)] : []);
    expect(JSON.stringify(warnings)).not.toContain('hunter2');
  });

  test.each(['NODE_EXTRA_CA_CERTS', 'NODE_USE_SYSTEM_CA', 'SSL_CERT_FILE', 'SSL_CERT_DIR'])(
    'for %s in a file that Bun reads too late for it, and for nothing else there',
    (name) => {
      const environment = { ...good, [name]: 'hunter2', LOG_LEVEL: 'info', HTTPS_PROXY: 'http://proxy' };
      const warningsOf = (atStart?: readonly string[]) => readSettings(environment, false, atStart).warnings;
      const message = `${name} has no effect in .env: set it in the environment in which the process is started`;
      expect(warningsOf(['PATH'])).toEqual([{ settings: [name], message }]);
      expect([warningsOf(['PATH', name]), warningsOf()]).toEqual([[], []]);
    },
  );
});
