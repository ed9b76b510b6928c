import { expect, test } from 'bun:test';
import { challengeOf } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { rsaKey } from '../../support/keys.ts';
import { AUDIENCE, nowSeconds } from '../../support/mint.ts';
import { accepts, PRIVATE, refuses, type TokenRow } from './token-rows.ts';

const HOUR = 3600;
const expired = { exp: 1 };
const otherAudience = { aud: 'https://other.example.test/' };

const accepted: readonly TokenRow[] = [
  { name: 'a valid token', token: {} },
  { name: 'the audience as the only member of an array', token: { claims: { aud: [AUDIENCE] } } },
  { name: 'the audience among others', token: { claims: { aud: ['https://other.example.test/', AUDIENCE] } } },
  {
    name: 'a token without iat, sub and scope',
    token: { claims: { iat: undefined, sub: undefined, scope: undefined } },
  },
  { name: 'an exp with a fraction', token: () => ({ claims: { exp: nowSeconds() + HOUR + 0.5 } }) },
  { name: 'an nbf in the past', token: { claims: { nbf: 1 } } },
  { name: 'claims it does not know', token: { claims: { azp: 'client-1', 'https://example.test/x': [{ y: null }] } } },
  { name: 'claims beyond ASCII', token: { claims: { name: 'Zoë 🦊' } } },
];

const notClaims: readonly TokenRow[] = [
  { name: 'a payload that is not JSON', token: { payloadText: 'not json' } },
  { name: 'a payload cut short', token: { payloadText: '{"iss":' } },
];

/** The signature is looked at first; then issuer, audience and time in this order. */
const firstFaultIsSignature: readonly TokenRow[] = [
  { name: 'a wrong iss with a bad signature', token: () => ({ claims: { iss: 'x' }, key: rsaKey('stranger') }) },
  { name: 'an expired token of an unknown key', token: { claims: expired, header: { kid: 'never-published' } } },
];

const firstFaultIsClaim: readonly TokenRow[] = [
  { name: 'an expired token with a wrong iss', token: { claims: { ...expired, iss: 'x' } } },
  { name: 'an expired token with a wrong aud', token: { claims: { ...expired, ...otherAudience } } },
  { name: 'a wrong aud with no exp', token: { claims: { ...otherAudience, exp: undefined } } },
  { name: 'a wrong aud with an nbf ahead of time', token: { claims: { ...otherAudience, nbf: 2 ** 40 } } },
];

/** Rows about the claims. */
export function tokenClaimRows(fixture: () => Fixture): void {
  accepts(fixture, accepted);
  refuses(
    fixture,
    [{ name: 'an exp at the very second', token: () => ({ claims: { exp: nowSeconds() } }) }],
    'token_expired',
  );
  refuses(fixture, notClaims, 'invalid_header');
  refuses(fixture, firstFaultIsSignature, 'invalid_header');
  refuses(fixture, firstFaultIsClaim, 'invalid_claims');
  refuses(
    fixture,
    [{ name: 'an expired token without the scope', token: { claims: { ...expired, scope: '' } } }],
    'token_expired',
  );

  for (const aud of ['https://other.example.test/', undefined]) {
    test(`says in the challenge that the required audience is missing when aud is ${aud}`, async () => {
      const response = await fixture().get(PRIVATE, fixture().mint({ claims: { aud } }));
      expect(challengeOf(response).error_description).toMatch(/required audience is missing/);
    });
  }
}
