import { describe, expect, test } from 'bun:test';
import { resourceServer } from '../../src/auth/elysia/resource-server.ts';
import { checkOptions, type GuardOptions, optionRules } from '../../src/auth/options.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';

const issuer = 'https://issuer.example.test/';
const audience = 'https://api.example.test/';
const good = { issuer, audience };

interface Row {
  readonly valid: readonly unknown[];
  readonly wrong: readonly unknown[];
  /** What the message says that the option must be. */
  readonly expected: RegExp;
  /** Further options that the valid values need. */
  readonly beside?: Partial<GuardOptions>;
}

const wholeNumber = (min: number, max: number): Row => ({
  valid: [min, max],
  wrong: [min - 1, max + 1, min + 0.5, String(min), Number.NaN, Number.POSITIVE_INFINITY, null],
  expected: new RegExp(`a whole number from ${min} to ${max}`),
});

const callback: Row = { valid: [() => ({})], wrong: [null, {}, 'f'], expected: /a function/ };

const badAddresses = [
  '',
  'issuer.example.test',
  'http://issuer.example.test/',
  'ftp://issuer.example.test/',
  'https://user@issuer.example.test/',
  'https://:password@issuer.example.test/',
  'https://issuer.example.test/#part',
  'https://issuer.example.test/{tenantid}/',
  'https://issuer.example.test/"',
  "https://issuer.example.test/'",
  'https://issuer.example.test/<script>',
  'https://issuer.example.test/\\',
  'https://issuer.example.test/$(id)',
  'https://issuer.example.test/`id`',
  'https://issuer.example.test/\u001b[2J',
  'https://issuer.example.test/a b',
  'https://issuer.example.test/é',
  ' https://issuer.example.test/',
];
const withQuery = 'https://issuer.example.test/?a=1';
const loopback = ['http://localhost:3000/', 'http://127.0.0.1/', 'http://[::1]/'];

const rows: Readonly<Record<keyof GuardOptions, Row>> = {
  issuer: {
    valid: [issuer, [issuer], ['https://a.example.test', 'https://b.example.test/path/'], ...loopback],
    wrong: [
      undefined,
      null,
      7,
      [],
      [issuer, ''],
      [issuer, 7],
      [issuer, 'http://issuer.example.test/'],
      {},
      withQuery,
      ...badAddresses,
    ],
    expected: /authorization server: an https address without query, fragment, credentials, quotes or braces/,
  },
  audience: {
    valid: [audience, ['urn:api', 'another api']],
    wrong: [undefined, null, '', '  ', [], [audience, ''], [audience, 7], {}],
    expected: /API identifier that tokens contain in aud/,
  },
  jwksUri: {
    valid: ['https://keys.example.test/keys?version=1', ...loopback],
    wrong: [null, 7, ['https://keys.example.test/'], ...badAddresses],
    expected: /an https address without fragment or credentials/,
  },
  jwksAllowHttp: { valid: [true, false], wrong: ['true', 1, null], expected: /true or false/ },
  algorithms: {
    valid: [['RS256'], ['ES512', 'EdDSA', 'Ed25519']],
    wrong: [[], 'RS256', ['none'], ['HS256'], ['rs256'], ['RS256', null], null],
    expected: /a list of RS256, RS384, .*, EdDSA or Ed25519/,
  },
  scopeClaim: {
    valid: [['scope'], ['scp', '/resource_access/my~1api/roles', '/a~0b', 'a~b']],
    wrong: [[], 'scope', [''], ['/a~2'], ['/a~'], [7], null],
    expected: /claim names, or JSON Pointers that begin with \//,
  },
  scopePrefix: {
    valid: ['https://api.example.test/', '!#[]~'],
    wrong: ['', 'a b', '"', '\\', 'é', '\u007f', null, 7],
    expected: /printable ASCII without spaces, quotes or backslashes/,
  },
  audienceClaim: { valid: ['client_id'], wrong: ['', ' ', null, 7], expected: /the name of a claim/ },
  requiredClaims: {
    valid: [{}, { tid: 'tenant', empty: '' }],
    wrong: [null, [], 'a=b', { a: 1 }, { '': 'x' }],
    expected: /claim names with the text that each must be/,
  },
  dpop: {
    valid: ['off', 'on', 'required'],
    wrong: ['', true, null, 'yes'],
    expected: /one of off, on, required/,
    beside: { publicUrl: audience },
  },
  publicUrl: {
    valid: ['https://api.example.test', 'https://api.example.test/base/', ...loopback],
    wrong: [null, 7, withQuery, ...badAddresses],
    expected:
      /an https address without query, fragment, credentials, quotes or braces \(http is allowed for loopback hosts\)/,
  },
  replayStore: {
    valid: [{ markUsed: async () => true }],
    wrong: [null, {}, { markUsed: true }, () => {}],
    expected: /an object with a method markUsed/,
  },
  jwksMaxAgeSeconds: wholeNumber(1, 1_000_000),
  jwksMaxStaleSeconds: wholeNumber(0, 1_000_000),
  jwksCooldownSeconds: wholeNumber(1, 3600),
  jwksTimeoutSeconds: wholeNumber(1, 60),
  clockToleranceSeconds: wholeNumber(0, 300),
  tokenCacheSize: wholeNumber(0, 1_000_000),
  tokenType: { valid: ['jwt', 'at+jwt'], wrong: ['JWT', '', null], expected: /one of jwt, at\+jwt/ },
  scopeImplies: {
    valid: [{}, { admin: ['read:a', 'read:b'] }],
    wrong: [null, [], { admin: 'read:a' }, { admin: ['a b'] }, { 'a b': ['c'] }],
    expected: /broader scopes with the lists of narrower ones/,
  },
  dpopAlgorithms: {
    valid: [['ES256'], ['PS256', 'Ed25519']],
    wrong: [[], 'ES256', ['ES512'], ['HS256'], [null], null],
    expected: /a list of ES256, ES384, RS256, PS256, EdDSA or Ed25519/,
  },
  resource: {
    valid: ['https://api.example.test/mcp'],
    wrong: [null, 7, withQuery, 'https://other.example.test/mcp'],
    expected: /an https address|with the origin of publicUrl/,
    beside: { publicUrl: audience },
  },
  keys: {
    valid: [{ keys: [publish(rsaKey(SIGNING_KID), SIGNING_KID)] }],
    wrong: [null, [], {}, { keys: [] }, { keys: 'a' }, { keys: [null] }],
    expected: /a JWK Set/,
  },
  claims: {
    valid: [{ '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } }],
    wrong: [7, 'schema'],
    expected: /a schema that implements Standard Schema/,
  },
  clientCertificate: callback,
  isRevoked: callback,
  fetch: callback,
  onAccepted: callback,
  onRefused: callback,
  onKeySetEvent: callback,
  errorBody: callback,
};

const construct = (options: object) => () => resourceServer(options as GuardOptions);
/** Returns what is thrown, without the words that every message has. */
function problemOf(options: object): string {
  try {
    construct(options)();
    return 'none';
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return String(error).replace(/^TypeError: Cannot create a guard:\s*/, '');
  }
}

describe('resourceServer()', () => {
  for (const [name, { valid, wrong, expected, beside }] of Object.entries(rows)) {
    for (const value of valid) {
      test(`accepts ${name} ${JSON.stringify(value)}`, () => {
        expect(construct({ ...good, ...beside, [name]: value })).not.toThrow();
      });
    }
    for (const value of wrong) {
      test(`throws a TypeError that names ${name}, for ${typeof value} ${JSON.stringify(value)}`, () => {
        const problem = problemOf({ ...good, [name]: value });
        expect(problem).toStartWith(`${name} must be `);
        expect(problem).toMatch(expected);
      });
    }
  }

  for (const [name, options, problem] of [
    ['no options', undefined, 'options are missing'],
    ['null', null, 'options are missing'],
    ['text', issuer, 'options are missing'],
    ['an unknown option', { ...good, port: 3010 }, 'port is not an option'],
    ['DPoP without publicUrl', { ...good, dpop: 'on' }, /^publicUrl must be .*, which DPoP requires/],
    [
      'jwksUri with two issuers',
      { ...good, issuer: [issuer, 'https://b.example.test/'], jwksUri: issuer },
      /^jwksUri must be unset when there are several issuers/,
    ],
  ] as const) {
    test(`throws a TypeError for ${name}`, () => {
      const found = problemOf(options as object);
      if (typeof problem === 'string') expect(found).toBe(problem);
      else expect(found).toMatch(problem);
    });
  }

  test('accepts keys over plain http from another host only if that is allowed', () => {
    for (const options of [{ issuer: 'http://issuer.internal/' }, { jwksUri: 'http://issuer.internal/keys' }]) {
      expect(problemOf({ ...good, ...options })).toContain('must be');
      expect(construct({ ...good, ...options, jwksAllowHttp: true })).not.toThrow();
    }
    expect(problemOf({ ...good, publicUrl: 'http://api.internal/', jwksAllowHttp: true })).toStartWith('publicUrl');
  });
});

describe('checkOptions()', () => {
  test('returns the defaults of the contract', () => {
    expect(checkOptions(good)).toMatchObject({
      issuer: [issuer],
      audience: [audience],
      jwksUri: undefined,
      jwksAllowHttp: false,
      algorithms: ['RS256'],
      scopeClaim: ['scope'],
      scopePrefix: undefined,
      audienceClaim: 'aud',
      requiredClaims: {},
      tokenType: 'jwt',
      scopeImplies: {},
      dpop: 'off',
      dpopAlgorithms: ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'],
      publicUrl: undefined,
      jwksMaxAgeSeconds: 600,
      jwksMaxStaleSeconds: 86_400,
      jwksCooldownSeconds: 30,
      jwksTimeoutSeconds: 5,
      clockToleranceSeconds: 0,
      tokenCacheSize: 10_000,
    });
    expect(Object.keys(checkOptions(good)).sort()).toEqual(Object.keys(optionRules).sort());
  });

  test('normalizes values, so that equal guards are recognized', () => {
    const spelled = checkOptions({
      issuer: [issuer, issuer],
      audience: [audience, audience],
      algorithms: ['Ed25519', 'EdDSA', 'RS256', 'RS256'],
      publicUrl: 'https://api.example.test/',
    });
    expect(spelled).toMatchObject({
      issuer: [issuer],
      audience: [audience],
      algorithms: ['EdDSA', 'RS256'],
      publicUrl: 'https://api.example.test',
    });
  });

  test('is not changed by later changes to what it was given', () => {
    const given = { issuer: [issuer], audience: [audience], scopeClaim: ['scp'], requiredClaims: { a: 'b' } };
    const checked = checkOptions(given);
    given.issuer.push('https://evil.example.test/');
    given.audience.push('evil');
    given.scopeClaim.push('evil');
    given.requiredClaims.a = 'c';
    expect(checked).toMatchObject({ issuer: [issuer], audience: [audience], scopeClaim: ['scp'] });
    expect(checked.requiredClaims).toEqual({ a: 'b' });
    expect(() => Object.assign(checked, { dpop: 'on' })).toThrow(TypeError);
  });
});
