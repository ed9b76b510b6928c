import { afterAll, expect, test } from 'bun:test';
import { describeChecks } from '../../../src/auth/explain/checks/checks.ts';
import { check } from '../../../src/auth/explain/checks/explained.ts';
import { withVerdicts } from '../../../src/auth/explain/render.ts';
import { explainToken } from '../../../src/auth/explain.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { optionsFromEnvironment } from '../../../src/auth/options/environment.ts';
import { rejectFor, rejections } from '../../../src/auth/rejections.ts';
import type { Requirements } from '../../../src/auth/types.ts';
import type { Environment } from '../../support/child-process.ts';
import { startIssuer } from '../../support/issuer.ts';
import { rsaKey } from '../../support/keys.ts';
import { AUDIENCE, bearer, mintToken, nowSeconds, type TokenOverrides } from '../../support/mint.ts';

const issuer = await startIssuer();
afterAll(issuer.close);

const optionsWith = (settings: Environment = {}) =>
  optionsFromEnvironment({ ISSUER: issuer.url, AUDIENCE, ...settings });
/** As the service explains a token, one of whose routes requires this scope. */
const asService = { requirements: { scope: 'read:messages' }, words: 'settings' } as const;

interface Given extends TokenOverrides {
  readonly settings?: Environment;
}

/** Expects these lines, the last of which describes the response. `…` stands for the rest of a line. */
function explains(name: string, given: Given | (() => Given), lines: readonly string[]): void {
  test(`explainToken() explains ${name}`, async () => {
    const { settings, ...overrides } = typeof given === 'function' ? given() : given;
    const token = mintToken(issuer.url, overrides);
    const explanation = await explainToken(token, optionsWith(settings), asService);
    const output = explanation.render();
    const printed = output.trimEnd().replace(/ +/g, ' ').replaceAll(issuer.url, '<issuer>').split('\n');
    const expected = lines.map((line) => (line.endsWith('…') ? expect.stringContaining(line.slice(0, -1)) : line));
    expect(printed).toEqual(expect.arrayContaining(expected));
    expect(printed.at(-1)).toEqual(expected.at(-1));
    const verdicts = explanation.checks.map(({ verdict }) => `${verdict}, `).join('');
    expect(verdicts).toMatch(/^(passed, )*(rejected, )?(not reached, )*$/);
    // Neither the token nor the secrets of settings, and nothing that a terminal interprets.
    if (token.length > 20) expect(output).not.toContain(token.slice(-20));
    expect(output).not.toContain('secret');
    expect(output).toMatch(/^[\n\x20-\x7e…]*$/);
  });
}

const withTime = (name: string, seconds: number) => () => ({ claims: { [name]: nowSeconds() + seconds } });
const text = (token: string): Given => ({ reshape: () => token });

explains('a valid token', withTime('exp', 100 * 86_400), [
  ' characters in 3 parts signed JWT…',
  'algorithm RS256 accepted',
  'type JWT accepted',
  'key signing-key found in the key set',
  'signature by the key signing-key verified',
  'issuer <issuer> accepted',
  'audience https://api.example.test/ accepted',
  'expiry in 99 days accepted',
  'scope scope read:messages sufficient for read:messages',
  '200: Token is accepted',
]);
explains('a token for another audience', { claims: { aud: ['https://other.example.test/', 'b'] } }, [
  'audience ["https://other.example.test/","b"] rejected: AUDIENCE is https://api.example.test/',
  "401 invalid_token: the token is for https://other.example.test/, b: the client must request a token for https://api.example.test/ (the parameter resource of RFC 8707, or audience), or configure the issuer to put it into aud. If the token's audience identifies this API and no other, set AUDIENCE to it",
]);
explains('a token of another issuer', { claims: { iss: 'https://other.example.test' } }, [
  'signature by the key signing-key verified',
  'issuer https://other.example.test rejected: ISSUER is <issuer>',
  '401 invalid_token: set ISSUER to https://other.example.test if you trust this issuer. Every character counts. Then the token is accepted, if its signature is good',
]);
// Nothing listens there, and no name is looked up.
const severalIssuers = { ISSUER: 'http://127.0.0.1:9/,http://127.0.0.1:9/b/' };
explains('a token of none of several issuers, which is not checked with any key', { settings: severalIssuers }, [
  'issuer <issuer> rejected: ISSUER is http://127.0.0.1:9/, http://127.0.0.1:9/b/',
  'key signing-key not reached',
  'signature by the key signing-key not reached',
  '401 invalid_token: set ISSUER to <issuer> if …',
]);
explains('an expired token', withTime('exp', -7300), [
  'expiry 2 hours ago rejected: it expired at 20…',
  '401 invalid_token: the token expired 2 hours ago: the client must request a new token',
]);
explains('when an expired token did expire', { claims: { exp: 1 } }, [
  ' ago rejected: it expired at 1970-01-01T00:00:01.000Z, and CLOCK_TOLERANCE_SECONDS is 0…',
  '401 invalid_token: the token expired 20,…',
]);
explains('a token that is not valid yet', withTime('nbf', 299), [
  'not before in 4 minutes rejected: CLOCK_TOLERANCE_SECONDS is 0',
  '401 invalid_token: the token is valid only in 4 minutes (nbf): correct the clock of the issuer or of this machine, or raise CLOCK_TOLERANCE_SECONDS to at least 2…',
]);
explains(
  'a token that is too old',
  () => ({ ...withTime('iat', -7300)(), settings: { MAX_TOKEN_AGE_SECONDS: '3600' } }),
  [
    'age 2 hours ago rejected: MAX_TOKEN_AGE_SECONDS is 3600',
    '401 invalid_token: the token was issued 2 hours ago, and MAX_TOKEN_AGE_SECONDS is 3600: the client must request a new token',
  ],
);
explains('no iat, where it counts', { claims: { iat: undefined }, settings: { MAX_TOKEN_AGE_SECONDS: '3600' } }, [
  'age none rejected: MAX_TOKEN_AGE_SECONDS is 3600',
  '401 invalid_token: the issuer must put iat into the token',
]);
explains('a token without exp', { claims: { exp: undefined } }, [
  'forms exp none rejected: exp must be a number',
  '401 invalid_token: the issuer must change the token: exp must be a number',
]);
explains('a claim of another type', { claims: { iat: 'yesterday' } }, [
  'forms iat yesterday rejected: iat must be a number',
  '401 invalid_token: the issuer must change the token: iat must be a number',
]);
explains('a token without iss', { claims: { iss: undefined } }, [
  'issuer none rejected: ISSUER is <issuer>',
  '401 invalid_token: the issuer must put iss into the token',
]);
explains('exp in milliseconds', { claims: { exp: Date.now() } }, [
  'expiry in …',
  '200: Token is accepted. It never expires: the issuer must write exp in seconds, not in milliseconds',
]);
explains('what looks like an ID token', { claims: { nonce: 'n', at_hash: 'h', c_hash: 'h', s_hash: 'h' } }, [
  '200: Token is accepted. It looks like an ID token, because it has nonce, at_hash, c_hash, s_hash: send an access token',
]);
explains('an ID token', { claims: { aud: 'my-client', nonce: 'n' } }, [
  'audience my-client rejected: AUDIENCE is https://api.example.test/',
  '401 invalid_token: It looks like an ID token, because it has nonce: send an access token',
]);
explains('an audience of every client of Keycloak, which is set nowhere', { claims: { aud: 'account' } }, [
  '401 invalid_token: the token is for the account console of Keycloak: add an Audience mapper for https://api.example.test/ to a client scope that the client has',
]);
const needsScope = { REQUIRE_SCOPE: 'true', SCOPE_CLAIM: 'scp,roles' };
explains('an ID token for this API', { claims: { nonce: 'n', scope: undefined }, settings: needsScope }, [
  'scope scp none, roles none rejected: read:messages is required, SCOPE_CLAIM is scp, roles',
  '403 insufficient_scope: the client must request the scope read:messages, and the issuer must grant it. It looks like an ID token, because it has nonce: send an access token',
]);
for (const settings of [{}, severalIssuers])
  explains(
    `a payload that is damaged, with ${'ISSUER' in settings ? 'several issuers' : 'one issuer'}`,
    () => ({ ...text(mintToken(issuer.url).replace(/(?<=\.)./, 'X')), settings }),
    [
      '401 invalid_token: the token was probably cut or changed: its payload is not JSON, or has no iss, aud, sub or exp',
    ],
  );
test.each<[name: string, claims: object, requirements: Requirements, status: number, row: string, end: string]>([
  [
    'without a scope',
    {},
    {},
    403,
    'scope scp none, roles none rejected: REQUIRE_SCOPE is true, SCOPE_CLAIM is scp, roles',
    '403 insufficient_scope: the client must request a scope of this API, and the issuer must grant it',
  ],
  [
    'without a scope, of which a route requires one',
    {},
    { scope: 'a' },
    403,
    'scope scp none, roles none rejected: a',
    'grant it',
  ],
  [
    'without a scope and a login',
    {},
    { acr: 'high' },
    403,
    'step-up acr none',
    'the user to the issuer to log in again',
  ],
  [
    'with another scope',
    { scp: 'b' },
    { scope: 'a' },
    200,
    'scope scp b, roles none rejected: a',
    'grant it. Routes that require only a token return 200',
  ],
  ['with a scope', { scp: 'b' }, {}, 200, 'scope scp b, roles none sufficient', '200: Token is accepted'],
])(
  'explainToken() and the guard agree on REQUIRE_SCOPE for a token %s',
  async (_name, claims, requirements, status, row, end) => {
    const options = optionsWith(needsScope);
    const token = mintToken(issuer.url, { claims: { scope: undefined, ...claims } });
    const result = await createGuard(options).check(new Request('http://a.test', { headers: bearer(token) }));
    expect(result instanceof Response ? result.status : 200).toBe(status);
    const { render, isAccepted } = await explainToken(token, options, { requirements, words: 'settings' });
    expect(isAccepted).toBe(status === 200);
    const printed = render().trimEnd().replace(/ +/g, ' ').split('\n');
    expect(printed).toContainEqual(expect.stringContaining(row));
    expect(printed.at(-1)).toEndWith(end);
  },
);
test('explainToken() says during an outage that REQUIRE_SCOPE would reject the token', async () => {
  const options = optionsWith({ ...needsScope, JWKS_URI: 'http://127.0.0.1:1/keys' });
  const explained = await explainToken(mintToken(issuer.url, { claims: { scope: undefined } }), options);
  expect(explained.checks.at(-1)?.words).toStartWith('not verified, would be rejected: requireScope is true, ');
  expect(explained).toMatchObject({ status: 503, advice: expect.stringContaining('the scope would be rejected: ') });
});
explains(
  'a token that a terminal has cut',
  () => text(mintToken(issuer.url, { claims: { a: 'x'.repeat(4000) } }).slice(0, 4095)),
  ['401 invalid_token: the terminal cut the token. Pipe it to standard input instead of pasting it'],
);
explains('a token of a stranger without a kid', { header: { kid: undefined }, settings: severalIssuers }, [
  'key none rejected: a kid is required',
  'issuer <issuer> not reached',
  '401 invalid_token: configure the issuer to put kid into the header',
]);

const active = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300 };
const opaqueBound = { ...active, cnf: { jkt: 'x' } };
const dpopOn = { DPOP: 'on', PUBLIC_URL: 'https://api.example.test' };
const elsewhereIssued = { ...active, iss: 'https://b.example.test' };
test.each<[response: object, verdict: string, end: string, settings?: Environment]>([
  [active, 'issuer <issuer> accepted', '200: Token is accepted. It grants no scope'],
  [{ active: false }, 'active false rejected', '401 invalid_token: the client must request a new token'],
  [{ ...active, aud: 'b' }, 'audience b rejected', '401 invalid_token: the token is for b: the client must'],
  [elsewhereIssued, 'issuer https://b.example.test rejected', '401 invalid_token: set issuer to https://b.'],
  [active, 'issuer none rejected', '401 invalid_token: introspect must respond with iss', severalIssuers],
  [opaqueBound, 'binding {"jkt":"x"} rejected', '401 invalid_token: a request also needs a proof', dpopOn],
])('explainToken() explains an opaque token by the response %j: %s', async (response, verdict, end, settings) => {
  const { render } = await explainToken('opaque', { ...optionsWith(settings), introspect: () => response });
  const printed = render().trimEnd().replace(/ +/g, ' ').replaceAll(issuer.url, '<issuer>').split('\n');
  expect(printed).toContainEqual(expect.stringContaining(verdict));
  expect(printed.at(-1)).toStartWith(end);
  expect(printed.join()).not.toMatch(/not reached.* (?:accepted|rejected)/);
});

const cyclic: Record<string, unknown> = { ...active };
cyclic.self = cyclic;
const unavailable = [503, 'introspection_unavailable'];
test.each<[name: string, introspect: () => unknown, want: readonly (string | number)[]]>([
  ['an active token', () => active, [200]],
  ['an inactive token', () => ({ active: false }), [401, 'token_inactive']],
  ['active as a text', () => ({ ...active, active: 'true' }), [401, 'token_inactive']],
  ['what is inherited', () => Object.create(active), [401, 'token_inactive']],
  ['a member that is undefined', () => ({ ...active, cnf: undefined, nbf: undefined }), [200]],
  ['a list', () => [active], unavailable],
  ['a text', () => JSON.stringify(active), unavailable],
  ['a Response', () => Response.json(active), unavailable],
  ['nothing', () => undefined, unavailable],
  ['null', () => null, unavailable],
  ['an Error', () => new Error('Unreachable'), unavailable],
  ['a Map', () => new Map(Object.entries(active)), unavailable],
  ['a Proxy', () => new Proxy(active, {}), unavailable],
  ['a function', () => ({ ...active, refresh() {} }), unavailable],
  ['a BigInt', () => ({ ...active, iat: 1n }), unavailable],
  ['a cycle', () => cyclic, unavailable],
  ['a rejection', () => Promise.reject(new Error('Unreachable')), unavailable],
])('check() and explainToken() agree about a token for which introspect returns %s', async (_, introspect, want) => {
  const reasons: string[] = [];
  const onRejected = (_request: object, reason: string) => reasons.push(reason);
  const options = { ...optionsWith(), introspect: introspect as () => object, onRejected };
  const result = await createGuard(options).check(new Request('http://a.test', { headers: bearer('opaque') }));
  expect([result instanceof Response ? result.status : 200, ...reasons]).toEqual([...want]);
  const { status, checks } = await explainToken('opaque', options);
  expect(status).toBe(Number(want[0]));
  if (status === 503) expect(checks[0]).toMatchObject({ name: 'active', verdict: 'rejected' });
});

/**
 * Reasons for which a guard never rejects what explainToken() sends: one token, and no proof. It calls no `isRevoked`.
 */
const neverMet =
  /^(?:scheme_|proof_(?!missing)|dpop_required|certificate_mismatch|token_revoked|revocation_|replay_|access_denied)/;
test('explainToken() has a check for each reason that it can meet', () => {
  const options = { ...optionsWith({ MAX_TOKEN_AGE_SECONDS: '1' }), issuer: [issuer.url] };
  const none = { issuer: undefined, lookup: undefined, lastFailure: undefined, keyFault: undefined, keyIds: [] };
  const explained = { ...none, text: '', header: {}, claims: {}, requirements: {} };
  const named = [true, false].flatMap((isIntrospected) =>
    describeChecks({ ...explained, options, isIntrospected, nowSeconds: 0, nameOf: (name) => name }).flatMap(
      ({ advice }) => Object.keys(advice),
    ),
  );
  const reasons = Object.keys(rejections).filter((reason) => !neverMet.test(reason));
  expect(reasons.filter((reason) => !named.includes(reason))).toEqual([]);
});

test('a reason that no check names is a row of its own', () => {
  const [row, ...others] = withVerdicts([check('format', 'x', '', {})], rejectFor('token_revoked'));
  expect(row).toEqual({ name: 'token_revoked', has: 'none', verdict: 'rejected', words: 'rejected: Token is revoked' });
  expect(others).toMatchObject([{ name: 'format', verdict: 'not reached' }]);
});
explains('a forged token', { key: rsaKey('stranger') }, [
  'signature by the key signing-key rejected: the signature matches no key with this kid',
  '401 invalid_token: the token was cut or changed, or another issuer signed it',
]);
explains('a token of an unknown key', { header: { kid: 'new' } }, [
  'key new rejected: ISSUER is <issuer>, and it publishes the keys signing-key',
  '401 invalid_token: <issuer> does not publish the key new: the issuer must, or another server has signed the token',
]);
explains('an algorithm that can be allowed', { header: { alg: 'ES256' } }, [
  'algorithm ES256 rejected: ALGORITHMS is RS256',
  '401 invalid_token: the token is signed with ES256: set ALGORITHMS to ES256 if the issuer signs with it. Then the token is accepted, if its signature is good',
]);
explains('an algorithm that can never be allowed', { header: { alg: 'HS256' } }, [
  'algorithm HS256 rejected: ALGORITHMS is RS256',
  '401 invalid_token: no setting accepts a token that is signed with HS256 and a shared key: configure the issuer to sign with RS256',
]);
explains('another type', { header: { typ: 'logout+jwt' } }, [
  'type logout+jwt rejected: TOKEN_TYPE is jwt',
  '401 invalid_token: the token has the type logout+jwt: the client must send an access token, not another kind of JWT such as an ID token',
]);
explains('a token without a type where access tokens have one', { settings: { TOKEN_TYPE: 'at+jwt' } }, [
  'type JWT rejected: TOKEN_TYPE is at+jwt',
  "ID token. If the issuer's access tokens have no typ, set TOKEN_TYPE to jwt…",
]);
explains(
  'another type where access tokens have one',
  { header: { typ: 'logout+jwt' }, settings: { TOKEN_TYPE: 'at+jwt' } },
  [
    'type logout+jwt rejected: TOKEN_TYPE is at+jwt',
    '401 invalid_token: the token has the type logout+jwt: the client must send an access token, not another kind of JWT such as an ID token',
  ],
);
explains('a critical header', { header: { crit: ['exp'], exp: 1 } }, [
  'type crit ["exp"] rejected: no token with crit is accepted',
  '401 invalid_token: …',
]);
explains('an opaque token', text('c2VjcmV0LXRva2Vu'), [
  'format 16 characters in 1 part rejected: a signed JWT has three parts of base64url and at most 16384 characters',
  'algorithm none not reached',
  'signature none not reached',
  '401 invalid_token: the token is no JWT: the client must request a token for https://api.example.test/ (the parameter …',
  '. Then the issuer sends a JWT…',
]);
explains('an encrypted token', text('a.b.c.d.e'), [
  'format 9 characters in 5 parts rejected: …',
  '401 invalid_token: the token is encrypted: configure the issuer to sign access tokens without encrypting them',
]);
const nested = Buffer.from(`{"iss":${'['.repeat(100_000)}${']'.repeat(100_000)}}`).toString('base64url');
explains('an oversized token', text(`eyJ.${nested}.x`), [
  ' characters in 3 parts rejected: a signed JWT has three parts of base64url and at most 16384 characters…',
  '401 invalid_token: the token is too long: configure the issuer to put fewer claims, such as groups, into it',
]);
const nothing = '400 invalid_request: nothing was pasted. Paste a token, or pipe one to standard input';
explains('nothing', text(''), ['format nothing rejected: a signed JWT has three parts…', nothing]);
explains('only a scheme', text('Authorization: Bearer'), [nothing]);
explains('other JSON', text('{"error":"invalid_client"}'), ['401 invalid_token: the JSON has no access_token']);
for (const word of ['bearer', 'DPoP', '-H'])
  explains(`the word ${word} as a token, as it is in a request`, text(word), [
    `format ${word.length} characters in 1 part rejected: …`,
    '401 invalid_token: the token is no JWT: the client must request a token for …',
  ]);
explains('several words', text('eyJ.eyJ.x and more'), ['400 invalid_request: paste one token and no other text']);
explains('Cyrillic', text('ключ\u001b[2J\n'), ['format 4 characters in 1 part rejected: …', '401 invalid_token: …']);

const realm = { roles: ['x'] };
const withScope = (scope: string, settings: Environment): Given => ({ claims: { scope, realm }, settings });
const elsewhere = '. Routes that require only a token return 200';
const scopeElsewhere = { SCOPE_CLAIM: 'scp,/realm/x', SCOPE_PREFIX: 'api:' };
explains('a scope in another claim', withScope('read:messages', scopeElsewhere), [
  'scope scp none, realm {"roles":["x"]} rejected: api:read:messages is required, SCOPE_CLAIM is scp, /realm/x, SCOPE_PREFIX is api:',
  `403 insufficient_scope: the client must request the scope api:read:messages, and the issuer must grant it${elsewhere}`,
]);
explains('a scope that clients request by another name', withScope('x', { SCOPE_REQUEST_PREFIX: 'api://a/' }), [
  'scope scope x rejected: read:messages is required, SCOPE_CLAIM is scope',
  `403 insufficient_scope: the client must request the scope api://a/read:messages, and the issuer must grant it${elsewhere}`,
]);
explains('a scope that grants another', withScope('admin', { SCOPE_IMPLIES: 'a=b,admin=c' }), [
  'scope scope admin rejected: read:messages is required, SCOPE_CLAIM is scope, SCOPE_IMPLIES is a=b, admin=c',
  `403 insufficient_scope: the client must request the scope read:messages, and the issuer must grant it${elsewhere}`,
]);
for (const [claim, claims] of Object.entries({
  scp: { scp: 'x read:messages' },
  '/realm/roles': { realm: { other: 1, roles: ['read:messages'] } },
  'https://a.example/roles': { 'https://a.example/roles': ['read:messages'] },
  '/a~1b/c~0d': { 'a/b': { 'c~d': 'read:messages' } },
}))
  explains(`a scope in the claim ${claim}`, { claims: { scope: undefined, ...claims } }, [
    'scope scope none rejected: read:messages is required, SCOPE_CLAIM is scope',
    `403 insufficient_scope: set SCOPE_CLAIM to ${claim}, the claim that has the scope${elsewhere}`,
  ]);
explains(
  'a user who lacks the role, whose client has the scope',
  { claims: { scope: 'read:messages', realm: { roles: [] } }, settings: { SCOPE_CLAIM: '/realm/roles' } },
  [
    'scope realm {"roles":[]} rejected: read:messages is required, SCOPE_CLAIM is /realm/roles',
    `403 insufficient_scope: the issuer must grant read:messages in /realm/roles. It is in scope: only if that claim decides, set SCOPE_CLAIM to it${elsewhere}`,
  ],
);
explains('a token without a required claim', { claims: { tid: 't' }, settings: { REQUIRED_CLAIMS: 'tid=t,org=o' } }, [
  'claims tid=t, org=none rejected: REQUIRED_CLAIMS is tid=t, org=o',
  '401 invalid_token: the token has tid=t, org=none, and REQUIRED_CLAIMS is tid=t, org=o: change that, or what the issuer adds',
]);

const boundTo = (cnf: object, settings: Environment = {}): Given => ({
  claims: { cnf },
  settings: { PUBLIC_URL: 'https://api.example.test', ...settings },
});
explains('a bound token as a plain one', boundTo({ jkt: 'x' }), [
  'binding {"jkt":"x"} rejected: DPOP is off',
  '401 invalid_token: set DPOP to on for clients that send proofs, or request a token that is not bound',
]);
explains('a bound token with DPoP', boundTo({ jkt: 'x' }, { DPOP: 'on' }), [
  'binding {"jkt":"x"} rejected: DPOP is on',
  '401 invalid_dpop_proof: a request also needs a proof in the header DPoP, signed with one of DPOP_ALGORITHMS (ES256, …',
  'EdDSA), of which you can paste the line too…',
]);
explains('a certificate-bound token without DPoP', boundTo({ 'x5t#S256': 'x' }), [
  'binding {"x5t#S256":"x"} rejected: DPOP is off, CLIENT_CERTIFICATE is not set',
  "401 invalid_token: set CLIENT_CERTIFICATE to the header in which a proxy sends the client's certificate, or …",
]);
const certHeader = { CLIENT_CERTIFICATE: 'Client-Cert' };
explains('a certificate-bound token with a header', boundTo({ 'x5t#S256': 'x' }, certHeader), [
  'binding {"x5t#S256":"x"} rejected: DPOP is off, CLIENT_CERTIFICATE is set',
  "401 invalid_token: a request also needs the client's certificate, which cannot be checked here",
]);
explains('a token that is bound to a key and a certificate', boundTo({ jkt: 'x', 'x5t#S256': 'x' }, { DPOP: 'on' }), [
  'binding {"jkt":"x","x5t#S256":"x"} rejected: DPOP is on, CLIENT_CERTIFICATE is not set',
  "401 invalid_token: set CLIENT_CERTIFICATE to the header in which a proxy sends the client's certificate",
]);
explains('a token that is bound in another way', boundTo({ kid: 'x' }, { DPOP: 'on' }), [
  'binding {"kid":"x"} rejected: DPOP is on',
  '401 invalid_token: request a token that is bound to a key (jkt), to a certificate (x5t#S256) or not at all',
]);
const required = { DPOP: 'required', PUBLIC_URL: 'https://api.example.test', REDIS_URL: 'redis://127.0.0.1:1' };
explains('a plain token where a proof is required', { settings: required }, [
  'binding none rejected: DPOP is required',
  '401 invalid_token: the token is not bound to a key: the client must request it with a proof. To accept tokens without a proof as well, set DPOP to on',
]);

explains('a key set that cannot be fetched', { settings: { JWKS_URI: 'http://127.0.0.1:1/keys?secret' } }, [
  'key signing-key rejected: http://127.0.0.1:1/keys cannot be reached: …',
  'signature by the key signing-key not verified',
  'issuer <issuer> not verified, would be accepted',
  'scope scope read:messages not verified, would be accepted',
  '503 temporarily_unavailable: try again later: the keys of <issuer> cannot be fetched now. If this lasts, check that http://127.0.0.1:1/keys can be reached from here',
]);
const withoutKeys = { JWKS_URI: 'http://127.0.0.1:1/keys' };
const outage =
  '503 temporarily_unavailable: try again later: the keys of <issuer> cannot be fetched now. If this lasts, check that http://127.0.0.1:1/keys can be reached from here. Not verified';
explains('another audience while keys cannot be fetched', { claims: { aud: 'other' }, settings: withoutKeys }, [
  'issuer <issuer> not verified, would be accepted',
  'audience other not verified, would be rejected: AUDIENCE is https://api.example.test/',
  'scope scope read:messages not reached',
  `${outage}: the audience would be rejected: the token is for other: …`,
]);
explains('an old token while keys cannot be fetched', { claims: { exp: 1 }, settings: withoutKeys }, [
  `${outage}: the expiry would be rejected: the token expired 20,…`,
]);
explains('a token without the scope while keys cannot be fetched', { claims: { scope: 'x' }, settings: withoutKeys }, [
  'scope scope x not verified, would be rejected: read:messages is required, SCOPE_CLAIM is scope',
  `${outage}: the scope would be rejected: the client must request the scope read:messages, and the issuer must grant it`,
]);
explains('escapes', { header: { kid: '\u001b]0;x\u0007\u202e\n' }, claims: { iss: '\u009b2J' } }, [
  'key \\u001b]0;x\\u0007\\u202e\\u000a rejected: ISSUER is <issuer>',
  'issuer \\u009b2J not reached',
  '401 invalid_token: …',
]);

const longIssuer = `https://tenant.example.test/${'realm/'.repeat(30)}`;
explains('a rejected value and the value that is wanted without cutting them', { claims: { iss: longIssuer } }, [
  `issuer ${longIssuer} rejected: ISSUER is <issuer>`,
  `401 invalid_token: set ISSUER to ${longIssuer} if you trust this issuer. Every character counts. Then the token is accepted, if its signature is good`,
]);

test.each([
  [
    'one slash too many',
    '',
    '/',
    '^rejected: http://\\S+/tenant/.well-known/jwks.json returned the status 404\\. Tried: ',
  ],
  [
    'no slash',
    '/',
    '',
    '^rejected: http://\\S+ names the issuer http://\\S+/tenant/, but ISSUER is \\S+/tenant\\. Tried: ',
  ],
])(
  'explainToken() names the issuer to set for %s, because the token is not wrong',
  async (_name, end, other, cause) => {
    await using server = await startIssuer();
    const [trusted, configured] = [`${server.url}tenant${end}`, `${server.url}tenant${other}`];
    const text = JSON.stringify({ issuer: trusted, jwks_uri: `${server.url}keys` });
    server.documents.set('/tenant/.well-known/jwks.json', { kind: 'response', status: 404 });
    if (other === '') server.documents.set('/tenant/.well-known/openid-configuration', { kind: 'response', text });
    const options = optionsWith({ ISSUER: configured });
    const { status, checks, advice } = await explainToken(mintToken(trusted), options, asService);
    expect(status).toBe(503);
    expect(checks.find(({ name }) => name === 'key')?.words).toMatch(new RegExp(cause));
    const slash = 'The slash at its end is the only difference';
    const then = 'Then the token is accepted, if its signature is good';
    expect(advice).toBe(`set ISSUER to ${trusted} if you trust this issuer. ${slash}. ${then}`);
  },
);
