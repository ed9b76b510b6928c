import { describe, expect, test } from 'bun:test';
import { createGuard, type EnvironmentError, optionsFromEnvironment } from '../../../src/auth/index.ts';
import { checkOptions } from '../../../src/auth/options/check-options.ts';

const good = { ISSUER: 'https://issuer.example.test/', AUDIENCE: 'https://api.example.test/' };

function problemsOf(environment: object): readonly string[] {
  try {
    optionsFromEnvironment(environment);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    const { message, problems } = error as EnvironmentError;
    expect(message).toBe(['Cannot read settings:', ...problems.map((problem) => `  ${problem}`)].join('\n'));
    return problems;
  }
}

const NUMBERS = ['-1', '1.5', '1e3', '0x10', '+5', '5 0', '5s', 'soon', '99999999999999999999', '0', '1000001'];

/** Texts that a setting rejects, and what it asks for instead. The rules of the options have a table of their own. */
const wrong: readonly (readonly [setting: string, expected: RegExp, values: readonly string[]])[] = [
  ['ISSUER', /https/, ['https://a.example.test/,', 'http://a.example.test/', ',']],
  ['AUDIENCE', /API identifier/, ['a,,b', ',']],
  ['JWKS_URI', /https/, ['http://issuer.example.test/keys', 'keys.json']],
  ['JWKS_ALLOW_HTTP', /true or false/, ['yes', '1', 'TRUE']],
  ['ALGORITHMS', /a list of RS256/, ['HS256', 'RS256,', 'RS256 ES256']],
  ['SCOPE_CLAIM', /claim names/, ['scope,', '/a~2']],
  ['SCOPE_PREFIX', /printable ASCII/, ['a b', '"']],
  ['SCOPE_REQUEST_PREFIX', /printable ASCII/, ['a b', '"']],
  [
    'REQUIRED_CLAIMS',
    /name=value/,
    [
      ...['tid', '=a', 'tid=', 'tid=a,', 'tid=a,b', 'a=b\\c', 'a=b\\', 'a=b\\\\,c', '/a~2=b'],
      ...['{', '{}', '{"a"}', "{'a':'b'}", '{"a":"b"},c=d', '{"a":[]}', '{"a":""}', '{"a":{}}', '{"a":{"b":"c"}}'],
      ...['{"a":"b","a":"c"}', '{"a":null,"\\u0061":"c"}', '{"tid":null}'],
    ],
  ],
  ['DPOP', /one of off, on, required/, ['true', 'ON']],
  ['DPOP_NONCE_SECRET', /at least 32 characters/, ['short', `${'s'.repeat(32)},short`]],
  ['SCOPE_IMPLIES', /broad=narrow/, ['admin', '=read:messages', 'admin=', 'admin=a b', 'admin=a,']],
  ['CLIENT_CERTIFICATE', /header/, ['Cookie', 'authorization', 'DPoP', 'Host', 'connection', 'TE', 'a b', 'a:b']],
  ['JWKS_MAX_AGE_SECONDS', /from 1 to 1000000/, NUMBERS],
];

describe('optionsFromEnvironment()', () => {
  for (const [setting, expected, values] of wrong)
    test.each(values)(`reports ${setting} of %p in one line, with what is expected`, (value) => {
      const problems = problemsOf({ ...good, [setting]: value });
      expect(problems).toEqual([
        expect.stringMatching(
          new RegExp(
            `^${setting} (?:must be .*|must begin with https://), got ".*"(?: \\(\\d+ characters\\))?(\\. (?:HS256 is not accepted|To allow several|With JWKS_URI|Plain http).*)?$`,
          ),
        ),
      ]);
      expect(problems[0]).toMatch(expected);
    });

  const quoted = 'must not begin and end with quotes: remove them';
  const placeholder =
    'must not have a placeholder such as $NAME, which docker, systemd and kustomize do not replace: write the value itself';
  const invisible = 'must not have invisible characters, which come with copied text: type it again';
  const array = 'must not be a JSON array: separate its members by commas';
  const unquoted = 'must have its double quotes, which a shell or systemd removes: put the value in single quotes';
  test.each([
    ['AUDIENCE', `"${good.AUDIENCE}"`, quoted],
    ['AUDIENCE', `'${good.AUDIENCE}' `, quoted],
    ['AUDIENCE', `“${good.AUDIENCE}”`, quoted],
    ['AUDIENCE', `‘${good.AUDIENCE}’`, quoted],
    ['AUDIENCE', `\${API_URL}`, placeholder],
    ['AUDIENCE', `https://\${HOST:-api.example.com}/`, placeholder],
    ['AUDIENCE', '$API_URL', placeholder],
    ['AUDIENCE', 'api://$(APPLICATION_ID)', placeholder],
    ['AUDIENCE', '{{ .Values.audience }}', placeholder],
    ['REQUIRED_CLAIMS', `azp=\${CLIENT_ID}`, placeholder],
    ['AUDIENCE', `${good.AUDIENCE}\u200b`, invisible],
    ['AUDIENCE', `\u200e${good.AUDIENCE}`, invisible],
    ['SCOPE_CLAIM', 'sc\u00adp', invisible],
    ['REQUIRED_CLAIMS', 'azp=a,azp=\u2060b', invisible],
    ['AUDIENCE', `["${good.AUDIENCE}"]`, array],
    ['AUDIENCE', `[\n  "${good.AUDIENCE}",\n  "https://b.example.com"\n]`, array],
    ['ISSUER', `["${good.ISSUER}"]`, array],
    ['SCOPE_PREFIX', '["a"]', array],
    ['REQUIRED_CLAIMS', '{email_verified:true}', unquoted],
  ])('says how to write %s=%s', (setting, value, fault) =>
    expect(problemsOf({ ...good, [setting]: value })).toEqual([`${setting} ${fault}`]),
  );

  test('says in the words of settings how to accept all tenants', () => {
    const ISSUER = 'https://login.microsoftonline.com/common/v2.0';
    expect(problemsOf({ ...good, ISSUER })).toEqual([
      expect.stringMatching(/^ISSUER must be .*, got .*\. To accept several .* with REQUIRED_CLAIMS=tid=TENANT_ID$/),
    ]);
  });

  const anyName = 'With JWKS_URI, an issuer can have any other name';
  test.each([
    [
      'http://tenant.example.com/',
      `must begin with https://, got "http://tenant.example.com/". Plain http is allowed for loopback hosts, and with JWKS_ALLOW_HTTP=true. ${anyName}`,
    ],
    ['tenant.example.com', `must begin with https://, got "tenant.example.com". ${anyName}`],
    ...['openid-configuration', 'oauth-authorization-server', 'jwks.json'].map((name) => [
      `https://tenant.example.com/.well-known/${name}`,
      `is the URL of metadata or of a key set, not an issuer, got "https://tenant.example.com/.well-known/${name}". Use the iss of a token, which usually is this URL up to /.well-known. The URL of a key set belongs in JWKS_URI`,
    ]),
  ])('names the fault of ISSUER=%s first', (ISSUER, fault) =>
    expect(problemsOf({ ...good, ISSUER })).toEqual([`ISSUER ${fault}`]),
  );

  test('says that an issuer can be any name with JWKS_URI', () => {
    const named = { ...good, ISSUER: 'stytch.com/project' };
    expect(problemsOf(named)).toEqual([expect.stringMatching(/\. With JWKS_URI, an issuer can have any other name$/)]);
    expect(problemsOf({ ...named, JWKS_URI: 'https://stytch.com/keys' })).toEqual([]);
  });

  test('names the settings with which a cooldown outlasts the keys', () =>
    expect(problemsOf({ ...good, JWKS_MAX_AGE_SECONDS: '20', JWKS_MAX_STALE_SECONDS: '9' })).toEqual([
      expect.stringMatching(/^JWKS_COOLDOWN_SECONDS must be at most JWKS_MAX_AGE_SECONDS \+ JWKS_MAX_STALE_SECONDS, /),
    ]));

  test('ignores the line end of a value that was read from a file', () =>
    expect(optionsFromEnvironment({ ...good, AUDIENCE_CLAIM: 'azp\n' }).audienceClaim).toBe('azp'));

  test('lists the names of its settings', () => {
    expect(optionsFromEnvironment.settingNames).toContain('CLIENT_CERTIFICATE');
    expect(optionsFromEnvironment.settingNames).not.toContain('FETCH');
  });

  test('reports all mistakes together, by the names of settings', () => {
    const oneOfEach = Object.fromEntries(wrong.map(([setting, , [value]]) => [setting, value]));
    const named = problemsOf(oneOfEach).map((problem) => problem.replace(/ .*/, ''));
    expect(named.sort()).toEqual(wrong.map(([setting]) => setting).sort());
    for (const missing of [{}, { ISSUER: '', AUDIENCE: '' }])
      expect(problemsOf(missing)).toEqual([
        'ISSUER is required: the `iss` of your tokens, such as https://tenant.example.com/',
        'AUDIENCE is required: the identifier of your API, such as https://api.example.com',
      ]);
    expect(problemsOf({ ...good, JWKS_URI: 'http://a.test/' })[0]).toContain('with JWKS_ALLOW_HTTP');
  });

  test('does not repeat a secret', () =>
    expect(problemsOf({ ...good, DPOP_NONCE_SECRET: 'hunter2' })[0]).toEndWith(', got "***" (7 characters)'));

  test.each<[setting: string, value: string, mistake: string]>([
    ['AUDIENCE', 'https://api.example.com # the API', 'white space beside "#"'],
    ['AUDIENCE', 'https://api.example.com\t#the API', 'white space beside "#"'],
    // systemd, of a value in quotes with a comment.
    ['AUDIENCE', 'https://api.example.com# the API', 'white space beside "#"'],
    ['AUDIENCE', ' # none', 'white space beside "#"'],
    ['AUDIENCE', ' #none', 'white space beside "#"'],
    ['ALGORITHMS', 'RS256,ES256 # both', 'white space beside "#"'],
    ['DPOP', 'on #', 'white space beside "#"'],
    ['JWKS_MAX_AGE_SECONDS', '60 # a minute', 'white space beside "#"'],
    ['DPOP_NONCE_SECRET', `hunter2 #${'a'.repeat(32)}`, 'white space beside "#"'],
    ['REQUIRED_CLAIMS', 'team=Team #1', 'white space beside "#"'],
    ['REQUIRED_CLAIMS', '{"team":"Team 1"} # ours', 'white space beside "#"'],
    ['REQUIRED_CLAIMS', '{"team":"Team', 'name=value'],
    ['REQUIRED_CLAIMS', 'groups=CN=admins,OU=api', 'systemd removes the backslash'],
    ['REQUIRED_CLAIMS', 'groups=cn=admins, ou=api', 'systemd removes the backslash'],
    ['REQUIRED_CLAIMS', 'azp=web,groups=UID=ada,O=api,DC=example,DC=com', 'systemd removes the backslash'],
    ['REQUIRED_CLAIMS', 'groups=CN=admins,azp=web,CN=api', 'systemd removes the backslash'],
    ['REQUIRED_CLAIMS', '{"user":"CORP\\nick"}', 'systemd removes one of two'],
    ['REQUIRED_CLAIMS', '{"user":"CORP\\ada"}', 'name=value'],
  ])('says what a reader of a file has done with %s of %j', (setting, value, mistake) => {
    const [problem = '', ...others] = problemsOf({ ...good, [setting]: value });
    expect([problem.startsWith(`${setting} must `), others]).toEqual([true, []]);
    expect(problem).toContain(mistake);
    expect(problem).not.toContain('hunter2');
  });

  test.each([
    ['AUDIENCE', 'https://api.example.com/#a', { audience: ['https://api.example.com/#a'] }],
    ['AUDIENCE', 'a#b', { audience: ['a#b'] }],
    ['AUDIENCE', 'a$b', { audience: ['a$b'] }],
    ['AUDIENCE', 'می\u200cخواهم', { audience: ['می\u200cخواهم'] }],
    ['REQUIRED_CLAIMS', '{"price":"$","team":"$(a b)"}', { requiredClaims: { price: ['$'], team: ['$(a b)'] } }],
    ['DPOP_NONCE_SECRET', `#${'a'.repeat(32)}`, { dpopNonceSecret: [`#${'a'.repeat(32)}`] }],
    ['REQUIRED_CLAIMS', '{"team":"Team #1","user":"CORP\\\\nick"}', { requiredClaims: { user: ['CORP\\nick'] } }],
    ['REQUIRED_CLAIMS', 'groups=CN=admins\\,OU=api,OU=web', { requiredClaims: { OU: ['web'] } }],
    ['REQUIRED_CLAIMS', 'OU=api,CN=admins', { requiredClaims: { OU: ['api'], CN: ['admins'] } }],
    ['REQUIRED_CLAIMS', 'groups=CN=admins,azp=web', { requiredClaims: { groups: ['CN=admins'] } }],
  ])('finds no mistake in %s of %j', (setting, value, expected) =>
    expect(optionsFromEnvironment({ ...good, [setting]: value })).toMatchObject(expected),
  );

  test.each([
    ['credentials', 'ISSUER', 'https://somebody:hunter2@issuer.example.test/', '***@issuer.example.test/'],
    ['credentials with a slash', 'JWKS_URI', 'https://somebody:hunter/2@a.example.test/', '***@a.example.test/'],
    ['credentials without slashes', 'PUBLIC_URL', 'https:somebody:hunter2@api.example.test/', '***@api.example.test/'],
    ['a query', 'ISSUER', 'https://issuer.example.test/?key=hunter2', 'https://issuer.example.test/?***'],
    ['a fragment', 'JWKS_URI', 'https://issuer.example.test/#hunter2', 'https://issuer.example.test/#***'],
    ['ESC', 'PUBLIC_URL', 'https://x/\u001b[2J', 'https://x/\\u001b[2J'],
    ['DEL, C1 and Cyrillic letters', 'PUBLIC_URL', 'https://x/\u007f\u009b\u0430', 'https://x/\\u007f\\u009b\\u0430'],
    ['a quote and a line end', 'PUBLIC_URL', 'https://x/"\n.', 'https://x/\\"\\n.'],
  ])('rejects %s in %s and repeats nothing secret or meant for a terminal', (_name, setting, value, shown) => {
    expect(problemsOf({ ...good, [setting]: value })).toEqual([expect.stringMatching(/^\w+ must be .*, got "/)]);
    const [problem = ''] = problemsOf({ ...good, [setting]: value });
    expect(problem.replace(/\. With JWKS_URI, .*/, '')).toEndWith(`, got "${shown}"`);
  });

  test.each([
    ['ISSUER', 'https://a.test/ , http://127.0.0.1:4000/', { issuer: ['https://a.test/', 'http://127.0.0.1:4000/'] }],
    ['AUDIENCE', 'a, b c ,a', { audience: ['a', 'b c'] }],
    ['ALGORITHMS', 'ES256,Ed25519', { algorithms: ['ES256', 'EdDSA'] }],
    ['SCOPE_CLAIM', 'scp, /realm/roles', { scopeClaim: ['scp', '/realm/roles'] }],
    ['REQUIRED_CLAIMS', 'tid=t, org = a=b ,tid=u', { requiredClaims: { tid: ['t', 'u'], org: ['a=b'] } }],
    [
      'REQUIRED_CLAIMS',
      'sub=uid=ada\\,ou=people, /a/b=\\\\\\, , c=d\\\\,ok=true',
      { requiredClaims: { sub: ['uid=ada,ou=people'], '/a/b': ['\\,'], c: ['d\\'], ok: ['true'] } },
    ],
    [
      'REQUIRED_CLAIMS',
      '{"groups": ["CN=a,OU=b", 7, null], "azp": "\\"a\\": \\\\", "act": null, "ok": true}',
      { requiredClaims: { groups: ['CN=a,OU=b', '7', null], azp: ['"a": \\'], act: [null], ok: ['true'] } },
    ],
    ['REQUIRED_CLAIMS', 'act=null', { requiredClaims: { act: ['null'] } }],
    ['SCOPE_IMPLIES', 'a=b, a = c ,c=d=e', { scopeImplies: { a: ['b', 'c'], c: ['d=e'] } }],
    ['JWKS_MAX_AGE_SECONDS', '60', { jwksMaxAgeSeconds: 60 }],
    ['AUDIENCE', ['a,b'], { audience: ['a,b'] }],
  ])('reads %s of %p', (setting, value, expected) => {
    const options = optionsFromEnvironment({ ...good, [setting]: value });
    expect(options).toMatchObject(expected);
    expect(() => Object.assign(options, { dpop: 'on' })).toThrow(TypeError);
    expect(createGuard(options).state().cacheEntries).toBe(0);
  });

  // With a copy of the list for each pair, this takes minutes.
  test('reads a list of 500,000 pairs at once', () => {
    const options = optionsFromEnvironment({ ...good, SCOPE_IMPLIES: Array(500_000).fill('a=b').join() });
    expect(options.scopeImplies.a).toHaveLength(500_000);
  });

  test('has the defaults of a guard, treats an empty value as missing, and ignores settings of a process', () => {
    const empty = Object.fromEntries(wrong.map(([setting]) => [setting, '']));
    const others = { PORT: 'x', HOST: ' ', REDIS_URL: 'x', LOG_LEVEL: 'x', FETCH: 'x', KEYS: '{}', RESOURCE: 'x' };
    const defaults = checkOptions({ issuer: good.ISSUER, audience: good.AUDIENCE });
    expect<object>(optionsFromEnvironment({ ...empty, ...good, ...others })).toEqual(defaults);
    expect<object>(optionsFromEnvironment(Object.create(good))).toEqual(defaults);
    const options = optionsFromEnvironment({ ...good, CLIENT_CERTIFICATE: 'Client-Cert' });
    expect(options.clientCertificate).toBeFunction();
    expect(Object.isFrozen(options)).toBe(true);
  });
});
