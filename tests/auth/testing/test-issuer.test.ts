import { describe, expect, spyOn, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader, jwtVerify, SignJWT } from 'jose';
import { createGuard, type GuardOptions } from 'protected-api';
import { createTestIssuer } from 'protected-api/testing';
import { formatRejection } from '../../../src/errors.ts';
import { certificate } from '../../support/certificates.ts';
import { bearer } from '../../support/mint.ts';

const issuer = await createTestIssuer();
const publicUrl = 'https://api.example.test';
const { pem, der } = certificate('a');
const bytes = new Uint8Array(der);

/** Returns the code with which a guard that contacts no server rejects a request with these headers, or `accepted`. */
async function codeFor(headers: Readonly<Record<string, string>>, options: Partial<GuardOptions> = {}) {
  const fetch = () => Promise.reject(new Error('No test contacts a server'));
  const { check } = createGuard({ ...issuer.options, fetch, formatRejection, ...options, claims: undefined });
  const result = await check(new Request(`${publicUrl}/me`, { headers }));
  return result instanceof Response ? ((await result.json()) as { readonly code: string }).code : 'accepted';
}

type TokenOf = Parameters<typeof issuer.token>;

const rows: readonly (readonly [name: string, token: TokenOf, code: string, options?: Partial<GuardOptions>])[] = [
  ['as it is', [], 'accepted'],
  ['with claims', [{ sub: 'ada', scope: 'read:messages' }], 'accepted'],
  ['with a list of audiences', [{ aud: ['other', issuer.options.audience] }], 'accepted'],
  ['that expired', [{}, { expired: true }], 'token_expired'],
  ['that is forged', [{}, { forged: true }], 'invalid_header'],
  ['for another audience', [{ aud: 'other' }], 'invalid_claims'],
  ['without exp', [{ exp: undefined }], 'invalid_header'],
  ['without kid', [{}, { header: { kid: undefined } }], 'invalid_header'],
  ['bound to the key of proofs, without a proof', [{}, { boundTo: 'dpop' }], 'invalid_header'],
  ['bound to a certificate, without one', [{}, { boundTo: pem }], 'invalid_header'],
  ['bound to a certificate as PEM, with it', [{}, { boundTo: pem }], 'accepted', { clientCertificate: () => pem }],
  ['bound to a certificate as DER, with it', [{}, { boundTo: bytes }], 'accepted', { clientCertificate: () => pem }],
  ['bound to another', [{}, { boundTo: certificate('b').pem }], 'invalid_header', { clientCertificate: () => pem }],
];

describe('createTestIssuer()', () => {
  for (const [name, token, code, options] of rows)
    test(`token() ${name}: ${code}`, async () => {
      expect(await codeFor(bearer(await issuer.token(...token)), options)).toBe(code);
    });

  test('names its key by its thumbprint, so that no two issuers use one name', async () => {
    const others = [await createTestIssuer(), await createTestIssuer({ key: { ...issuer.key, kid: undefined } })];
    const kids = [issuer, ...others].map(({ key: { kid } }) => kid);
    expect(kids).toEqual(await Promise.all([issuer, ...others].map(({ key }) => calculateJwkThumbprint({ ...key }))));
    expect(new Set(kids).size).toBe(2);
    // One after the other, behind one guard that fetches.
    let published: object = issuer.options.keys;
    const { issuer: iss, audience } = issuer.options;
    const guard = createGuard({ issuer: iss, audience, fetch: async () => Response.json(published) });
    const check = async (token: string) => {
      const result = await guard.check(new Request(publicUrl, { headers: bearer(token) }));
      return result instanceof Response ? result.status : 200;
    };
    expect(await check(await issuer.token())).toBe(200);
    published = others[0]?.options.keys ?? {};
    expect(await check((await others[0]?.token()) ?? '')).toBe(200);
  });

  test('token() contains the given claims and header', async () => {
    const token = await issuer.token({ sub: 'ada', scope: 'read:messages' }, { header: { typ: 'JWT' } });
    const { iat = 0, exp = 0, ...claims } = decodeJwt(token);
    const { issuer: iss, audience: aud } = issuer.options;
    expect(claims).toEqual({ iss, aud, sub: 'ada', scope: 'read:messages' });
    expect(exp - iat).toBe(3600);
    expect(decodeProtectedHeader(token).typ).toBe('JWT');
    expect(decodeProtectedHeader(await issuer.token()).typ).toBe('at+jwt');
  });

  for (const boundTo of ['no certificate', new Uint8Array(3)])
    test(`token() throws for ${JSON.stringify(boundTo)}, which is not a certificate`, () =>
      expect(issuer.token({}, { boundTo })).rejects.toThrow(TypeError));

  test('signs with the key that it is given, and shows it for tokens that a test signs', async () => {
    const first = await createTestIssuer();
    const about = { issuer: 'https://other.example.test/', audience: 'https://other.example.test/api' };
    const second = await createTestIssuer({ ...about, key: { ...first.key, kid: 'second' } });
    const { check } = createGuard(second.options);
    const result = await check(new Request(publicUrl, { headers: bearer(await second.token()) }));
    expect(result).toMatchObject({ claims: { iss: about.issuer, aud: about.audience } });
    const { n } = first.key;
    expect(second.options.keys.keys).toMatchObject([{ kid: 'second', n }]);
    const own = new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'RS256' }).sign(second.key);
    expect(await jwtVerify(await own, { ...first.options.keys.keys[0] })).toMatchObject({ payload: { sub: 'ada' } });
  });

  const [published = {}] = issuer.options.keys.keys;
  for (const [what, key] of Object.entries({
    'a public key': { ...published },
    'an elliptic key': generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
    nothing: {},
  }))
    test(`throws for ${what} as its key`, () =>
      expect(createTestIssuer({ key: { ...key } })).rejects.toThrow(/^Cannot create an issuer for tests: key must/));

  /** Fake timers of Jest, Vitest and node:test replace the function, in tests of a guard that exists already. */
  test('makes tokens that a guard accepts by the same clock, even if that is replaced later', async () => {
    const { check } = createGuard(issuer.options);
    const clock = spyOn(Date, 'now').mockReturnValue(Date.UTC(2020));
    const headers = bearer(await issuer.token());
    const statusAt = async (year: number) => {
      clock.mockReturnValue(Date.UTC(year));
      const result = await check(new Request(publicUrl, { headers }));
      return result instanceof Response ? result.status : 'accepted';
    };
    const statuses = [await statusAt(2020), await statusAt(2021)];
    clock.mockRestore();
    expect(statuses).toEqual(['accepted', 401]);
  });

  test('takes the issuer, the audience and claims of every token', async () => {
    const given = { issuer: 'https://other.invalid/', audience: 'https://other-api.invalid', claims: { org: '42' } };
    const other = await createTestIssuer(given);
    const { issuer: iss, audience: aud } = given;
    expect(decodeJwt(await other.token({ sub: 'ada' }))).toMatchObject({ iss, aud, org: '42', sub: 'ada' });
    expect(decodeJwt(await other.token({ org: '43' })).org).toBe('43');
    const { check } = createGuard({ issuer: [issuer.options, other.options] });
    for (const { token } of [issuer, other])
      expect(await check(new Request(publicUrl, { headers: bearer(await token()) }))).toMatchObject({ scopes: [] });
  });

  test.each([
    ['audiences is not an option. Did you mean audience?', { audiences: 'a' }],
    ['issuer must be text', { issuer: '' }],
    ['issuer must be text', { issuer: ['https://a.invalid/'] }],
    ['claims must be an object', { claims: [] }],
    ['must be an object', 'https://issuer.invalid/'],
    ['must be an object', null],
  ])('throws a TypeError: %s', (message, given) =>
    expect(createTestIssuer(given as object)).rejects.toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
    ),
  );

  test('has an issuer that no server can have, and publishes no private key', () => {
    expect(new URL(issuer.options.issuer).hostname).toEndWith('.invalid');
    for (const key of issuer.options.keys.keys)
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
  });

  test('proof() is valid for one request and one token, and signed with the key that the token is bound to', async () => {
    const request = new Request(`${publicUrl}/me?query#fragment`);
    const token = await issuer.token({}, { boundTo: 'dpop' });
    const proof = await issuer.proof(request, token);
    expect(decodeJwt(proof).htu).toBe(`${publicUrl}/me`);
    const thief = await createTestIssuer();
    const codeWith = (dpop: string) =>
      codeFor({ authorization: `DPoP ${token}`, dpop }, { dpop: 'required', publicUrl });
    expect(await codeWith(proof)).toBe('accepted');
    expect(await codeWith(proof)).toBe('invalid_header');
    expect(await codeWith(await thief.proof(request, token))).toBe('invalid_header');
  });

  test('proof() has the nonce that a guard with dpopNonceSecret gave out', async () => {
    const dpopNonceSecret = 's'.repeat(32);
    const guard = createGuard({ ...issuer.options, dpop: 'required', publicUrl, dpopNonceSecret });
    const token = await issuer.token({}, { boundTo: 'dpop' });
    const send = async (nonce?: string) => {
      const request = new Request(`${publicUrl}/me`, { headers: { authorization: `DPoP ${token}` } });
      request.headers.set('dpop', await issuer.proof(request, token, { nonce }));
      return guard.check(request);
    };
    const rejection = (await send()) as Response;
    expect(rejection.status).toBe(401);
    expect(await send(rejection.headers.get('dpop-nonce') ?? '')).toMatchObject({ claims: { sub: 'test' } });
  });

  test('token() is of a tenant by its claims iss and tid', async () => {
    const tid = crypto.randomUUID();
    const ofTenants = { issuer: 'https://issuer.invalid/{tenantid}/v2.0', onKeySetEvent() {} };
    const guard = createGuard({ ...issuer.options, ...ofTenants });
    const check = async (claims: object) =>
      guard.check(new Request(publicUrl, { headers: bearer(await issuer.token({ ...claims })) }));
    const iss = `https://issuer.invalid/${tid}/v2.0`;
    expect(await check({ iss, tid })).toMatchObject({ claims: { tid } });
    expect(await check({ iss, tid: crypto.randomUUID() })).toMatchObject({ status: 401 });
  });
});
