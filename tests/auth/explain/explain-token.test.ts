import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { Algorithm, GuardOptions, Requirements } from '../../../src/auth/index.ts';
import type { Members } from '../../../src/auth/values/json.ts';
import { ISSUER, offline, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, nowSeconds, SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';

afterEach(() => void setSystemTime());

const wrapped = (token: string) => token.replace(/.{60}/g, '$&\n');
test.each<[name: string, paste: (token: string) => string]>([
  ['white space around it', (token) => ` ${token}\n`],
  ['the line breaks of a terminal', wrapped],
  ['its scheme', (token) => `bearer ${token}`],
  ['the whole header', (token) => `authorization:DPoP  ${wrapped(token)}`],
  ['the header of a curl command', (token) => `-H 'Authorization: Bearer ${token}'`],
  ['the header that curl -v prints', (token) => `> Authorization: Bearer ${token}`],
  ['the response of an endpoint', (token) => JSON.stringify({ token_type: 'Bearer', access_token: token }, null, 2)],
  ['a response with escapes', (token) => `{"scope":"a\\/b","access_token":"${token.replace('.', '\\u002e')}"}`],
  ['a response with its headers', (token) => `HTTP/2 200\n\n${JSON.stringify({ access_token: token })}\n`],
  ['that response with the line breaks of a terminal', (token) => wrapped(JSON.stringify({ access_token: token }))],
  ['coloured output', (token) => `\u001b[0;32m${token}\u001b[39m\n`],
  ['a file in UTF-16 that was read as UTF-8', (token) => `\ufffd\ufffd${token.replace(/./g, '$&\0')}\r\0\n\0`],
  ['the output that zsh shows', (token) => `${wrapped(token)}%\n`],
  [
    'a curl command',
    (token) => `curl https://a.test/ \\\n  -H 'accept: */*' \\\n  -H 'authorization: Bearer ${token}' -v`,
  ],
  ['a request', (token) => `GET / HTTP/1.1\r\nAuthorization: Bearer ${wrapped(token)}\r\nAccept: */*\r\n`],
])('explainToken() finds the token in %s', async (_name, paste) => {
  expect((await explainToken(paste(tokenOf()), offline())).status).toBe(200);
});

const [opaque, idToken] = ['c2VjcmV0LXRva2Vu', tokenOf({ claims: { aud: 'client', nonce: 'n' } })];
const elsewhere = 'Only the token in the text was read: send it as Authorization: Bearer TOKEN';
const notForApis = 'an ID token or a refresh token is not for an API: send an access token';
const noToken = 'paste one token and no other text';
const saml = '<saml2:Assertion Version="2.0"></saml2:Assertion>';
const noSaml = 'a SAML assertion is not an access token: request one from the issuer';
const encrypted = (header: object) => `${Buffer.from(JSON.stringify(header)).toString('base64url')}.a.b.c.d`;
const jwe = { alg: 'RSA-OAEP', enc: 'A256GCM' };
test.each<[name: string, text: string, status: number, advice: string]>([
  ['a cookie', `Cookie: theme=dark; token=${tokenOf()}; a=b`, 200, elsewhere],
  ['a cookie with %20', `Cookie: token=Bearer%20${tokenOf()}`, 200, elsewhere],
  ['a URL', `https://a.test/#id_token=${idToken}&access_token=${tokenOf()}&state=x`, 200, elsewhere],
  ['a URL in a URL', `https://a.test/?to=${encodeURIComponent(`/#access_token=${tokenOf()}&a=b`)}`, 200, elsewhere],
  ['JSON in a cookie', `a=${encodeURIComponent(JSON.stringify({ access_token: tokenOf() }))}; b=c`, 200, elsewhere],
  ['a signed cookie of Express', `access_token=${encodeURIComponent(`s:${tokenOf()}.a+b`)}`, 200, elsewhere],
  ['a URL with an opaque token', `https://a.test/#access_token=${opaque}&state=x`, 401, elsewhere],
  ['a variable', `export TOKEN=${tokenOf()}`, 200, elsewhere],
  ['a command and its output', `$ echo $TOKEN\n${tokenOf()}\n$ `, 200, elsewhere],
  ['a header in two lines', `Authorization\nBearer ${tokenOf()}`, 200, elsewhere],
  ['JSON with another name', JSON.stringify({ accessToken: tokenOf() }), 200, elsewhere],
  ['the result of a library', JSON.stringify({ idToken, accessToken: tokenOf() }), 200, elsewhere],
  ['an object of Python', `{'id_token': '${idToken}', 'access_token': '${tokenOf()}'}`, 200, elsewhere],
  ['a string of JSON', JSON.stringify(JSON.stringify({ id_token: idToken, access_token: tokenOf() })), 200, elsewhere],
  [
    'a record of requests',
    JSON.stringify([{ text: JSON.stringify({ id_token: idToken }) }, { name: 'x', value: `Bearer ${tokenOf()}` }]),
    200,
    elsewhere,
  ],
  ['typographic quotes', `“${tokenOf()}”`, 200, elsewhere],
  ['two schemes', `Bearer Bearer ${tokenOf()}`, 400, 'the client sent the word Bearer twice: remove one'],
  ['a header with more', `Authorization: Bearer ${tokenOf()} and more`, 400, noToken],
  ...['basic', 'Token', 'Digest'].map((scheme): [string, string, number, string] => [
    scheme,
    `Authorization: ${scheme} dXNlcjpwYXNz`,
    401,
    'must start with Bearer',
  ]),
  ['Basic in a curl command', `curl -H 'Authorization: Basic dXNlcjpwYXNz' a.test`, 401, 'must start with Bearer'],
  ['a space in a token', tokenOf().replace(/.{30}$/, ' $&'), 400, noToken],
  ['%20 in a token', tokenOf().replace(/.{30}$/, '%20$&'), 401, 'the token was cut or changed'],
  ['an encrypted token that was cut', encrypted(jwe).slice(0, -4), 401, 'cut: an encrypted token has 5 parts'],
  ['two tokens', `${tokenOf()}\n${idToken}`, 401, 'these are two tokens: paste one'],
  ['a response without an access token', JSON.stringify({ id_token: idToken }), 401, notForApis],
  ['a URL with an ID token', `https://a.test/#id_token=${idToken}`, 401, notForApis],
  ['a response with a refresh token alone', JSON.stringify({ refresh_token: idToken }), 401, notForApis],
  ['a URL with a refresh token', `https://a.test/#refresh_token=${idToken}`, 401, notForApis],
  ['a URL without a token', 'https://app.example.test/?code=a', 401, noToken],
  ['a cookie without a token', 'Cookie: connect.sid=s%3Aa.b', 400, noToken],
  ['a challenge', 'WWW-Authenticate: Bearer error="invalid_token"', 400, noToken],
  ['claims', '{ "iss": "https://a.test/" }', 400, 'the JSON has no access_token'],
  ['an assertion', saml, 400, noSaml],
  ['an assertion in base64', btoa(saml), 401, noSaml],
  ['a long assertion in base64', btoa(saml.repeat(200)), 401, noSaml],
  ['an encrypted token', encrypted(jwe), 401, 'configure the issuer to sign access tokens without encrypting them'],
  ['one of Auth0', encrypted({ ...jwe, alg: 'dir' }), 401, 'audience). Otherwise Auth0 encrypts the token'],
])('explainToken() says of %s what it is, with settings and without', async (_name, text, status, advice) => {
  const [set, unset] = [await explainToken(text, offline()), await explainToken(text, {})];
  expect(set).toMatchObject({ status, advice: expect.stringContaining(advice) });
  expect(unset.advice).toContain(advice);
  expect(unset.status).toBe(status === 200 ? undefined : status);
});

test('explainToken() explains the requirements of an application, by the names of options', async () => {
  const claims = { acr: 'low', auth_time: nowSeconds() - 60 };
  const explain = (requirements: Requirements) => explainToken(tokenOf({ claims }), offline(), { requirements });
  const [has, words] = ['acr low, auth_time 1 minute ago', 'rejected: acr is high or top, maxAge is 30'];
  expect(await explain({ acr: ['high', 'top'], maxAge: 30 })).toMatchObject({
    status: 401,
    isAccepted: true,
    checks: expect.arrayContaining([{ name: 'step-up', has, verdict: 'rejected', words }]),
  });
  expect((await explain({ acr: 'low', scope: { anyOf: ['a', 'b'] } })).render()).toMatch(
    /step-up .* sufficient\nscope .*rejected: a or b is required, scopeClaim is scope\n403 insufficient_scope: the client must request the scope a or b, /,
  );
});

test('explainToken() calls no function of the application, and renders colours for a terminal on demand', async () => {
  const calls: string[] = [];
  const fail = () => {
    throw new Error(`Called ${calls.push('')}`);
  };
  const callbacks = { isRevoked: fail, onAccepted: fail, onRejected: fail, onKeySetEvent: fail };
  const options = { ...offline(), ...callbacks, replayStore: { markUsed: fail }, clientCertificate: fail };
  const explanation = await explainToken(tokenOf(), options);
  expect(explanation.render(true)).toContain('\u001b[32mverified\u001b[0m');
  expect(explanation.render()).not.toContain('\u001b');
  expect(await explainToken('x', options)).toMatchObject({ status: 401, isAccepted: false });
  const cnf = { 'x5t#S256': 'x' };
  expect(await explainToken(tokenOf({ claims: { cnf } }), options)).toMatchObject({ status: 401, isAccepted: false });
  expect(calls).toEqual([]);
});

test('explainToken() rejects an option that is not valid', async () =>
  await expect(explainToken('x', { issuer: 'x', audience: 'y' })).rejects.toThrow(
    /^Cannot create a guard:\n {2}issuer/,
  ));

test('explainToken() explains a token with the options of its own issuer', async () => {
  const { keys, issuer, audience } = offline();
  const own = { issuer, keys, audience: 'own', requiredClaims: { azp: 'a' } };
  const options = { audience, issuer: [own, 'https://other.example.test/'] };
  const explain = async (claims: Readonly<Record<string, string>>) =>
    (await explainToken(tokenOf({ claims }), options)).render();
  expect(await explain({})).toContain('rejected: audience is own\n');
  expect(await explain({ aud: 'own' })).toContain('rejected: requiredClaims is azp=a\n');
  expect(await explain({ aud: 'own', azp: 'a' })).toContain('200: Token is accepted');
});

test('explainToken() explains an opaque token without iss by the own options of the sole issuer, and of the one with introspect', async () => {
  const own = { issuer: ISSUER, audience: 'own', scopeClaim: ['roles'] };
  // What is left of a lifetime is compared.
  setSystemTime(new Date());
  const explain = async (aud: string) => {
    const introspect = () => ({ active: true, exp: nowSeconds() + 60, aud, roles: ['a'], scope: 'b' });
    const options = [
      { issuer: [own], audience: AUDIENCE, introspect },
      { issuer: [{ ...own, introspect }, 'https://other.example.test/'], audience: AUDIENCE },
    ];
    const explain = (each: GuardOptions) => explainToken('opaque', each, { requirements: { scope: 'b' } });
    const [text, ...others] = (await Promise.all(options.map(explain))).map((each) => each.render());
    expect(others).toEqual([text as string]);
    return text?.replace(/ +/g, ' ');
  };
  expect(await explain('other')).toContain('audience other rejected: audience is own\n');
  expect(await explain('other')).toContain(
    '401 invalid_token: the token is for other: the client must request a token for own (',
  );
  expect(await explain('own')).toContain('scope roles ["a"] rejected: b is required, scopeClaim is roles\n');
});

const uuid = '6e74172b-be56-4843-9ff4-e66a39bb12e3';
const user = { aud: uuid, scope: undefined, roles: ['orders'] };
const ofCognito = { aud: undefined, cid: 'c', scope: 'api/a api/b' };
const common = 'https://login.microsoftonline.com/common/v2.0';
const graph = 'https://graph.microsoft.com';
test.each<[name: string, claims: Members, options: object, warning: string]>([
  ['a plain token', {}, { issuer: ISSUER, audience: AUDIENCE }, ''],
  ['an ID for an audience', user, { audience: uuid, scopeClaim: ['roles'], requireScope: true }, ''],
  ['a job of a CI system', { aud: uuid, sub: 's', scope: undefined }, { requiredClaims: { sub: 's' } }, 'ID token'],
  [
    'a workload, which chooses the audience',
    { sub: 'spiffe://example.org/a', scope: undefined },
    { audience: AUDIENCE, requiredClaims: { sub: 'spiffe://example.org/a' } },
    'Only tokens with this sub',
  ],
  [
    'a service account',
    { sub: 'system:serviceaccount:default:a', scope: undefined },
    { requiredClaims: { sub: 'system:serviceaccount:default:a' } },
    'Only tokens with this sub',
  ],
  [
    'a workflow of GitHub',
    { sub: 'repo:o/r:ref:refs/heads/main', repository_id: '1', ref: 'refs/heads/main', scope: undefined },
    { requiredClaims: { repository_id: '1', ref: 'refs/heads/main' } },
    'Only tokens with this repository_id, ref are accepted',
  ],
  [
    'a job of GitLab',
    { sub: 'project_path:g/p:ref_type:branch:ref:main', project_id: '1', pipeline_source: 'push', scope: undefined },
    { requiredClaims: { project_id: '1', pipeline_source: 'push' } },
    'Only tokens with this project_id, pipeline_source are accepted',
  ],
  ['an ID token of a client', { aud: 'a', azp: 'a', scope: '', nonce: 'n' }, { requireScope: true }, 'ID token'],
  ['everybody at AWS', { aud: 'sts.amazonaws.com' }, {}, 'The audience is that of AWS'],
  [
    'everybody at Google',
    { aud: '32555940559.apps.googleusercontent.com' },
    {},
    'The audience is that of every user of gcloud',
  ],
  ['AD FS itself', { aud: 'urn:microsoft:userinfo' }, {}, 'that of the userinfo endpoint of the issuer'],
  ['everybody at Azure', { aud: 'api://AzureADTokenExchange' }, {}, 'The audience is that of Azure'],
  ['the owner at GitHub', { aud: 'https://github.com/octo-org' }, {}, 'that of every workflow of an owner at GitHub'],
  ['every client of Okta', { aud: 'api://default' }, {}, 'The audience is that of every client of the issuer'],
  [
    'the API server',
    { aud: 'https://kubernetes.default.svc.cluster.local' },
    {},
    'that of the API server of Kubernetes',
  ],
  ['Okta itself', { iss: 'https://acme.okta.com' }, { issuer: undefined }, 'issues tokens for Okta alone'],
  ['several', { aud: ['a', `${ISSUER}userinfo`, 'b', 'c'], azp: 'c' }, { audience: ['a', 'b'] }, 'Keep'],
  [
    'a client, and a prefix',
    ofCognito,
    { audience: 'c', audienceClaim: 'cid', scopePrefix: 'api/', requiredClaims: { aud: null } },
    '',
  ],
  [
    'an organization for an audience',
    { aud: undefined, org_id: 'org_1' },
    { audience: 'org_1', audienceClaim: 'org_id' },
    'org_id identifies an organization: every token for it is accepted',
  ],
  [
    'another claim of that kind',
    { aud: undefined, tId: 't' },
    { audience: 't', audienceClaim: 'tId' },
    'tId identifies',
  ],
  [
    'the issuer for an audience',
    { aud: undefined },
    { audience: ISSUER, audienceClaim: 'iss' },
    'every token of this issuer is accepted',
  ],
  [
    'an empty list of audiences',
    { aud: [], org_id: 'o' },
    { audience: undefined, audienceClaim: undefined },
    'the aud []',
  ],
  ['an ID token', { aud: 'a', at_hash: 'h' }, { audience: 'a', requireScope: true }, 'because it has at_hash'],
  [
    'a token of Dex for an API',
    { iss: 'https://a.test/dex', aud: ['c', 'a'], azp: 'c', at_hash: 'h' },
    { audience: 'a' },
    '',
  ],
  [
    'an ID token of Dex for an API',
    { iss: 'https://a.test/dex', aud: ['c', 'a'], azp: 'c', c_hash: 'h' },
    { audience: 'a' },
    'because it has c_hash',
  ],
  ['one of Dex for a client', { iss: 'https://a.test/dex', aud: 'c', at_hash: 'h' }, { audience: 'c' }, 'an ID token'],
  ['Microsoft Graph', { aud: graph }, { audience: graph }, 'The audience is that of Microsoft Graph'],
  ['its ID', { aud: '00000003-0000-0000-c000-000000000000' }, {}, 'The audience is that of Microsoft Graph'],
  ['Keycloak', { aud: 'account' }, { audience: 'account' }, 'The audience is that of the account console of Keycloak'],
  ['an API beside that', { aud: ['account', 'my-api'] }, { audience: 'my-api' }, ''],
  ['a star', { aud: '*' }, { audience: '*' }, 'The audience is that of every API'],
  ['two prefixes', { scope: 'https://a/x https://b/y' }, { scopePrefix: undefined }, ''],
  ['an iss of all tenants', { iss: common }, { issuer: undefined }, 'the iss https'],
  ['an iss with a quote', { iss: "https://a.test/'" }, { issuer: undefined }, 'the iss https'],
  ['a name', { iss: 'stytch.com/project' }, { issuer: 'stytch.com/project' }, 'JWKS_URI (jwksUri) is needed too'],
  ['an iss over http', { iss: 'http://a.test' }, { issuer: 'http://a.test' }, 'JWKS_URI (jwksUri) is needed too'],
  ['an aud that a shell reads', { aud: ["a'b", 'a,b', '$(id)'] }, { audience: '$(id)' }, ''],
  ['HS256', { alg: 'HS256' }, { algorithms: undefined }, 'the alg HS256'],
  ['another name of EdDSA', { alg: 'Ed25519' }, { algorithms: ['EdDSA'] }, ''],
  ['a token without kid', { kid: '' }, {}, 'without a kid'],
  ['an expired token', { exp: 1 }, {}, 'has expired'],
  ['a bound token', { cnf: { jkt: 'x' } }, { dpop: undefined }, 'bound to a key'],
])('explainToken() without issuer and audience suggests options for %s', async (_, given, options, warning) => {
  const { alg = 'RS256', kid = SIGNING_KID, ...claims } = given;
  const { suggestion, advice, checks, render } = await explainToken(tokenOf({ header: { alg, kid }, claims }), {});
  expect({ ...options, ...suggestion?.options }).toMatchObject(options);
  const [trust, ...warnings] = suggestion?.warnings ?? [];
  expect(trust).toContain('trust whoever issued this token');
  if (warning === '') expect(warnings).toEqual([]);
  else expect(warnings).toContainEqual(expect.stringContaining(warning));
  expect(advice).toMatch(
    /^Nothing was checked: issuer and audience are required|For an access token of the same issuer:$/,
  );
  expect(new Set(checks.map(({ verdict }) => verdict))).toEqual(new Set(['not reached']));
  if (suggestion?.options.audience === '$(id)') expect(render()).toContain("\nAUDIENCE='$(id)'\n");
});

test('explainToken() suggests nothing that accepts an ID token, which names no client besides its audience', async () => {
  const text = tokenOf({ claims: { aud: 'client', nonce: 'n', scope: undefined } });
  const { suggestion, status, advice } = await explainToken(text, {});
  expect({ status, advice }).toEqual({
    status: 403,
    advice:
      'It looks like an ID token, because it has nonce: send an access token. For an access token of the same issuer:',
  });
  expect((await explainToken(text, { ...offline(), ...suggestion?.options })).status).toBe(403);
});

const inAnHour = nowSeconds() + 3600;
const accepted = 'These would accept the token, if its signature is good:';
const withKeys = 'These would accept the token, with jwksUri, if its signature is good:';
const another = 'For an access token of the same issuer:';
test.each<[name: string, overrides: TokenOverrides, end: string]>([
  ['an access token', {}, accepted],
  ['an exp in the past', { claims: { exp: 1 } }, `the client must request a new token. ${another}`],
  ['a name as its issuer', { claims: { iss: 'stytch.com/project' } }, withKeys],
  ['the type of an ID token', { header: { typ: 'id+jwt' } }, `not another kind of JWT such as an ID token. ${another}`],
  ['a type that is no text', { header: { typ: { toString: null } as never } }, another],
  ['the use of an ID token', { claims: { token_use: 'id' } }, `not another kind such as an ID token. ${another}`],
  ['the type of a refresh token', { claims: { typ: 'Refresh' } }, another],
  [
    'the event of a logout token',
    { claims: { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } } },
    another,
  ],
  ['crit', { header: { crit: ['b64'] } }, `configure the issuer to leave crit out of the header. ${another}`],
  ['a later nbf', { claims: { nbf: inAnHour } }, another],
  ['no exp', { claims: { exp: undefined } }, `the issuer must change the token: exp must be a number. ${another}`],
  ['no audience that a setting accepts', { claims: { aud: [] } }, 'No settings accept the token:'],
  ['no issuer', { claims: { iss: undefined } }, 'No settings accept the token:'],
])('explainToken() without issuer and audience reads as a guard a token with %s', async (_, overrides, end) => {
  const { status, advice, suggestion } = await explainToken(tokenOf(overrides), {});
  expect(status).toBe(end.endsWith(another) ? 401 : undefined);
  expect(advice.startsWith('Nothing was checked: issuer and audience are required. ')).toBe(status === undefined);
  expect(advice).toEndWith(end);
  expect(advice.includes('would accept')).toBe(end.includes('would accept'));
  const issued = overrides.claims && 'iss' in overrides.claims ? overrides.claims.iss : ISSUER;
  expect<unknown>(suggestion?.options.issuer).toBe(issued);
});

const [header = '', claims = '', signature = ''] = tokenOf().split('.');
test.each<[name: string, text: string, status: number, advice: string]>([
  [
    'an opaque token',
    opaque,
    401,
    'the token is no JWT: the client must request a token for your API (the parameter resource of RFC 8707, ',
  ],
  ['nothing', '', 400, 'nothing was pasted. '],
  ['empty JSON', '{}', 401, 'the JSON has no access_token'],
  ['three parts of other text', 'a.b.c', 401, 'the token is no JWT, although it has two dots: the client must request'],
  ['a damaged payload', `${header}.X${claims}.${signature}`, 401, 'cut or changed: its payload is not JSON'],
  ['a payload with nothing usual', `${header}.e30.${signature}`, 401, 'or has no iss, aud, sub or exp'],
  ['two parts', `${header}.${claims}`, 401, 'the token was cut: it has 2 of 3 parts'],
  ['no signature', `${btoa('{"alg":"none"}').replace(/=+$/, '')}.${claims}.`, 401, 'the token is not signed: '],
  [
    'a cut signature',
    `${header}.${claims}.${signature.slice(0, -2)}`,
    401,
    '340 characters, and RS256 requires at least 342',
  ],
])('explainToken() without issuer and audience says why a guard rejects %s', async (_name, text, status, advice) => {
  expect(await explainToken(text, {})).toMatchObject({ status, advice: expect.stringContaining(advice) });
});

test('explainToken() without issuer and audience suggests nothing for a token that is not a JWT', async () => {
  for (const text of ['opaque', '', 'a.b.c', '{}'])
    expect(await explainToken(text, {})).toMatchObject({ suggestion: undefined });
  const introspect = () => ({ active: true });
  expect((await explainToken('opaque', { introspect })).status).toBe(undefined);
  await expect(explainToken('x', { issuer: ISSUER } as GuardOptions)).rejects.toThrow('audience is required');
});

test.each<[algorithm: Algorithm, least: number]>([
  ['RS512', 342],
  ['PS256', 342],
  ['ES256', 86],
  ['ES384', 128],
  ['ES512', 176],
  ['EdDSA', 86],
])('explainToken() takes an %s signature that is shorter than %i characters for cut', async (alg, least) => {
  const cut = `the token was probably cut: its signature has ${least - 2} characters, and ${alg} requires at least ${least}`;
  const adviceFor = async (length: number) => {
    const [start, rest] = tokenOf({ header: { alg } }).split('.');
    return (await explainToken(`${start}.${rest}.${'A'.repeat(length)}`, {})).advice;
  };
  expect(await adviceFor(least - 2)).toContain(cut);
  expect(await adviceFor(least)).toContain('These would accept the token');
});
