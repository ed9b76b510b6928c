import { afterAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import { createGuard, type GuardOptions, issuerMetadata } from '../../../src/auth/index.ts';
import { createChecker } from '../../support/checked.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { AUDIENCE, mintToken, SCOPE, type TokenOverrides } from '../../support/mint.ts';

const server = 'https://login.microsoftonline.com';
const template = `${server}/{tenantid}/v2.0`;
const contoso = '8eaef023-2b34-4da1-9baa-8bc8c9d6a490';
const fabrikam = 'fa15d692-e9c7-4460-a743-29f29522229f';
/** The tenant of personal accounts, which has keys of its own. */
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad';
const issuerOf = (tenant: string) => `${server}/${tenant}/v2.0`;
const v1IssuerOf = (tenant: string) => `https://sts.windows.net/${tenant}/`;

const keyOf = (kid: string, issuer?: unknown, name = kid) => publish(rsaKey(name), kid, { alg: undefined, issuer });
const keys = [
  keyOf('of all tenants', template),
  keyOf('of personal accounts', issuerOf(personal)),
  keyOf('without issuer'),
  keyOf('with a strange issuer', { tenant: contoso }),
  keyOf('with a text as issuer', 'not https:'),
  keyOf('of an http issuer', 'http://issuer.example.test/'),
  // The same key for two tenants.
  keyOf('of two tenants', issuerOf(personal), 'shared'),
  keyOf('of two tenants', issuerOf(contoso), 'shared'),
];

/** What Entra serves for all tenants: its issuer is the template, as are those of most keys. */
const documents: Readonly<Record<string, unknown>> = {
  [`${server}/common/v2.0/.well-known/openid-configuration`]: {
    issuer: template,
    jwks_uri: `${server}/common/discovery/v2.0/keys`,
    token_endpoint: `${server}/common/oauth2/v2.0/token`,
  },
  [`${server}/common/discovery/v2.0/keys`]: { keys },
  [`${server}/common/discovery/keys`]: { keys: [keyOf('of all tenants')] },
  [`${server}/${contoso}/discovery/v2.0/keys`]: { keys },
};
const entra = {
  issuer: template,
  keys: undefined,
  requiredClaims: { tid: [contoso, personal] },
  fetch: async (url: string) => Response.json(documents[url], { status: documents[url] ? 200 : 404 }),
  onKeySetEvent() {},
} as const;

const tokenFrom = (tenant: string, claims: TokenOverrides['claims'] = {}, kid = 'of all tenants') => {
  const key = rsaKey(kid === 'of two tenants' ? 'shared' : kid);
  return mintToken(issuerOf(tenant), { header: { kid }, claims: { tid: tenant, ver: '2.0', ...claims }, key });
};

type Row = readonly [name: string, token: string, want?: string | undefined, options?: Partial<GuardOptions>];

const anyTenant = { requiredClaims: {} };
const stranger = 'https://stranger.example.test';
const v1 = { iss: v1IssuerOf(contoso), ver: '1.0' };
const v1Keys = `${server}/common/discovery/keys`;
const inCapitals = { requiredClaims: { tid: [contoso.toUpperCase()] } };
const rows: readonly Row[] = [
  ['a token of a listed tenant', tokenFrom(contoso)],
  ['a token of a tenant that is listed in upper case', tokenFrom(contoso), undefined, inCapitals],
  ['a token of any tenant without a list', tokenFrom(fabrikam), undefined, anyTenant],
  ['a token of a tenant with a key of its own', tokenFrom(personal, {}, 'of personal accounts')],
  ['a token whose key has no issuer', tokenFrom(contoso, {}, 'without issuer')],
  ['a token whose key is published for two tenants', tokenFrom(contoso, {}, 'of two tenants')],
  ['a v1 token, if its tenant is listed', tokenFrom(contoso, v1), undefined, { issuer: v1.iss, jwksUri: v1Keys }],
  ['one of all tenants', tokenFrom(contoso, v1), undefined, { issuer: v1IssuerOf('{tenantid}'), jwksUri: v1Keys }],
  ['a token of another tenant', tokenFrom(fabrikam), 'required_claim_mismatch'],
  ['a v1 token', tokenFrom(contoso, v1), 'issuer_mismatch'],
  ['a tid that does not fit iss', tokenFrom(fabrikam, { tid: contoso }), 'issuer_mismatch'],
  ['an iss that does not fit tid', tokenFrom(contoso, { tid: fabrikam }), 'issuer_mismatch', anyTenant],
  ['no tid', tokenFrom(contoso, { tid: undefined }), 'issuer_mismatch', anyTenant],
  ['an iss that is no string', tokenFrom(contoso, { iss: 7 }), 'issuer_mismatch', anyTenant],
  ['a tid in a list', tokenFrom(contoso, { tid: [contoso] }), 'issuer_mismatch', anyTenant],
  ...['common', '{tenantid}', '', '$&', 'contoso.test', contoso.toUpperCase(), `${contoso}/x`, `x${contoso}`].map(
    (tenant): Row => [`the tenant "${tenant}"`, tokenFrom(tenant), 'issuer_mismatch', anyTenant],
  ),
  ['a longer iss', tokenFrom(contoso, { iss: `${issuerOf(contoso)}/` }), 'issuer_mismatch'],
  ['another server', tokenFrom(contoso, { iss: `${stranger}/${contoso}/v2.0` }), 'issuer_mismatch'],
  ['a key of another tenant', tokenFrom(contoso, {}, 'of personal accounts'), 'key_unknown'],
  ['a key whose issuer is no string', tokenFrom(contoso, {}, 'with a strange issuer'), 'key_unknown'],
];

describe.each([
  ['the only issuer', []],
  ['one of several issuers', [{ issuer: stranger, keys: { keys } }]],
])('all tenants as %s', (_, others) => {
  for (const [name, token, want, { issuer = template, jwksUri, ...options } = {}] of rows)
    test(`${want ? `rejects with ${want}` : 'accepts'} ${name}`, async () => {
      const one = { issuer: String(issuer), ...(jwksUri && { jwksUri }) };
      const check = createChecker({ ...entra, ...options, issuer: [one, ...others] });
      // The second time, an accepted token is in the cache.
      expect([(await check(token)).reason, (await check(token)).reason]).toEqual([want, want]);
    });
});

test('a tenant that is listed beside all tenants has its own rules, and so have all tenants', async () => {
  const named = { issuer: issuerOf(contoso), audience: 'own', keys: { keys } };
  const check = createChecker({ ...entra, ...anyTenant, issuer: [{ issuer: template, scopeClaim: ['scp'] }, named] });
  const scopesOf = async (token: string) => {
    const { result, reason } = await check(token);
    return result instanceof Response ? reason : result.scopes;
  };
  const scopes = { scope: SCOPE, scp: 'user.read' };
  expect(await scopesOf(tokenFrom(fabrikam, scopes))).toEqual(['user.read']);
  expect(await scopesOf(tokenFrom(contoso, { ...scopes, aud: 'own' }))).toEqual([SCOPE]);
  expect(await scopesOf(tokenFrom(contoso, scopes))).toBe('audience_mismatch');
  expect(await scopesOf(tokenFrom(fabrikam, { aud: 'own' }))).toBe('audience_mismatch');
  expect(check.core.state().issuers.map(({ issuer }) => issuer)).toEqual([template, issuerOf(contoso)]);
});

test.each([
  ['a key of all tenants', 'of all tenants', undefined, undefined],
  ['a key without issuer', 'without issuer', undefined, undefined],
  ['a key whose issuer is no URL', 'with a strange issuer', undefined, undefined],
  ['a key whose issuer has https: in it', 'with a text as issuer', undefined, undefined],
  ['a key of another issuer, over http', 'of an http issuer', 'key_unknown', 'key_unknown'],
  ['a key of two tenants, which is not for v1.0 tokens', 'of two tenants', undefined, 'key_unknown'],
  ['a key of another tenant', 'of personal accounts', 'key_unknown', 'key_unknown'],
])('a tenant alone, and one that is listed beside all tenants: %s', async (_, kid, want, wantOfV1) => {
  const jwksUri = `${server}/common/discovery/v2.0/keys`;
  const tenant = [issuerOf(contoso), v1IssuerOf(contoso)].map((issuer) => ({ issuer, jwksUri }));
  for (const issuer of [tenant.slice(0, 1), tenant.slice(1), [...tenant, template]]) {
    const check = createChecker({ ...entra, ...anyTenant, issuer });
    for (const [index, each] of tenant.entries())
      if (issuer.includes(each)) {
        const { reason } = await check(tokenFrom(contoso, { iss: each.issuer }, kid));
        expect(reason).toBe((index === 0 ? want : wantOfV1) as string);
      }
  }
});

test.each(['contoso.onmicrosoft.com', 'common', '{tenantid}', `${contoso}x`, '*'])(
  'createGuard() throws for the tenant %s, which no token has',
  (tid) => {
    const wrong = 'requiredClaims must be the IDs of tenants (UUIDs) under tid for an issuer with {tenantid}';
    const own = [{ issuer: template, requiredClaims: { tid } }];
    for (const options of [{ requiredClaims: { tid: [contoso, tid] } }, { issuer: own }])
      expect(() => createChecker({ ...entra, ...options })).toThrow(wrong);
    expect(() => createChecker({ requiredClaims: { tid } })).not.toThrow();
  },
);

test('a key that is published for another tenant from now on is another key', async () => {
  const published = { keys: [keyOf('of all tenants', template)] };
  const fetch = (url: string) => (url.endsWith('/keys') ? Promise.resolve(Response.json(published)) : entra.fetch(url));
  const check = createChecker({ ...entra, fetch });
  expect((await check(tokenFrom(contoso))).reason).toBeUndefined();
  published.keys = [keyOf('of all tenants', issuerOf(personal))];
  await check.core.reload();
  expect((await check(tokenFrom(contoso))).reason).toBe('key_unknown');
});

test('issuerMetadata() reads what is published for all tenants', async () => {
  const guard = createGuard({ ...entra, audience: AUDIENCE });
  expect(await issuerMetadata(guard)).toEqual({ tokenEndpoint: `${server}/common/oauth2/v2.0/token` });
});

test('an introspected token has a tenant', async () => {
  const responseFor = (claims: object) => async () => ({ active: true, aud: AUDIENCE, exp: 9e9, ...claims });
  const reasonFor = async (claims: object) =>
    (await createChecker({ ...entra, introspect: responseFor(claims) })('opaque')).reason;
  expect(await reasonFor({ iss: issuerOf(contoso), tid: contoso })).toBeUndefined();
  expect(await reasonFor({ tid: contoso })).toBe('issuer_mismatch');
});

describe('without a list of tenants', () => {
  const warn = spyOn(console, 'warn').mockImplementation(() => {});
  beforeEach(() => void warn.mockClear());
  afterAll(() => void warn.mockRestore());
  const warning = `Accepting tokens of every tenant of ${template}: list the tenants that you trust in requiredClaims: { tid: [...] }`;

  test.each<[name: string, options: Partial<GuardOptions>, want: readonly string[]]>([
    ['warns once', anyTenant, [warning]],
    ['warns of an issuer with other claims of its own', { issuer: [{ issuer: template, ...anyTenant }] }, [warning]],
    ['does not warn of an issuer with a list', {}, []],
    ['does not warn of one tenant', { ...anyTenant, issuer: issuerOf(contoso), keys: { keys } }, []],
  ])('a guard %s', async (_, options, want) => {
    const check = createChecker({ ...entra, onKeySetEvent: undefined, ...options });
    await check(tokenFrom(contoso));
    await check.core.reload();
    expect(warn.mock.calls.flat()).toEqual([...want]);
  });
});

test.each([
  ['the tenants that are listed', {}, [issuerOf(contoso), issuerOf(personal)]],
  ['tenants that are listed in upper case', inCapitals, [issuerOf(contoso)]],
  ['a tenant that is listed twice', { requiredClaims: { tid: [contoso.toUpperCase(), contoso] } }, [issuerOf(contoso)]],
  ['the tenants of organizations without a list', anyTenant, [issuerOf('organizations')]],
])('metadata() names %s', async (_, options, want) => {
  const guard = createGuard({ ...entra, ...options, audience: AUDIENCE, publicUrl: 'https://api.example.test' });
  const document = guard.metadata(new Request('https://api.example.test/.well-known/oauth-protected-resource'));
  expect(await document?.json()).toMatchObject({ authorization_servers: want });
});

test.each([
  ['a v1 token', tokenFrom(contoso, v1), 'the token has version 1.0, and issuer is that of version 2.0…'],
  ['another tid', tokenFrom(fabrikam, { tid: contoso }), `tid must be the tenant in iss, but is ${contoso}`],
  [
    'a key of another tenant',
    tokenFrom(contoso, {}, 'of personal accounts'),
    `${template} publishes the key of personal accounts, but for the issuer ${server}…`,
  ],
])('explainToken() explains %s', async (_, token, want) => {
  const { advice } = await explainToken(token, { ...entra, audience: AUDIENCE });
  expect(advice).toStartWith(want.replace('…', ''));
});
