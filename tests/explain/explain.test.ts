import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { explainToken } from '../../src/explain/explain.ts';
import { renderExplanation } from '../../src/explain/render.ts';
import { readSettings } from '../../src/settings.ts';
import { crowdedKeySet } from '../http/table/key-set.ts';
import { scopeRows } from '../http/table/scope.ts';
import { PRIVATE, tokenRows } from '../http/table/tokens.ts';
import { fixtureFor } from '../support/fixture.ts';
import type { Form } from '../support/forms.ts';
import { inProcessForm } from '../support/in-process.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { AUDIENCE, mintToken, nowSeconds, SIGNING_KID, type TokenOverrides } from '../support/mint.ts';

const OTHER = 'https://other.example.test/';

/** A token, and the lines that explain it: how each begins, and what it contains after that. */
interface Row {
  readonly name: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly token: string | TokenOverrides | (() => TokenOverrides);
  readonly lines: readonly RegExp[];
}

const rows: readonly Row[] = [
  {
    name: 'a valid token',
    token: () => ({ claims: { exp: nowSeconds() + 100 * 86_400 } }),
    lines: [
      /^format +\d+ characters in 3 parts +signed JWT$/,
      /^algorithm +RS256 +accepted$/,
      /^type +JWT +accepted$/,
      /^key +signing-key +found in the key set$/,
      /^signature +by the key signing-key +verified$/,
      /^issuer +http:\S+\/ +accepted$/,
      /^audience +https:\S+ +accepted$/,
      /^expiry +in 99 days +accepted$/,
      /^scope +scope read:messages +sufficient for \/api\/private-scoped$/,
      /^200: Token is accepted$/,
    ],
  },
  {
    name: 'a token for another audience',
    token: { claims: { aud: [OTHER, 'b'] } },
    lines: [
      /^issuer .* accepted$/,
      /^audience +\["https:\/\/other\.example\.test\/","b"\] +rejected: AUDIENCE is https:\/\/api\.example\.test\/$/,
      /^expiry +in 4 minutes +not reached$/,
      /^401 invalid_claims: the client must request a token for https:\/\/api\.example\.test\/ \(Auth0: the parameter audience\)$/,
    ],
  },
  {
    name: 'a token of another issuer',
    token: { claims: { iss: 'https://other.example.test' } },
    lines: [
      /^signature .* verified$/,
      /^issuer +https:\/\/other\.example\.test +rejected: ISSUER is http:/,
      /^audience .* not reached$/,
      /^401 invalid_claims: set ISSUER to https:\/\/other\.example\.test if you trust this issuer/,
    ],
  },
  {
    name: 'a token of none of several issuers, which is not checked with any key',
    // Nothing listens there, and no name is looked up.
    settings: { ISSUER: 'http://127.0.0.1:9/,http://127.0.0.1:9/b/' },
    token: {},
    lines: [
      /^issuer +http:\S+ +rejected: ISSUER is http:\/\/127\.0\.0\.1:9\/, http:\/\/127\.0\.0\.1:9\/b\/$/,
      /^key .* not reached$/,
      /^signature .* not reached$/,
      /^401 invalid_claims: /,
    ],
  },
  {
    name: 'an expired token',
    token: () => ({ claims: { exp: nowSeconds() - 7300 } }),
    lines: [
      /^audience .* accepted$/,
      /^expiry +2 hours ago +rejected: CLOCK_TOLERANCE_SECONDS is 0$/,
      /^401 token_expired: the client must request a new token$/,
    ],
  },
  {
    name: 'a token that is not valid yet',
    token: () => ({ claims: { nbf: nowSeconds() + 250 } }),
    lines: [/^expiry .* accepted$/, /^not before +in \d minutes +rejected: /, /^401 invalid_header: the clocks differ/],
  },
  {
    name: 'a token without exp',
    token: { claims: { exp: undefined } },
    lines: [/^expiry +none +rejected: /, /^401 invalid_header: Token claims are malformed$/],
  },
  {
    name: 'a forged token',
    token: { key: rsaKey('stranger') },
    lines: [
      /^key .* found in the key set$/,
      /^signature .* rejected: /,
      /^issuer .* not reached$/,
      /^401 invalid_header: /,
    ],
  },
  {
    name: 'a token of an unknown key',
    token: { header: { kid: 'other' } },
    lines: [
      /^key +other +rejected: ISSUER is http:/,
      /^signature .* not reached$/,
      /^401 invalid_header: http\S+ does not publish the key other\. Check ISSUER and JWKS_URI$/,
    ],
  },
  {
    name: 'an algorithm that can be allowed',
    token: { header: { alg: 'ES256' } },
    lines: [/^algorithm +ES256 +rejected: ALGORITHMS is RS256$/, /^401 invalid_header: set ALGORITHMS to ES256 if /],
  },
  {
    name: 'an algorithm that can never be allowed',
    token: { header: { alg: 'HS256' } },
    lines: [/^algorithm +HS256 +rejected: /, /^401 invalid_header: configure the issuer to sign with RS256$/],
  },
  {
    name: 'another type',
    token: { header: { typ: 'logout+jwt' } },
    lines: [/^type +logout\+jwt +rejected: TOKEN_TYPE /, /^401 invalid_header: the client must send an access token/],
  },
  {
    name: 'a token without a type where access tokens have one',
    settings: { TOKEN_TYPE: 'at+jwt' },
    token: { header: { typ: 'JWT' } },
    lines: [/^type +JWT +rejected: TOKEN_TYPE is at\+jwt$/, /^401 invalid_header: .* set TOKEN_TYPE to jwt$/],
  },
  {
    name: 'a critical header',
    token: { header: { crit: ['exp'], exp: 1 } },
    lines: [/^type +crit \["exp"\] +rejected: no token with crit is accepted$/, /^401 invalid_header: /],
  },
  {
    name: 'an opaque token',
    token: 'c2VjcmV0LXRva2Vu',
    lines: [
      /^format +16 characters in 1 parts +rejected: /,
      /^algorithm +none +not reached$/,
      /^401 invalid_header: the client must request a token for .*JWT$/,
    ],
  },
  {
    name: 'an encrypted token',
    token: 'a.b.c.d.e',
    lines: [/^format +9 characters in 5 parts +rejected: /, /^401 invalid_header: configure the issuer to sign/],
  },
  { name: 'nothing', token: '', lines: [/^format +0 characters .* rejected: /, /^401 invalid_header: /] },
  {
    name: 'characters that no header can have',
    token: 'ключ\u001b[2J\n',
    lines: [/^format +9 characters in 1 parts +rejected: /, /^401 invalid_header: /],
  },
  {
    name: 'a token without the scope, which is accepted where none is needed',
    settings: { SCOPE_CLAIM: 'scp,/realm/roles', SCOPE_PREFIX: 'api:' },
    token: { claims: { scope: 'read:messages', realm: { roles: ['x'] } } },
    lines: [
      /^scope +scp none, realm \{"roles":\["x"\]\} +403 at \/api\/private-scoped: SCOPE_CLAIM is scp, \/realm\/roles, SCOPE_PREFIX is api:$/,
      /^200: Token is accepted$/,
    ],
  },
  {
    name: 'a token whose scope grants another than the one that is needed',
    settings: { SCOPE_IMPLIES: 'a=b,admin=c' },
    token: { claims: { scope: 'admin' } },
    lines: [/^scope +scope admin .* SCOPE_IMPLIES is a=b, admin=c$/, /^200: Token is accepted$/],
  },
  {
    name: 'a token whose scope grants the one that is needed',
    settings: { SCOPE_IMPLIES: 'admin=read:messages' },
    token: { claims: { scope: 'admin' } },
    lines: [/^scope +scope admin +sufficient for \/api\/private-scoped$/, /^200: Token is accepted$/],
  },
  {
    name: 'a token without a required claim',
    settings: { REQUIRED_CLAIMS: 'tid=t,org=o' },
    token: { claims: { tid: 't' } },
    lines: [
      /^claims +tid=t, org=none +rejected: REQUIRED_CLAIMS is tid=t, org=o$/,
      /^401 invalid_claims: change REQUIRED_CLAIMS/,
    ],
  },
  {
    name: 'a bound token as a plain one',
    token: { claims: { cnf: { jkt: 'x' } } },
    lines: [
      /^expiry .* accepted$/,
      /^binding +\{"jkt":"x"\} +rejected: DPOP is off$/,
      /^401 invalid_header: set DPOP to on/,
    ],
  },
  {
    name: 'a bound token with DPoP',
    settings: { DPOP: 'on', PUBLIC_URL: 'https://api.example.test' },
    token: { claims: { cnf: { jkt: 'x' } } },
    lines: [
      /^binding .* rejected: DPOP is on$/,
      /^401 invalid_header: a request also needs a proof .* DPOP_ALGORITHMS \(ES256, .*EdDSA\), which cannot be checked here$/,
    ],
  },
  ...['off', 'on'].map(
    (DPOP): Row => ({
      name: `a token that is bound to a certificate, with DPOP=${DPOP}`,
      settings: { DPOP, PUBLIC_URL: 'https://api.example.test' },
      token: { claims: { cnf: { 'x5t#S256': 'x' } } },
      lines: [
        new RegExp(`^binding .* rejected: DPOP is ${DPOP}, CLIENT_CERT_HEADER is not set$`),
        /^401 invalid_header: set CLIENT_CERT_HEADER to /,
      ],
    }),
  ),
  {
    name: 'a token that is bound to a certificate, whose header is set',
    settings: { CLIENT_CERT_HEADER: 'Client-Cert' },
    token: { claims: { cnf: { 'x5t#S256': 'x' } } },
    lines: [
      /^binding .* rejected: DPOP is off, CLIENT_CERT_HEADER is Client-Cert$/,
      /^401 invalid_header: a request also needs the certificate of the client in the header Client-Cert/,
    ],
  },
  {
    name: 'a token that is bound to a key and a certificate',
    settings: { DPOP: 'on', PUBLIC_URL: 'https://api.example.test' },
    token: { claims: { cnf: { jkt: 'x', 'x5t#S256': 'x' } } },
    lines: [/^binding .* rejected: /, /^401 invalid_header: set CLIENT_CERT_HEADER to /],
  },
  {
    name: 'a token that is bound in another way',
    settings: { DPOP: 'on', PUBLIC_URL: 'https://api.example.test' },
    token: { claims: { cnf: { kid: 'x' } } },
    lines: [/^binding .* rejected: DPOP is on$/, /^401 invalid_header: request a token that is bound to a key/],
  },
  {
    name: 'a plain token where a proof is required',
    settings: { DPOP: 'required', PUBLIC_URL: 'https://api.example.test', REDIS_URL: 'redis://127.0.0.1:1' },
    token: {},
    lines: [
      /^expiry .* accepted$/,
      /^binding +none +rejected: DPOP is required$/,
      /^401 invalid_header: set DPOP to on/,
    ],
  },
  {
    name: 'a key set that cannot be fetched',
    settings: { JWKS_URI: 'http://127.0.0.1:1/keys?secret' },
    token: {},
    lines: [
      /^key +signing-key +rejected: JWKS_URI is set, failure network/,
      /^503 key_set_unavailable: the keys of http\S+ cannot be fetched\. Check ISSUER and JWKS_URI$/,
    ],
  },
  {
    name: 'a token that would write on the terminal',
    token: { header: { kid: '\u001b]0;x\u0007\u202e\n' }, claims: { iss: '\u009b2J' } },
    lines: [
      /^key +\\u001b\]0;x\\u0007\\u202e\\n +rejected: /,
      /^issuer +\\u009b2J +not reached$/,
      /^401 invalid_header: /,
    ],
  },
];

describe('explainToken()', () => {
  let issuer: Issuer;
  beforeAll(async () => {
    issuer = await startIssuer([publish(rsaKey(SIGNING_KID), SIGNING_KID)]);
  });
  afterAll(() => issuer.close());

  for (const { name, settings = {}, token, lines } of rows) {
    test(`explains ${name}`, async () => {
      const overrides = typeof token === 'function' ? token() : token;
      const text = typeof overrides === 'string' ? overrides : mintToken(issuer.url, overrides);
      const read = readSettings({ ISSUER: issuer.url, AUDIENCE, ...settings }, false);
      const explanation = renderExplanation(await explainToken(text, { settings: read }), false);
      const printed = explanation.trimEnd().split('\n');
      const found = lines.map((line) => printed.find((candidate) => line.test(candidate)) ?? `nothing like ${line}`);
      expect(found, explanation).toEqual(printed.filter((candidate) => lines.some((line) => line.test(candidate))));
      expect(printed.filter((line) => /rejected: /.test(line)).length).toBeLessThanOrEqual(1);
      expect(printed.at(-1)).toMatch(lines.at(-1) ?? /./);
      // Neither the token nor the secrets of settings, and nothing that a terminal interprets.
      if (text.length > 20) expect(explanation).not.toContain(text.slice(-20));
      expect(explanation).not.toContain('secret');
      expect(explanation).toMatch(/^[\n\x20-\x7e…]*$/);
    });
  }

  test('has colours for a terminal only', async () => {
    const settings = readSettings({ ISSUER: issuer.url, AUDIENCE }, false);
    const explanation = await explainToken(mintToken(issuer.url), { settings });
    expect(renderExplanation(explanation, true)).toContain('\u001b[32mverified\u001b[0m');
    expect(renderExplanation(explanation, false)).not.toContain('\u001b');
  });
});

/** Explains the token of each request as well, and compares the answers. */
const explainedForm: Form = {
  ...inProcessForm,
  async start(environment) {
    const service = await inProcessForm.start(environment);
    const settings = readSettings(environment, false);
    return {
      ...service,
      async fetch(path, init) {
        const response = await service.fetch(path, init);
        const [scheme, token] = (new Headers(init?.headers).get('authorization') ?? '').split(' ');
        if (path !== PRIVATE || scheme !== 'Bearer' || token === undefined || response.body === null) return response;
        const { status, code } = await explainToken(token, { settings });
        const answer = (await response.clone().json()) as { readonly code?: string };
        expect({ status, code }).toEqual({ status: response.status, code: answer.code });
        return response;
      },
    };
  },
};

describe('explainToken() agrees with the service about', () => {
  const fixture = fixtureFor(explainedForm, { keys: crowdedKeySet });
  tokenRows(fixture);
  scopeRows(fixture);
});
