import { expect, test } from 'bun:test';
import { challengeOf } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { rsaKey } from '../../support/keys.ts';
import { AUDIENCE, goodParts, nowSeconds } from '../../support/mint.ts';
import { accepts, PRIVATE, refuses, type TokenRow } from './token-rows.ts';

const HOUR = 3600;
const expired = { exp: nowSeconds() - HOUR };
const otherAudience = { aud: 'https://other.example.test/' };

/** Writes a claim that JSON.stringify cannot: a number beyond what a double holds. */
const withClaimText = (name: string, json: string) => (issuer: string) => {
  const { [name]: _, ...claims } = goodParts(issuer).claims;
  return { payloadText: `${JSON.stringify(claims).slice(0, -1)},"${name}":${json}}` };
};

/** A lone byte above ASCII is no UTF-8, and so no JSON. */
const withNameInLatin1 = (issuer: string) => ({
  payloadText: Buffer.from(JSON.stringify({ ...goodParts(issuer).claims, name: 'Zo\u00eb' }), 'latin1'),
});

const accepted: readonly TokenRow[] = [
  { name: 'a valid token', token: {} },
  { name: 'the audience as the only member of an array', token: { claims: { aud: [AUDIENCE] } } },
  { name: 'the audience among others', token: { claims: { aud: ['https://other.example.test/', AUDIENCE] } } },
  {
    name: 'a token without iat, sub and scope',
    token: { claims: { iat: undefined, sub: undefined, scope: undefined } },
  },
  { name: 'an exp with a fraction', token: { claims: { exp: nowSeconds() + HOUR + 0.5 } } },
  { name: 'an nbf in the past', token: { claims: { nbf: nowSeconds() - 1 } } },
  { name: 'claims it does not know', token: { claims: { azp: 'client-1', 'https://example.test/x': [{ y: null }] } } },
  { name: 'claims beyond ASCII', token: { claims: { name: 'Zoë 🦊' } } },
];

const wrongIssuer: readonly TokenRow[] = [
  { name: 'no iss', token: { claims: { iss: undefined } } },
  { name: 'another iss', token: { claims: { iss: 'https://other.example.test/' } } },
  { name: 'an iss without its trailing slash', token: (issuer) => ({ claims: { iss: issuer.slice(0, -1) } }) },
  { name: 'an iss with something after it', token: (issuer) => ({ claims: { iss: `${issuer}x` } }) },
  { name: 'an iss in another case', token: (issuer) => ({ claims: { iss: issuer.toUpperCase() } }) },
  { name: 'an iss in an array', token: (issuer) => ({ claims: { iss: [issuer] } }) },
  { name: 'an empty iss', token: { claims: { iss: '' } } },
  { name: 'a null iss', token: { claims: { iss: null } } },
  { name: 'a numeric iss', token: { claims: { iss: 1 } } },
];

const wrongAudience: readonly TokenRow[] = [
  { name: 'no aud', token: { claims: { aud: undefined } } },
  { name: 'another aud', token: { claims: otherAudience } },
  { name: 'an empty aud', token: { claims: { aud: '' } } },
  { name: 'an empty array as aud', token: { claims: { aud: [] } } },
  { name: 'an array of others as aud', token: { claims: { aud: [otherAudience.aud, `${AUDIENCE}x`] } } },
  { name: 'an array in an array as aud', token: { claims: { aud: [[AUDIENCE]] } } },
  { name: 'an array of the audience and a number as aud', token: { claims: { aud: [AUDIENCE, 1] } } },
  { name: 'the start of the audience', token: { claims: { aud: AUDIENCE.slice(0, -1) } } },
  { name: 'the audience within a longer text', token: { claims: { aud: `x ${AUDIENCE} y` } } },
  { name: 'the audience in another case', token: { claims: { aud: AUDIENCE.toUpperCase() } } },
  { name: 'a null aud', token: { claims: { aud: null } } },
  { name: 'a numeric aud', token: { claims: { aud: 1 } } },
  { name: 'an object as aud', token: { claims: { aud: { [AUDIENCE]: true } } } },
];

const pastExpiry: readonly TokenRow[] = [
  { name: 'an exp an hour ago', token: { claims: expired } },
  { name: 'an exp at the very second', token: () => ({ claims: { exp: nowSeconds() } }) },
  { name: 'an exp of 0', token: { claims: { exp: 0 } } },
  { name: 'an exp below 0', token: { claims: { exp: -1 } } },
];

const mistypedTimes: readonly TokenRow[] = [
  { name: 'no exp', token: { claims: { exp: undefined } } },
  { name: 'a null exp', token: { claims: { exp: null } } },
  { name: 'an exp as text', token: { claims: { exp: String(nowSeconds() + HOUR) } } },
  { name: 'an exp in an array', token: { claims: { exp: [nowSeconds() + HOUR] } } },
  { name: 'an infinite exp', token: withClaimText('exp', '1e400') },
  { name: 'an infinitely negative exp', token: withClaimText('exp', '-1e400') },
  { name: 'an nbf ahead of time', token: { claims: { nbf: nowSeconds() + HOUR } } },
  { name: 'an nbf as text', token: { claims: { nbf: String(nowSeconds() - HOUR) } } },
  { name: 'an infinite nbf', token: withClaimText('nbf', '1e400') },
  { name: 'an infinitely negative nbf', token: withClaimText('nbf', '-1e400') },
  { name: 'an iat as text', token: { claims: { iat: String(nowSeconds()) } } },
];

const bound: readonly TokenRow[] = [
  { name: 'a token bound to a DPoP key', token: { claims: { cnf: { jkt: 'x'.repeat(43) } } } },
  { name: 'a token bound to a certificate', token: { claims: { cnf: { 'x5t#S256': 'x'.repeat(43) } } } },
  { name: 'a token with an empty cnf', token: { claims: { cnf: {} } } },
];

const notClaims: readonly TokenRow[] = [
  { name: 'a payload that is not JSON', token: { payloadText: 'not json' } },
  { name: 'a payload cut short', token: { payloadText: '{"iss":' } },
  { name: 'an array as payload', token: { payloadText: '[]' } },
  { name: 'null as payload', token: { payloadText: 'null' } },
  { name: 'text as payload', token: { payloadText: '"text"' } },
  { name: 'a number as payload', token: { payloadText: '1' } },
  { name: 'a payload that is not UTF-8', token: withNameInLatin1 },
];

/** The signature is looked at first; then issuer, audience and time in this order. */
const firstFaultIsSignature: readonly TokenRow[] = [
  { name: 'an expired token with a bad signature', token: () => ({ claims: expired, key: rsaKey('stranger') }) },
  { name: 'a wrong iss with a bad signature', token: () => ({ claims: { iss: 'x' }, key: rsaKey('stranger') }) },
  { name: 'a wrong aud with a bad signature', token: () => ({ claims: otherAudience, key: rsaKey('stranger') }) },
  { name: 'an expired token of an unknown key', token: { claims: expired, header: { kid: 'never-published' } } },
];

const firstFaultIsClaim: readonly TokenRow[] = [
  { name: 'an expired token with a wrong iss', token: { claims: { ...expired, iss: 'x' } } },
  { name: 'an expired token with a wrong aud', token: { claims: { ...expired, ...otherAudience } } },
  { name: 'a wrong aud with no exp', token: { claims: { ...otherAudience, exp: undefined } } },
  { name: 'a wrong aud with an nbf ahead of time', token: { claims: { ...otherAudience, nbf: nowSeconds() + HOUR } } },
];

/** Rows on what the payload says. */
export function tokenClaimRows(fixture: () => Fixture): void {
  accepts(fixture, accepted);
  refuses(fixture, wrongIssuer, 'invalid_claims');
  refuses(fixture, wrongAudience, 'invalid_claims');
  refuses(fixture, pastExpiry, 'token_expired');
  refuses(fixture, mistypedTimes, 'invalid_header');
  refuses(fixture, bound, 'invalid_header');
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
