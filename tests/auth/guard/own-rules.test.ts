import { describe, expect, test } from 'bun:test';
import { createGuard, type GuardOptions, type IssuerOptions, issuerMetadata } from '../../../src/auth/index.ts';
import { formatRejection } from '../../../src/errors.ts';
import { publish, signingKey } from '../../support/keys.ts';
import { bearer, mintToken } from '../../support/mint.ts';

const plain = 'https://plain.example.test/';
const special = 'https://special.example.test/';
const stranger = 'https://stranger.example.test/';
const algorithms = ['RS256', 'ES256'] as const;

/** Both issuers have a key for each algorithm, under the same kids. */
const keyOf = (issuer: string, alg: string) => signingKey(alg, `own rules ${issuer === plain}`);
const keysOf = (issuer: string) => ({ keys: algorithms.map((alg) => publish(keyOf(issuer, alg), alg, { alg })) });

/** The options of the guard, and those that the special issuer can override. */
const requiredClaims = { tier: 'one' };
const shared = { audience: 'api', algorithms: ['RS256'], requiredClaims, scopeClaim: ['scope'] } as const;
const own = {
  audience: 'special-api',
  algorithms: ['ES256'],
  requiredClaims: { tier: 'two' },
  scopeClaim: ['roles'],
  jwksUri: 'https://keys.example.test/special',
  keys: keysOf(special),
} as const;

type OwnName = keyof typeof own;

const names = Object.keys(own) as OwnName[];
const sets = Array.from({ length: 2 ** names.length }, (_, bits) =>
  names.filter((_name, at) => bits & (1 << at)),
).filter((set) => !(set.includes('keys') && set.includes('jwksUri')));

/** Keys are at an issuer's usual URL, unless the special issuer has them elsewhere. */
const fetchFor =
  (set: readonly OwnName[]): GuardOptions['fetch'] =>
  async (url) => {
    const isSpecial = url === (set.includes('jwksUri') ? own.jwksUri : `${special}.well-known/jwks.json`);
    if (isSpecial && !set.includes('keys')) return Response.json(keysOf(special));
    return url.startsWith(plain) ? Response.json(keysOf(plain)) : new Response(null, { status: 500 });
  };

const values = {
  iss: [plain, special, stranger],
  signer: [plain, special],
  alg: algorithms,
  aud: [shared.audience, own.audience],
  tier: [shared.requiredClaims.tier, own.requiredClaims.tier],
  scopeIn: [shared.scopeClaim[0], own.scopeClaim[0]],
};

type Token = { readonly [Name in keyof typeof values]: (typeof values)[Name][number] };

const tokens = Object.entries(values).reduce<object[]>(
  (found, [name, each]) => found.flatMap((token) => each.map((value) => ({ ...token, [name]: value }))),
  [{}],
) as Token[];

function mint({ iss, signer, alg, aud, tier, scopeIn }: Token): string {
  const claims = { aud, tier, scope: undefined, [scopeIn]: 'read' };
  return mintToken(iss, { header: { alg, kid: alg }, claims, signedAs: alg, key: keyOf(signer, alg) });
}

/** The result for a token by the rules of the issuer that it names, and by nothing else. */
function expected({ iss, signer, alg, aud, tier, scopeIn }: Token, set: readonly OwnName[]): string {
  const rules = { ...shared, ...(iss === special && Object.fromEntries(set.map((name) => [name, own[name]]))) };
  const known = [...shared.algorithms, ...(set.includes('algorithms') ? own.algorithms : [])];
  if (!known.some((name) => name === alg)) return 'invalid_header';
  if (iss === stranger) return 'invalid_claims';
  if (String(rules.algorithms) !== alg || signer !== iss) return 'invalid_header';
  if (rules.audience !== aud || rules.requiredClaims.tier !== tier) return 'invalid_claims';
  return String(rules.scopeClaim) === scopeIn ? 'accepted' : 'Unauthorized';
}

describe('a token of one issuer is never checked by the rules of another', () => {
  const minted = tokens.map((token) => ({ token, headers: bearer(mint(token)) }));

  for (const set of sets)
    test(`with these rules of its own: ${set.join(', ') || 'none'}`, async () => {
      // Rules may be getters of a class, which each entry inherits.
      const rules = Object.fromEntries(set.map((name) => [name, { get: () => own[name] }]));
      const entry: IssuerOptions = Object.assign(Object.create(Object.create(null, rules)), { issuer: special });
      const both = [plain, entry];
      for (const issuer of [both, both.toReversed()]) {
        const guard = createGuard({ ...shared, issuer, fetch: fetchFor(set), formatRejection, onKeySetEvent() {} });
        // The second time, accepted tokens are in the cache.
        for (const { token, headers } of [...minted, ...minted]) {
          const result = await guard.check(new Request('http://localhost/', { headers }), { scope: 'read' });
          const outcome = result instanceof Response ? ((await result.json()) as { code: string }).code : 'accepted';
          expect([token, outcome]).toEqual([token, expected(token, set)]);
        }
      }
    });
});

test('an algorithm that only another issuer accepts is rejected before keys are fetched', async () => {
  const seen: string[] = [];
  const guard = createGuard({
    ...shared,
    issuer: [plain, { issuer: special, algorithms: own.algorithms }],
    fetch: (url) => Promise.reject(seen.push(url)),
    onRejected: (_, reason) => seen.push(reason),
  });
  const headers = bearer(mint({ iss: plain, signer: plain, alg: 'ES256', aud: 'api', tier: 'one', scopeIn: 'scope' }));
  await guard.check(new Request('http://localhost/', { headers }));
  expect(seen).toEqual(['algorithm_unsupported']);
});

describe('the option issuer', () => {
  const entry = { issuer: special, audience: 'a' };
  const guardOf = (options: object) => createGuard({ ...shared, issuer: plain, ...options } as GuardOptions);

  test("makes the guard's audience unnecessary if each issuer has its own, and state() and metadata name the issuers", async () => {
    const options = { issuer: [entry, { issuer: plain, audience: ['b'] }], publicUrl: 'https://api.example.test' };
    const { state, metadata } = createGuard(options);
    expect(state().issuers.map(({ issuer }) => issuer)).toEqual([special, plain]);
    const document = metadata(new Request('https://api.example.test/.well-known/oauth-protected-resource'));
    expect(await document?.json()).toMatchObject({ authorization_servers: [special, plain] });
    // @ts-expect-error: one of them has no audience
    expect(() => createGuard({ issuer: [entry, plain] })).toThrow('audience is required');
  });

  const named = 'http://adfs.example.test/adfs/services/trust';
  test.each([
    ['alone', named, { jwksUri: own.jwksUri }, undefined],
    ['beside another', [special, { issuer: named, keys: keysOf(named) }], {}, [special]],
  ])('can be no URL, %s', async (_, issuer, options, servers) => {
    const fetch = async () => Response.json(keysOf(named));
    const guard = guardOf({ ...options, issuer, fetch, publicUrl: special });
    const token = { iss: named, signer: named, alg: 'RS256', aud: 'api', tier: 'one', scopeIn: 'scope' };
    const request = new Request(special, { headers: bearer(mint(token as unknown as Token)) });
    expect(await guard.check(request)).toMatchObject({ claims: { iss: named } });
    const document = guard.metadata(new Request(`${special}.well-known/oauth-protected-resource`));
    expect(Object(await document?.json()).authorization_servers).toEqual(servers);
    if (!servers) expect(await issuerMetadata(guard)).toEqual({ tokenEndpoint: undefined });
  });

  test('jwksAllowHttp of one issuer does not let the metadata of another lead to http', async () => {
    const requested: string[] = [];
    const fetch = async (url: string) => {
      requested.push(url);
      const { origin } = new URL(url);
      return Response.json({
        issuer: origin,
        jwks_uri: `${origin.replace('https', 'http')}/keys`,
        keys: keysOf(plain).keys,
      });
    };
    const [internal, secure] = ['http://kc.internal', 'https://secure.example.test'];
    const both = [{ issuer: internal, jwksAllowHttp: true }, secure];
    const guard = guardOf({ issuer: both, fetch, onKeySetEvent() {}, publicUrl: special });
    const check = async (iss: string) => {
      const token = { iss, signer: plain, alg: 'RS256', aud: 'api', tier: 'one', scopeIn: 'scope' };
      return guard.check(new Request(special, { headers: bearer(mint(token as unknown as Token)) }));
    };
    expect(await check(internal)).toMatchObject({ claims: { iss: internal } });
    expect(await check(secure)).toMatchObject({ status: 503 });
    expect(guard.state().issuers[1]?.lastFailure).toMatchObject({ failure: 'insecure_address' });
    expect(requested.filter((url) => url.startsWith('http://secure'))).toEqual([]);
    // Without the option of the guard, a URL over http is rejected as before.
    expect(() => guardOf({ issuer: [internal, secure] })).toThrow('issuer must begin with https://');
    const document = guard.metadata(new Request(`${special}.well-known/oauth-protected-resource`));
    expect(Object(await document?.json()).authorization_servers).toEqual([internal, secure]);
  });

  for (const [name, options, mistake = 'issuer must be'] of [
    ['an issuer twice', { issuer: [entry, special] }, 'is named twice. An issuer has one key set: merge several in'],
    ['an issuer twice, as objects', { issuer: [entry, { ...entry }] }],
    ['an unknown member without a value', { issuer: [{ ...entry, constructor: undefined, scopePrefix: undefined }] }],
    ['an identifier that is not a string', { issuer: [{ issuer: [special] }] }],
    [
      'an identifier over http',
      { issuer: [{ issuer: 'http://special.example.test/' }] },
      'issuer must begin with https://',
    ],
    ['keys over http', { issuer: [{ ...entry, jwksUri: 'http://keys.example.test/' }] }],
    ['an algorithm that is not supported', { issuer: [{ ...entry, algorithms: ['HS256'] }] }],
    ['an audience of the guard that is not valid', { issuer: [entry], audience: '' }, 'audience must be'],
    ['no audience of the guard where an issuer has none', { issuer: [entry, plain], audience: [] }, 'audience must be'],
    ['an empty audience', { issuer: [{ ...entry, audience: [] }] }],
    ['keys without a kid', { issuer: [{ ...entry, keys: { keys: [{ kty: 'RSA' }] } }] }, 'each key in keys must have'],
    ['two places for keys', { issuer: [{ ...entry, jwksUri: special, keys: own.keys }] }, 'keys must be unset'],
  ] as const)
    test(`throws a TypeError for ${name}`, () => {
      expect(() => guardOf(options)).toThrow(TypeError);
      expect(() => guardOf(options)).toThrow(mistake);
    });
});
