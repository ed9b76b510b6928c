import { afterAll, beforeAll, expect, test } from 'bun:test';
import { explainToken } from '../../src/explain/explain.ts';
import { renderExplanation } from '../../src/explain/render.ts';
import { readSettings } from '../../src/settings.ts';
import { acceptedTokens, tokenFaults, tokenTextOf } from '../http/table/token-faults.ts';
import { codeOf } from '../http/table/tokens.ts';
import type { Environment } from '../support/child-process.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, type TokenOverrides } from '../support/mint.ts';

let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
});
afterAll(() => issuer.close());

function settingsWith(environment: Environment = {}) {
  const settings = readSettings({ ISSUER: issuer.url, AUDIENCE, ...environment }, false);
  return { settings, options: settings.optionsAt(0) };
}

/** A token, and settings of the service that explains it. */
interface Given extends TokenOverrides {
  readonly settings?: Environment;
}

/** Expects these lines, the last of which is the answer. `…` stands for the rest of a line. */
function explains(name: string, given: Given | (() => Given), lines: readonly string[]): void {
  test(`explainToken() explains ${name}`, async () => {
    const { settings, ...overrides } = typeof given === 'function' ? given() : given;
    const token = mintToken(issuer.url, overrides);
    const explanation = await explainToken(token, settingsWith(settings));
    const output = renderExplanation(explanation, false);
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
  'scope scope read:messages sufficient for /api/private-scoped',
  '200: Token is accepted',
]);
explains('a token for another audience', { claims: { aud: ['https://other.example.test/', 'b'] } }, [
  'audience ["https://other.example.test/","b"] rejected: AUDIENCE is https://api.example.test/',
  '401 invalid_claims: the client must request a token for https://api.example.test/ (Auth0: the parameter audience)',
]);
explains('a token of another issuer', { claims: { iss: 'https://other.example.test' } }, [
  'signature by the key signing-key verified',
  'issuer https://other.example.test rejected: ISSUER is <issuer>',
  '401 invalid_claims: set ISSUER to https://other.example.test if you trust this issuer. Every character counts',
]);
// Nothing listens there, and no name is looked up.
const severalIssuers = { ISSUER: 'http://127.0.0.1:9/,http://127.0.0.1:9/b/' };
explains('a token of none of several issuers, which is not checked with any key', { settings: severalIssuers }, [
  'issuer <issuer> rejected: ISSUER is http://127.0.0.1:9/, http://127.0.0.1:9/b/',
  'key signing-key not reached',
  'signature by the key signing-key not reached',
  '401 invalid_claims: set ISSUER to <issuer> if …',
]);
explains('an expired token', withTime('exp', -7300), [
  'expiry 2 hours ago rejected: CLOCK_TOLERANCE_SECONDS is 0',
  '401 token_expired: the client must request a new token',
]);
explains('a token that is not valid yet', withTime('nbf', 299), [
  'not before in 4 minutes rejected: CLOCK_TOLERANCE_SECONDS is 0',
  '401 invalid_header: the clocks differ. CLOCK_TOLERANCE_SECONDS can be up to 300',
]);
explains('a token without exp', { claims: { exp: undefined } }, [
  'expiry none rejected: CLOCK_TOLERANCE_SECONDS is 0',
  '401 invalid_header: Token claims are malformed',
]);
explains('a forged token', { key: rsaKey('stranger') }, [
  'signature by the key signing-key rejected: no key with this kid has signed the token',
  '401 invalid_header: the token was changed, or another issuer has signed it. Check ISSUER and JWKS_URI',
]);
explains('a token of an unknown key', { header: { kid: 'new' } }, [
  'key new rejected: ISSUER is <issuer>',
  '401 invalid_header: <issuer> does not publish the key new. Check ISSUER and JWKS_URI',
]);
explains('an algorithm that can be allowed', { header: { alg: 'ES256' } }, [
  'algorithm ES256 rejected: ALGORITHMS is RS256',
  '401 invalid_header: set ALGORITHMS to ES256 if the issuer signs with it',
]);
explains('an algorithm that can never be allowed', { header: { alg: 'HS256' } }, [
  'algorithm HS256 rejected: ALGORITHMS is RS256',
  '401 invalid_header: configure the issuer to sign with RS256',
]);
explains('another type', { header: { typ: 'logout+jwt' } }, [
  'type logout+jwt rejected: TOKEN_TYPE is jwt',
  '401 invalid_header: the client must send an access token, not another kind of JWT such as an ID token',
]);
explains('a token without a type where access tokens have one', { settings: { TOKEN_TYPE: 'at+jwt' } }, [
  'type JWT rejected: TOKEN_TYPE is at+jwt',
  'ID token. If the issuer gives its access tokens no typ, set TOKEN_TYPE to jwt…',
]);
explains('a critical header', { header: { crit: ['exp'], exp: 1 } }, [
  'type crit ["exp"] rejected: no token with crit is accepted',
  '401 invalid_header: …',
]);
explains('an opaque token', text('c2VjcmV0LXRva2Vu'), [
  'format 16 characters in 1 parts rejected: a signed JWT has three parts of base64url and at most 8192 characters',
  'algorithm none not reached',
  '401 invalid_header: the client must request a token for https://api.example.test/ (Auth0: the parameter audience)…',
  '. Then the issuer sends a JWT…',
]);
explains('an encrypted token', text('a.b.c.d.e'), [
  'format 9 characters in 5 parts rejected: …',
  '401 invalid_header: configure the issuer to sign access tokens without encrypting them',
]);
explains('nothing', text(''), ['format 0 characters in 1 parts rejected: …', '401 invalid_header: …']);
explains('characters that no header can have', text('ключ\u001b[2J\n'), [
  'format 9 characters in 1 parts rejected: …',
  '401 invalid_header: …',
]);

const withScope = (scope: string, settings: Environment): Given => ({
  claims: { scope, realm: { roles: ['x'] } },
  settings,
});
explains(
  'a token without the scope, which is accepted where none is needed',
  withScope('read:messages', { SCOPE_CLAIM: 'scp,/realm/roles', SCOPE_PREFIX: 'api:' }),
  [
    'scope scp none, realm {"roles":["x"]} 403 at /api/private-scoped: SCOPE_CLAIM is scp, /realm/roles, SCOPE_PREFIX is api:',
    '200: Token is accepted',
  ],
);
explains(
  'a scope that grants another than the one that is needed',
  withScope('admin', { SCOPE_IMPLIES: 'a=b,admin=c' }),
  [
    'scope scope admin 403 at /api/private-scoped: SCOPE_CLAIM is scope, SCOPE_IMPLIES is a=b, admin=c',
    '200: Token is accepted',
  ],
);
explains('a token without a required claim', { claims: { tid: 't' }, settings: { REQUIRED_CLAIMS: 'tid=t,org=o' } }, [
  'claims tid=t, org=none rejected: REQUIRED_CLAIMS is tid=t, org=o',
  '401 invalid_claims: change REQUIRED_CLAIMS, or the claims that the issuer adds',
]);

const boundTo = (cnf: object, settings: Environment = {}): Given => ({
  claims: { cnf },
  settings: { PUBLIC_URL: 'https://api.example.test', ...settings },
});
explains('a bound token as a plain one', boundTo({ jkt: 'x' }), [
  'binding {"jkt":"x"} rejected: DPOP is off',
  '401 invalid_header: set DPOP to on for clients that send proofs, or request a token that is not bound',
]);
explains('a bound token with DPoP', boundTo({ jkt: 'x' }, { DPOP: 'on' }), [
  'binding {"jkt":"x"} rejected: DPOP is on',
  '401 invalid_header: a request also needs a proof in the header DPoP, signed with one of DPOP_ALGORITHMS (ES256, …',
  'EdDSA), which cannot be checked here…',
]);
explains('a certificate-bound token without DPoP', boundTo({ 'x5t#S256': 'x' }), [
  'binding {"x5t#S256":"x"} rejected: DPOP is off, CLIENT_CERT_HEADER is not set',
  '401 invalid_header: set CLIENT_CERT_HEADER to the header in which a proxy sends the certificate of the client, or …',
]);
explains(
  'a certificate-bound token with a header',
  boundTo({ 'x5t#S256': 'x' }, { CLIENT_CERT_HEADER: 'Client-Cert' }),
  [
    'binding {"x5t#S256":"x"} rejected: DPOP is off, CLIENT_CERT_HEADER is set',
    '401 invalid_header: a request also needs the certificate of the client in CLIENT_CERT_HEADER, which cannot be checked here',
  ],
);
explains('a token that is bound to a key and a certificate', boundTo({ jkt: 'x', 'x5t#S256': 'x' }, { DPOP: 'on' }), [
  'binding {"jkt":"x","x5t#S256":"x"} rejected: DPOP is on, CLIENT_CERT_HEADER is not set',
  '401 invalid_header: set CLIENT_CERT_HEADER to the header in which a proxy sends the certificate of the client',
]);
explains('a token that is bound in another way', boundTo({ kid: 'x' }, { DPOP: 'on' }), [
  'binding {"kid":"x"} rejected: DPOP is on',
  '401 invalid_header: request a token that is bound to a key (jkt), to a certificate (x5t#S256) or not at all',
]);
const required = { DPOP: 'required', PUBLIC_URL: 'https://api.example.test', REDIS_URL: 'redis://127.0.0.1:1' };
explains('a plain token where a proof is required', { settings: required }, [
  'binding none rejected: DPOP is required',
  '401 invalid_header: set DPOP to on to accept tokens without a proof as well',
]);

explains('a key set that cannot be fetched', { settings: { JWKS_URI: 'http://127.0.0.1:1/keys?secret' } }, [
  'key signing-key rejected: JWKS_URI is set, failure network…',
  '503 key_set_unavailable: the keys of <issuer> cannot be fetched. Check ISSUER and JWKS_URI',
]);
explains('escapes', { header: { kid: '\u001b]0;x\u0007\u202e\n' }, claims: { iss: '\u009b2J' } }, [
  'key \\u001b]0;x\\u0007\\u202e\\n rejected: ISSUER is <issuer>',
  'issuer \\u009b2J not reached',
  '401 invalid_header: …',
]);

test('explainToken() names both addresses when ISSUER lacks a slash, which is no fault of the token', async () => {
  const metadata = { issuer: issuer.url, jwks_uri: `${issuer.url}keys` };
  issuer.documents.set('/.well-known/openid-configuration', { kind: 'answer', text: JSON.stringify(metadata) });
  const given = settingsWith({ ISSUER: issuer.url.slice(0, -1) });
  const { status, checks } = await explainToken(mintToken(issuer.url), given);
  expect(status).toBe(503);
  const words = `ISSUER is ${given.options.issuer[0]}, failure issuer_mismatch, .*found ${issuer.url}`;
  expect(checks.find(({ name }) => name === 'key')?.words).toMatch(new RegExp(words));
});

test('renderExplanation() has colours for a terminal only', async () => {
  const explanation = await explainToken(mintToken(issuer.url), settingsWith());
  expect(renderExplanation(explanation, true)).toContain('\u001b[32mverified\u001b[0m');
  expect(renderExplanation(explanation, false)).not.toContain('\u001b');
});

/** The HTTP table holds what the service answers. One token a reason is enough here: the service itself judges it. */
const answers = [
  ...acceptedTokens.map(([name, token]) => ({ name, token, answer: { status: 200, code: undefined } })),
  ...new Map(tokenFaults.map((fault) => [fault.reason, fault])).values().map((fault) => ({
    ...fault,
    answer: { status: 401, code: codeOf(fault) },
  })),
];
test.each(answers)('explainToken() has the answer of the service to $name', async ({ token, answer }) => {
  const explanation = await explainToken(tokenTextOf(token, issuer.url), settingsWith());
  expect(explanation).toMatchObject(answer);
});
