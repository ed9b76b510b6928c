import { describe, expect, test } from 'bun:test';
import { checkOptions, haveEqualOptions } from '../../../src/auth/options/check-options.ts';
import { optionRules } from '../../../src/auth/options/rules.ts';
import { inCode, say } from '../../../src/auth/options/wording.ts';
import type { GuardOptions } from '../../../src/auth/types.ts';
import { signingKeys } from '../../support/mint.ts';

const issuer = 'https://issuer.example.test/';
const audience = 'https://api.example.test/';
const good = { issuer, audience };

interface Row {
  readonly valid: readonly unknown[];
  /** `null` is wrong everywhere. */
  readonly wrong: readonly unknown[];
  readonly fallback?: unknown;
  readonly beside?: Partial<GuardOptions>;
}

const wholeNumber = (min: number, max: number, fallback?: number): Row => ({
  valid: [min, max],
  wrong: [min - 1, max + 1, min + 0.5, String(min), Number.NaN, Number.POSITIVE_INFINITY],
  fallback,
});

const prefix: Row = { valid: ['https://api.example.test/', '!#[]~'], wrong: ['', 'a b', '"', '\\', 'é', '\u007f', 7] };

const times = { jwksMaxAgeSeconds: 10, jwksMaxStaleSeconds: 30 };
const beside = { publicUrl: audience };
const keys = { keys: signingKeys() };
const callback: Row = { valid: [() => ({})], wrong: [{}, 'f'] };

const endings = ['#part', '{tenant}/', '{tenantid}x', '"', "'", '<br>', '\\', '$(id)', '`id`', '\u001b[2J', 'a b', 'é'];
const badUrls = [
  ...['', 7, 'issuer.example.test', 'http://issuer.example.test/', 'ftp://issuer.example.test/', ` ${issuer}`],
  ...['https://user@issuer.example.test/', 'https://:password@issuer.example.test/'],
  ...endings.map((ending) => issuer + ending),
];
const entra = 'https://login.microsoftonline.com';
const noTemplates = ['https://{tenantid}/v2.0', 'https://{tenantid}.a.test/', `${entra}/{tenantid}/{tenantid}/v2.0`];
const withQuery = `${issuer}?a=1`;
const loopback = ['http://localhost:3000/', 'http://sso.localhost/', 'http://127.0.0.1/', 'http://[::1]/'];

const ofConnections = 'Connection Content-Length Keep-Alive TE Trailer Transfer-Encoding Upgrade'.split(' ');
const ofClients = ['', 'a b', 'Host', 'Cookie', 'DPoP', 'Authorization', ...ofConnections].concat(
  'User-Agent Origin Accept Accept-Language Sec-WebSocket-Key Sec-Fetch-Site Referer Range If-Match Content-Type'.split(
    ' ',
  ),
);

const rows: Readonly<Record<keyof GuardOptions, Row>> = {
  issuer: {
    valid: [
      ...[issuer, [issuer], ['https://a.example.test', 'https://b.example.test/path/'], ...loopback, () => undefined],
      ...[`${entra}/{tenantid}/v2.0`, 'https://sts.windows.net/{tenantid}/', `${issuer}common/`, `${issuer}consumers`],
    ],
    wrong: [
      ...[undefined, [], [issuer, ''], [issuer, 7], [issuer, 'http://a.test'], {}, withQuery, ...badUrls],
      ...[...noTemplates, 'http://a.test/{tenantid}/'],
    ],
    fallback: [issuer],
  },
  authorizationServers: {
    valid: [[issuer], ['https://a.example.test', ...loopback]],
    wrong: [[], issuer, [7], [issuer, 'stytch.com/project'], ...[withQuery, ...badUrls].map((url) => [url])],
  },
  audience: {
    valid: [audience, ['urn:api', 'another api']],
    wrong: [undefined, '', '  ', [], [audience, ''], [audience, 7], {}],
    fallback: [audience],
  },
  jwksUri: { valid: ['https://keys.example.test/keys?version=1', ...loopback], wrong: [[issuer], ...badUrls] },
  jwksAllowHttp: { valid: [true, false], wrong: ['true', 1], fallback: false },
  algorithms: {
    valid: [['RS256'], ['ES512', 'EdDSA', 'Ed25519'], ['ML-DSA-65']],
    wrong: [[], 'RS256', ['none'], ['HS256'], ['rs256'], ['RS256', null]],
    fallback: ['RS256'],
  },
  scopeClaim: {
    valid: [['scope'], ['scp', '/resource_access/my~1api/roles', '/a~0b', 'a~b']],
    wrong: [[], 'scope', [''], ['/a~2'], ['/a~'], [7]],
    fallback: ['scope'],
  },
  scopePrefix: prefix,
  scopeRequestPrefix: prefix,
  audienceClaim: { valid: ['client_id'], wrong: ['', ' ', 7], fallback: 'aud' },
  requiredClaims: {
    valid: [
      ...[{}, { tid: 'tenant' }, { tid: ['one', 'another'] }, { a: 1, b: false, '/c/0~1': [true, 2.5] }],
      ...[{ a: null }, { a: [null] }, { a: ['b', null], '/c': null }],
    ],
    wrong: [
      ...[[], 'a=b', { a: '' }, { a: [] }, { '': 'x' }, new Map([['a', 'b']])],
      ...[
        { a: Number.NaN },
        { a: [undefined] },
        { tid: null },
        { '/tid': ['one', null] },
        { a: [['b']] },
        { a: {} },
        { a: Symbol('b') },
        { '/a~2': 'b' },
      ],
    ],
    fallback: {},
  },
  dpop: { valid: ['off', 'on', 'required'], wrong: ['', true, 'yes'], fallback: 'off', beside },
  dpopProofMaxAgeSeconds: wholeNumber(10, 300, 60),
  dpopNonceSecret: {
    valid: ['s'.repeat(32), ['s'.repeat(32), 't'.repeat(40)]],
    wrong: ['s'.repeat(31), [], ['s'.repeat(32), 'short'], Array(3).fill('s'.repeat(32)), 7],
  },
  publicUrl: {
    valid: ['https://api.example.test', `${audience}base/`, ...loopback, [audience, 'https://b.example.test']],
    wrong: [withQuery, ...badUrls, [], [audience, 'b']],
  },
  replayStore: { valid: [{ markUsed: async () => true }], wrong: [{}, { markUsed: true }, () => {}] },
  jwksMaxAgeSeconds: wholeNumber(1, 1_000_000, 600),
  jwksMaxStaleSeconds: wholeNumber(0, 1_000_000, 86_400),
  jwksCooldownSeconds: wholeNumber(1, 3600, 30),
  jwksTimeoutSeconds: wholeNumber(1, 60, 5),
  clockToleranceSeconds: wholeNumber(0, 300, 0),
  maxTokenAgeSeconds: wholeNumber(1, 31_536_000),
  tokenCacheSize: wholeNumber(0, 1_000_000, 10_000),
  tokenType: { valid: ['jwt', 'at+jwt'], wrong: ['JWT', ''], fallback: 'jwt' },
  scopeImplies: {
    valid: [{}, { admin: ['read:a', 'read:b'] }],
    wrong: [[], { admin: 'read:a' }, { admin: ['a b'] }, { 'a b': ['c'] }, { admin: Array(1) }],
    fallback: {},
  },
  dpopAlgorithms: {
    valid: [['ES256'], ['PS256', 'Ed25519'], ['ES512', 'RS384', 'RS512', 'PS384', 'PS512']],
    wrong: [[], 'ES256', ['ML-DSA-44'], ['HS256'], [null]],
    fallback: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'],
  },
  resource: {
    valid: [`${audience}mcp`, `${audience}mcp?tenant=a`],
    wrong: [7, `${audience}#a`, 'issuer.example.test'],
    beside,
  },
  keys: { valid: [keys], wrong: [[], {}, { keys: [] }, { keys: 'a' }, { keys: [null] }, { keys: Array(1) }] },
  claims: {
    valid: [{ '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }],
    wrong: [7, 'schema', {}, { '~standard': {} }],
  },
  clientCertificate: { valid: [() => undefined, 'Client-Cert'], wrong: [{}, ...ofClients] },
  isRevoked: callback,
  introspect: callback,
  webSocketProtocol: { valid: ['bearer'], wrong: ['Bearer', 'token', true, ''] },
  requireScope: { valid: [true, false], wrong: ['true', 1], fallback: false },
  waitUntil: callback,
  fetch: callback,
  onAccepted: callback,
  onRejected: callback,
  onKeySetEvent: callback,
  onReplayStoreEvent: callback,
  formatRejection: callback,
  errorHeaders: {
    valid: [{}, { 'cache-control': 'no-store' }],
    wrong: [
      ...[7, 'a: b', [], new Map(), { a: 1 }, { 'a b': 'c' }, { a: 'b\nc: d' }],
      ...ofConnections.map((name) => ({ [name]: '0' })),
    ],
  },
};

/** Returns what is thrown, without the words that every message has. */
function problemOf(options: unknown): string {
  try {
    checkOptions(options as GuardOptions);
    return 'none';
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return String(error).replace(/^TypeError: Cannot create a guard:\s*/, '');
  }
}

describe('checkOptions()', () => {
  for (const [name, { valid, wrong, beside }] of Object.entries(rows)) {
    const { expected, required } = optionRules[name as keyof GuardOptions];
    for (const value of valid)
      test(`accepts ${name} ${JSON.stringify(value)}`, () =>
        expect(problemOf({ ...good, ...beside, [name]: value })).toBe('none'));
    for (const value of [null, ...wrong])
      test(`throws a TypeError that names ${name}, for ${typeof value} ${Bun.inspect(value)}`, () => {
        const problem = problemOf({ ...good, ...beside, [name]: value });
        const faults = [
          `${name} ${value === undefined ? `is required: ${required}` : `must be ${say(expected, inCode)}`}`,
        ];
        if (name === 'issuer') faults.push('issuer must begin with https://');
        expect(
          faults.some((fault) => problem.startsWith(fault)),
          problem,
        ).toBeTrue();
      });
  }

  const several = { ...good, issuer: [issuer, 'https://b.example.test/'] };
  const introspect = () => ({});
  const asking = (name: string) => ({ issuer: `${issuer}${name}`, introspect });
  for (const [name, options, problem] of [
    ['no options', undefined, /^options are missing$/],
    ['null', null, /^options are missing$/],
    ['text', issuer, /^options are missing$/],
    ['an unknown option', { ...good, port: 3010 }, /^port is not an option$/],
    ['a misspelt one', { ...good, clockTolerance: 5 }, /^clock.* is not .*\. Did you mean clockToleranceSeconds\?$/],
    ['a misspelt required one first', { issuer, audiance: 'a' }, /^audiance .* audience\?\n {2}audience is required/],
    ['one of another library', { issuerBaseURL: issuer, audience }, /^issuerBaseURL .* mean issuer\?/],
    ['optional', { ...good, optional: true }, /^optional is not an option: it is the second argument of resource/],
    [
      'a shared secret',
      { ...good, algorithms: ['HS256'] },
      /, got \["HS256"\]\. HS256 is not accepted, because whoever can verify such a token can also sign one$/,
    ],
    ['an inherited one', Object.assign(Object.create({ port: 3010 }), good), /^port is not an option$/],
    ['a short secret', { ...good, dpopNonceSecret: 'hunter2' }, /^dpopNonceSecret must be .*, got \*\*\*$/],
    ['a secret in a list', { ...good, issuer: ['https://a:b@c.test/'] }, /, got \["\*\*\*@c\.test\/"\]\. With/],
    [
      'a secret in an object',
      { ...good, issuer: [{ issuer, jwksUri: 'b#c' }, 1n] },
      /, got \[a value.* object, a .* bigint\]: issuer\[0\]\.jwksUri must be an https URL .*, got "b#\*\*\*"$/,
    ],
    [
      'an unknown member of an issuer',
      { ...good, issuer: [issuer, { issuer: `${issuer}b`, audiance: audience }] },
      /, got \["https:.*", a value of the type object\]: issuer\[1\]\.audiance is not an option. Did you mean audience\?$/,
    ],
    ['an issuer without a URL', { ...good, issuer: [{ audience }] }, /: issuer\[0\]\.issuer must be .* got nothing$/],
    ['DPoP without publicUrl', { ...good, dpop: 'on' }, /^publicUrl is required: with DPoP, the URL at which/],
    ['jwksUri with two issuers', { ...several, jwksUri: issuer }, /^jwksUri must be unset when there are several/],
    ['an issuer that is not a URL', { audience, issuer: 'stytch.com/a' }, / With jwksUri or keys, an issuer can/],
    [
      'one of several',
      { audience, issuer: [issuer, { issuer: 'a' }] },
      /^issuer must begin with https:\/\/, got .* With jwksUri or keys/,
    ],
    [
      'jwksUri over http where only another issuer allows it',
      {
        audience,
        issuer: [
          { issuer, jwksAllowHttp: true },
          { issuer: `${issuer}b`, jwksUri: 'http://a.test/' },
        ],
      },
      /^issuer must be/,
    ],
    ['an http authorization server', { ...good, authorizationServers: ['http://a.test/'] }, /^authorizationServers/],
    ['keys with two issuers', { ...several, keys }, /^keys must be unset when there are several issuers/],
    ['two functions for opaque tokens', { ...good, issuer: [asking('a'), asking('b')] }, /^introspect must be a fun/],
    ['one beside that of the guard', { ...good, issuer: [asking('a')], introspect }, /^introspect must be a function/],
    ['keys with jwksUri', { ...good, keys, jwksUri: issuer }, /^keys must be unset when jwksUri is set/],
    [
      'a cooldown that outlasts the keys',
      { ...good, ...times, jwksCooldownSeconds: 41 },
      /^jwksCooldownSeconds must be at most jwksMaxAgeSeconds \+ jwksMaxStaleSeconds, .*, got 41$/,
    ],
    ['a resource without publicUrl', { ...good, resource: audience }, /^resource must be .* the origin of publicUrl/],
    [
      'a host twice',
      { ...good, publicUrl: [audience, `${audience}base`] },
      /^publicUrl must be URLs of different hosts/,
    ],
    ['a URL twice', { ...good, publicUrl: [audience, audience] }, /^publicUrl must be URLs of different hosts/],
    [
      'a resource that is a URL beside several names',
      { ...good, publicUrl: [audience, 'https://b.example.test'], resource: `${audience}mcp` },
      /^resource must be a path such as \/mcp/,
    ],
    [
      'a path beside one name',
      { ...good, publicUrl: audience, resource: '/mcp' },
      /^resource must be .* the origin of/,
    ],
    ['a resource elsewhere', { ...good, publicUrl: audience, resource: issuer }, /^resource must be .* the origin of/],
  ] as const)
    test(`throws a TypeError for ${name}`, () => expect(problemOf(options)).toMatch(problem));

  test.each<unknown>([
    ...['common', 'organizations', 'consumers', '*'].flatMap((word) => [`${entra}/${word}/v2.0`, `${entra}/${word}/`]),
    ...['https://sts.windows.net/common/', 'https://login.microsoftonline.us/common/v2.0', `${issuer}*`],
    [[issuer, { issuer: `${entra}/common/v2.0` }]],
  ])('says how to accept all tenants for the issuer %j', (wrong) =>
    expect(problemOf({ ...good, issuer: wrong })).toMatch(
      /^issuer must be the issuer of one tenant, got .*\. To accept several tenants, write \{tenantid\} .* with requiredClaims: \{ tid: \[\.\.\.\] \}$/,
    ),
  );

  test('accepts keys over plain http from another host only if that is allowed', () => {
    for (const options of [{ issuer: 'http://issuer.internal/' }, { jwksUri: 'http://issuer.internal/keys' }]) {
      expect(problemOf({ ...good, ...options })).toMatch(/must be|must begin with https:/);
      expect(problemOf({ ...good, ...options, jwksAllowHttp: true })).toBe('none');
    }
    expect(problemOf({ ...good, publicUrl: 'http://api.internal/', jwksAllowHttp: true })).toStartWith('publicUrl');
  });

  test('accepts a cooldown that ends with the keys', () =>
    expect(problemOf({ ...good, ...times, jwksCooldownSeconds: 40 })).toBe('none'));

  const names = [
    ...['http://adfs.example.com/adfs/services/trust', 'http://kc.example.com/realms/x', 'spiffe://example.org'],
    // SAP Cloud Identity Services name no scheme.
    'tenant.accounts.example.test',
    ...['https://issuer.example.test/?tenant=1', 'https://xn--bcher-kva.example/#a', 'urn:issuer', "o'hara", 'a{b}<c>'],
    `https://a.test/${'x'.repeat(497)}`,
  ];
  test.each(names)('accepts the issuer %s as a name beside jwksUri or keys', (name) => {
    expect(problemOf({ audience, issuer: name, jwksUri: issuer })).toBe('none');
    expect(problemOf({ audience, issuer: [issuer, { issuer: name, keys }] })).toBe('none');
    if (name.length < 512)
      expect(problemOf({ audience, issuer: name })).toMatch(/^issuer (?:must be the URL|must begin with https:)/);
  });

  test.each(['a b', 'a"b', 'a\\b', 'b\u00fccher', 'a\n', `https://a.test/${'x'.repeat(498)}`, ...noTemplates])(
    'rejects the issuer %j beside keys too',
    (name) => expect(problemOf({ audience, issuer: name, keys })).toStartWith('issuer must be'),
  );

  test('reads getters and inherited members, but no member that every object inherits', () => {
    // Every object inherits a `valueOf` too.
    const own = { valueOf: 'a claim' } as unknown as Readonly<Record<string, string>>;
    class Options {
      readonly issuer = issuer;
      get audience() {
        return audience;
      }
      get requiredClaims() {
        return Object.assign(Object.create({ tid: 'tenant' }), own);
      }
    }
    Object.defineProperty(Object.prototype, 'polyfill', { enumerable: true, configurable: true, value() {} });
    try {
      const requiredClaims = { tid: ['tenant'], valueOf: ['a claim'] };
      expect<object>(checkOptions(new Options())).toMatchObject({
        issuer: [issuer],
        audience: [audience],
        requiredClaims,
      });
    } finally {
      Reflect.deleteProperty(Object.prototype, 'polyfill');
    }
  });

  test('returns the defaults of the contract', () => {
    const defaults = Object.entries(rows).map(([name, { fallback }]) => [name, fallback]);
    expect<object>(checkOptions(good)).toStrictEqual(Object.fromEntries(defaults));
  });

  test('normalizes values, so that equal guards are recognized', () => {
    const twice = { issuer: [issuer, issuer], audience: [audience, audience], publicUrl: 'https://api.example.test/' };
    const spelled = checkOptions({ ...twice, algorithms: ['Ed25519', 'EdDSA', 'RS256', 'RS256'] });
    const once = { issuer: [issuer], audience: [audience], publicUrl: 'https://api.example.test' };
    expect(spelled).toMatchObject({ ...once, algorithms: ['EdDSA', 'RS256'] });
  });

  test('is not affected by later changes to the given options', () => {
    const given = { issuer: [issuer], audience: [audience], scopeClaim: ['scp'], requiredClaims: { a: 'b' } };
    const checked = checkOptions(given);
    for (const list of [given.issuer, given.audience, given.scopeClaim]) list.push('https://evil.example.test/');
    given.requiredClaims.a = 'c';
    expect(checked).toMatchObject({ issuer: [issuer], audience: [audience], scopeClaim: ['scp'] });
    expect(checked.requiredClaims).toEqual({ a: ['b'] });
    expect(() => Object.assign(checked, { dpop: 'on' })).toThrow(TypeError);
  });
});

class InheritedKey {
  readonly #n: string;
  constructor(n: string) {
    this.#n = n;
  }
  get n() {
    return this.#n;
  }
}

test.each([
  ['object literals', (n: string): object => ({ kid: 'a', n }), true],
  ['instances of a class, whose members can be inherited', (n: string): object => new InheritedKey(n), false],
])('haveEqualOptions() compares keys of an issuer by their members only if they are %s', (_, keyOf, areAlike) => {
  const withKey = (n: string) =>
    checkOptions({ audience: 'a', issuer: [{ issuer: 'https://issuer.example/', keys: { keys: [keyOf(n)] } }] });
  expect(haveEqualOptions(withKey('x'), withKey('x'))).toBe(areAlike);
  expect(haveEqualOptions(withKey('x'), withKey('y'))).toBe(false);
});
