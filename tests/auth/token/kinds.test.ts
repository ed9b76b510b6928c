import { describe, expect, test } from 'bun:test';
import { explainToken } from '../../../src/auth/explain.ts';
import type { GuardOptions } from '../../../src/auth/index.ts';
import { createChecker, offline, tokenOf } from '../../support/checked.ts';
import { AUDIENCE, nowSeconds } from '../../support/mint.ts';

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
type Claims = Readonly<Record<string, unknown>>;
type Required = NonNullable<GuardOptions['requiredClaims']>;
const kindClaims = 'token_use token_usage token_type tokenType TokenType tokenName tok_type typ'.split(' ');
/** The claims of each token, and what an API requires that takes such tokens on purpose. */
const otherKinds: readonly (readonly [name: string, claims: Claims, required: Required])[] = [
  ...['id', 'ID', 'id_token', 'id-token', 'ID_Token', 'refresh', 'refresh_token', 'Refresh-Token', 'REFRESH'].flatMap(
    (kind) => kindClaims.map((name) => oneClaim(name, kind)),
  ),
  ...['Refresh', 'Offline', 'offline', 'Logout'].map((kind) => oneClaim('typ', kind)),
  oneClaim('drn', 'DSR'),
  ['a logout token', { events: { [logoutEvent]: {} } }, { events: logoutEvent }],
  ['one of Keycloak', { typ: 'Logout', events: { [logoutEvent]: {} } }, { typ: 'Logout', events: logoutEvent }],
];
function oneClaim(name: string, kind: string) {
  return [`${name} ${kind}`, { [name]: kind }, { [name]: ['access', kind] }] as const;
}

const accepted: readonly Claims[] = [
  ...['access', 'access_token', 'Bearer', 'at+jwt', 'DPoP', 'identity', '', ' id', 7, null, ['refresh']].map((typ) => ({
    typ,
  })),
  { kind: 'refresh', use: 'id', at_hash: 'h', c_hash: 'h', s_hash: 'h' },
  ...['access_token', 'id token', 'DSR'].map((tokenName) => ({ tokenName, tok_type: 'AT', drn: 'DS' })),
  ...[{}, [], logoutEvent, null, { 'https://schemas.example.test/session-revoked': {} }].map((events) => ({ events })),
];

/** Both ways in which claims come: in a JWT, and in an introspection response. */
const ways: Readonly<Record<string, (claims: Claims, options?: Partial<GuardOptions>) => Promise<string | undefined>>> =
  {
    'a JWT': async (claims, options) => (await createChecker(options)(tokenOf({ claims }))).reason,
    'an introspection response': async (claims, options) => {
      const response = { active: true, aud: AUDIENCE, exp: nowSeconds() + 300, ...claims };
      return (await createChecker({ introspect: () => response, ...options })('opaque')).reason;
    },
  };

describe.each(Object.entries(ways))('in %s', (_, reasonOf) => {
  test.each(otherKinds)(
    '%s is rejected, and accepted if requiredClaims names its claims',
    async (_name, claims, requiredClaims) => {
      expect(await reasonOf(claims)).toBe('type_unsupported');
      expect(await reasonOf(claims, { requiredClaims: { sub: 's' } })).toBe('required_claim_mismatch');
      expect(await reasonOf(claims, { requiredClaims })).toBeUndefined();
      for (const name in claims) {
        const { [name]: value = '', ...others } = requiredClaims;
        const pointed = { ...others, [`/${name}`]: value };
        if (name !== 'events') expect(await reasonOf(claims, { requiredClaims: pointed })).toBeUndefined();
        expect(await reasonOf(claims, { requiredClaims: { [name]: 'access' } })).toBe('required_claim_mismatch');
      }
    },
  );

  test('every other value is accepted', async () => {
    for (const claims of accepted) expect([claims, await reasonOf(claims)]).toEqual([claims, undefined]);
  });

  test('the audience is checked before the kind, and the time after it', async () => {
    expect(await reasonOf({ typ: 'ID', aud: 'other' })).toBe('audience_mismatch');
    expect(await reasonOf({ typ: 'ID', exp: 1 })).toBe('type_unsupported');
  });
});

test.each([
  ['a Bearer token', { token_type: 'Bearer' }, undefined],
  ['a DPoP token with its key', { token_type: 'DPoP', cnf: { jkt: 'x' } }, 'token_bound'],
  ['a DPoP token without cnf', { token_type: 'DPoP' }, 'token_inactive'],
  ['a DPoP token in other letters', { token_type: 'dpop', cnf: null }, 'token_inactive'],
  ['a DPoP token with another key', { token_type: 'DPoP', cnf: { 'x5t#S256': 'x' } }, 'token_inactive'],
  ['a DPoP token with a key of another type', { token_type: 'DPoP', cnf: { jkt: 1 } }, 'token_inactive'],
])('introspection: %s', async (_, claims, want) => {
  const allowed = { requiredClaims: { token_type: ['Bearer', 'DPoP', 'dpop'] } };
  for (const options of [{}, allowed])
    expect(await ways['an introspection response']?.(claims, options)).toBe(want as string);
});

test('explainToken() names the claim that says what kind of token it is, once its signature is verified', async () => {
  const explained = await explainToken(tokenOf({ claims: { token_use: 'id' } }), offline());
  expect(explained.advice).toContain(': the client must send an access token, not another kind such as');
  expect(explained.checks.filter(({ verdict }) => verdict === 'rejected')).toEqual([
    { name: 'kind', has: 'token_use id', verdict: 'rejected', words: expect.stringContaining('requiredClaims') },
  ]);
  const typed = await explainToken(tokenOf({ header: { typ: 'x' }, claims: { token_use: 'id' } }), offline());
  expect(typed.checks.find(({ verdict }) => verdict === 'rejected')?.name).toBe('type');
  expect((await explainToken(tokenOf(), offline())).checks.map(({ name }) => name)).not.toContain('kind');
});
