import { describe, expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain/explain-token.ts';
import { createGuard } from '../../../src/auth/index.ts';
import { describeRejections } from '../../../src/auth/openapi/describe-rejections.ts';
import { checkOptions, haveEqualOptions } from '../../../src/auth/options/check-options.ts';
import { base64url } from '../../../src/probe/forge/forge.ts';
import { createChecker, ISSUER, offline, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, bearer, mintToken, nowSeconds, SCOPE } from '../../support/mint.ts';

const active = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300, scope: SCOPE, client_id: 'reader' };
const throws = () => {
  throw new Error('secret');
};

describe('the option introspect', () => {
  // tests/auth/explain/explain.test.ts has what is no response.
  const rows: readonly (readonly [name: string, introspect: (token: string) => unknown, want?: string])[] = [
    ['an active token', () => active],
    ['a promise of one', async () => active],
    ['one with the issuer', () => ({ ...active, iss: ISSUER })],
    ['an inactive token', () => ({ active: false }), 'token_inactive'],
    ['another issuer', () => ({ ...active, iss: 'https://other.example.test/' }), 'issuer_mismatch'],
    ['another audience', () => ({ ...active, aud: 'other' }), 'audience_mismatch'],
    ['no audience', () => ({ ...active, aud: undefined }), 'audience_mismatch'],
    ['an expired token', () => ({ ...active, exp: 1 }), 'token_expired'],
    ['no expiry', () => ({ ...active, exp: undefined }), 'claims_malformed'],
    ['a bound token', () => ({ ...active, cnf: { jkt: 'x' } }), 'token_bound'],
    ['no scope', () => ({ ...active, scope: undefined }), 'scope_insufficient'],
    ['an exception', throws, 'introspection_unavailable'],
  ];
  for (const [name, introspect, want] of rows)
    test(`${want ? `rejects with ${want}` : 'accepts'} ${name}`, async () => {
      const check = createChecker({ introspect: introspect as () => object });
      const { reason, result } = await check('opaque', { scope: SCOPE });
      expect(reason).toBe(want);
      if (!want)
        expect(result).toMatchObject({ token: 'opaque', scopes: [SCOPE], clientId: 'reader', claims: { iss: ISSUER } });
    });

  test.each([
    ['a JWT', tokenOf(), undefined],
    ['an expired JWT', tokenOf({ claims: { exp: 1 } }), 'token_expired'],
    ['a JWT of another algorithm', tokenOf({ header: { alg: 'HS256' } }), 'algorithm_unsupported'],
    ['a JWT of a stranger', mintToken(ISSUER, { header: { kid: 'other' } }), 'key_unknown'],
    ['an encrypted JWT', `${base64url('{"alg":"dir","enc":"A256GCM"}')}..b.c.d`, 'token_encrypted'],
    ['a token over 16 KiB', 'x'.repeat(16_385), 'token_oversized'],
  ])('is never given %s', async (_, token, want) =>
    expect((await createChecker({ introspect: throws })(token)).reason).toBe(want as string),
  );

  const texts = `a&token_type_hint=refresh_token&token=b ../../admin a/../b a/.. ä a, a,b a;b a%0Ab {"a":1} "a" a? a#b a\\b <a> a=b = a@b [a] a:b . ./a a/. /a //a //1.2.3.999 ../a - _~ a/./b +/ .= /`;
  test.each([...texts.split(' '), 'a\tb', 'a b', 'a b, Bearer c', ''])('is never given the text %j', async (text) => {
    const check = createChecker({ introspect: throws });
    expect((await check(new Headers(bearer(text)))).reason).toBe('credentials_malformed');
    expect((await check(new Headers([...Object.entries(bearer('a')), ['authorization', text]]))).reason).toBe(
      'credentials_malformed',
    );
  });

  // The last three have a header, but no JWS is without `alg`, and no JWE without `enc` and five parts.
  const [signed, sealed, short] = ['{"user":1}', '{"alg":"dir"}', '{"enc":"A256GCM"}'].map(base64url);
  test.each([
    ...['opaque', 'eyOpaque', 'v4.public.abc', 'a.b.c', 'a.b.c.d.e.f', 'a~b+/c==', 'a..b/', 'A/b//c', '-.0'],
    ...[`${signed}.time.signature`, `${sealed}.a.b.c.d`, `${short}.a`],
  ])('is given %s', async (token) => {
    const given: string[] = [];
    const introspect = (text: string) => {
      given.push(text);
      return active;
    };
    expect((await createChecker({ introspect })(token)).reason).toBeUndefined();
    expect(given).toEqual([token]);
  });

  const other = 'https://other.example.test/';
  test.each([
    ['of one issuer', undefined, undefined],
    ['of one issuer that names it', ISSUER, undefined],
    ['of one issuer that names another of the guard', other, 'issuer_mismatch'],
    ['of one issuer that names a stranger', 'https://stranger.example.test/', 'issuer_mismatch'],
  ])('speaks, as a member %s, for that issuer alone', async (_, iss, want) => {
    const introspect = () => ({ ...active, iss, scope: 'own', roles: 'of the other' });
    const one = { issuer: ISSUER, introspect };
    const issuer = [one, { issuer: other, scopeClaim: ['roles'] }];
    const { reason, result } = await createChecker({ issuer, keys: undefined })('opaque');
    expect(reason).toBe(want);
    if (!want) expect(result).toMatchObject({ claims: { iss: ISSUER }, scopes: ['own'] });
    const explained = await explainToken('opaque', { audience: AUDIENCE, issuer });
    expect(explained.isAccepted).toBe(want === undefined);
  });

  test('as a member of an issuer makes guards with different functions differ', () => {
    const withOwn = (introspect: () => object) =>
      checkOptions({ audience: AUDIENCE, issuer: [{ issuer: ISSUER, introspect }] });
    const [one, other] = [() => ({}), () => ({})];
    expect(haveEqualOptions(withOwn(one), withOwn(one))).toBe(true);
    expect(haveEqualOptions(withOwn(one), withOwn(other))).toBe(false);
    expect(describeRejections(withOwn(one)).map(({ reason }) => reason)).toContain('introspection_unavailable');
  });

  test('keeps nothing for another request, and its time is checked at each check of one', async () => {
    let asked = 0;
    let now = 0;
    const introspect = () => ({ ...active, exp: 10, asked: asked++ });
    const check = createChecker({ introspect }, { now: () => now * 1000 });
    const longest = 'x'.repeat(16_384);
    for (now of [0, 9]) expect((await check(longest)).reason).toBeUndefined();
    expect(asked).toBe(2);
    const guard = createGuard({ ...offline(), introspect: () => ({ ...active, asked: asked++ }) });
    const request = new Request('http://localhost/', { headers: bearer('opaque') });
    for (const _ of [1, 2]) expect(await guard.check(request)).toHaveProperty('claims.asked', 2);
  });
});
