import { describe, expect, test } from 'bun:test';
import { createGuard } from '../../../src/auth/guard.ts';
import { createChecker, ISSUER, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, bearer, mintToken, nowSeconds, SCOPE } from '../../support/mint.ts';

const active = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300, scope: SCOPE, client_id: 'reader' };
const throws = () => {
  throw new Error('secret');
};

describe('the option introspect', () => {
  const rows: readonly (readonly [name: string, introspect: (token: string) => unknown, want?: string])[] = [
    ['an active token', () => active],
    ['a promise of one', async () => active],
    ['one with the issuer', () => ({ ...active, iss: ISSUER })],
    ['an inactive token', () => ({ active: false }), 'token_inactive'],
    ['active as text', () => ({ ...active, active: 'true' }), 'token_inactive'],
    ['another issuer', () => ({ ...active, iss: 'https://other.example.test/' }), 'issuer_mismatch'],
    ['another audience', () => ({ ...active, aud: 'other' }), 'audience_mismatch'],
    ['no audience', () => ({ ...active, aud: undefined }), 'audience_mismatch'],
    ['an expired token', () => ({ ...active, exp: 1 }), 'token_expired'],
    ['no expiry', () => ({ ...active, exp: undefined }), 'claims_malformed'],
    ['a bound token', () => ({ ...active, cnf: { jkt: 'x' } }), 'token_bound'],
    ['no scope', () => ({ ...active, scope: undefined }), 'scope_insufficient'],
    ['an exception', throws, 'introspection_unavailable'],
    ['a rejected promise', async () => throws(), 'introspection_unavailable'],
    ['no object', () => 'active', 'introspection_unavailable'],
    ['what cannot be copied', () => ({ ...active, call() {} }), 'introspection_unavailable'],
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
    ['a JWT of a stranger', mintToken(ISSUER, { header: { kid: 'other' } }), 'key_unknown'],
    ['an encrypted JWT', `${tokenOf().split('.')[0]}.a.b.c.d`, 'token_encrypted'],
    ['a token over 8 KiB', 'x'.repeat(8193), 'token_oversized'],
  ])('is never given %s', async (_, token, want) =>
    expect((await createChecker({ introspect: throws })(token)).reason).toBe(want as string),
  );

  test.each(['opaque', 'eyOpaque', 'v4.public.abc', 'a.b.c', 'a.b.c.d.e.f'])('is given %s', async (token) => {
    const given: string[] = [];
    const introspect = (text: string) => {
      given.push(text);
      return active;
    };
    expect((await createChecker({ introspect })(token)).reason).toBeUndefined();
    expect(given).toEqual([token]);
  });

  test('keeps nothing for another request, and its time is checked at each check of one', async () => {
    let asked = 0;
    let now = 0;
    const introspect = () => ({ ...active, exp: 10, asked: asked++ });
    const check = createChecker({ introspect }, { now: () => now * 1000 });
    for (now of [0, 9]) expect((await check('opaque')).reason).toBeUndefined();
    expect(asked).toBe(2);
    const guard = createGuard({
      issuer: ISSUER,
      audience: AUDIENCE,
      introspect: () => ({ ...active, asked: asked++ }),
    });
    const request = new Request('http://localhost/', { headers: bearer('opaque') });
    for (const _ of [1, 2]) expect(await guard.check(request)).toHaveProperty('claims.asked', 2);
  });
});
