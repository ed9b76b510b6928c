import { afterAll, beforeAll, expect, test } from 'bun:test';
import { constants, createHmac, createPublicKey, sign } from 'node:crypto';
import { expectError } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { ecKey, publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID, type TokenOverrides } from '../../support/mint.ts';
import { accepts, PRIVATE, refuses, type TokenRow } from './token-rows.ts';

const signingPem = () => createPublicKey(rsaKey(SIGNING_KID)).export({ type: 'spki', format: 'pem' });
const signedAs = (alg: unknown, signWith: TokenOverrides['signWith']) => () => ({
  header: { alg },
  ...(signWith && { signWith }),
});

const accepted: readonly TokenRow[] = [
  { name: 'no typ', token: { header: { typ: undefined } } },
  ...['JWT', 'jwt', 'Jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'Application/AT+JWT'].map((typ) => ({
    name: `typ ${typ}`,
    token: { header: { typ } },
  })),
  { name: 'header members it does not know', token: { header: { 'x-note': { deep: [1] } } } },
];

const wrongType: readonly TokenRow[] = [
  '',
  ' JWT',
  'JWS',
  'id+jwt',
  'logout+jwt',
  'dpop+jwt',
  'application/jwt',
  'at+jwt; charset=utf-8',
  null,
  1,
  ['JWT'],
].map((typ) => ({ name: `typ ${JSON.stringify(typ)}`, token: { header: { typ } } }));

const wrongAlgorithm: readonly TokenRow[] = [
  { name: 'no alg', token: { header: { alg: undefined } } },
  ...['none', 'None', 'NONE', 'rs256', 'RS256 ', '', null, 1, ['RS256'], { RS256: true }].map((alg) => ({
    name: `alg ${JSON.stringify(alg)} over a good signature`,
    token: { header: { alg } },
  })),
  { name: 'alg none without a signature', token: { header: { alg: 'none' }, signWith: () => Buffer.alloc(0) } },
  {
    name: 'HS256 with the public key as PEM',
    token: signedAs('HS256', (input) => createHmac('sha256', signingPem()).update(input).digest()),
  },
  {
    name: 'HS256 with the public key as JWK text',
    token: signedAs('HS256', (input) =>
      createHmac('sha256', JSON.stringify(publish(rsaKey(SIGNING_KID), SIGNING_KID)))
        .update(input)
        .digest(),
    ),
  },
  {
    name: 'HS256 with an empty secret',
    token: signedAs('HS256', (input) => createHmac('sha256', '').update(input).digest()),
  },
  {
    name: 'a real RS384 signature',
    token: signedAs('RS384', (input) => sign('RSA-SHA384', input, rsaKey(SIGNING_KID))),
  },
  {
    name: 'a real RS512 signature',
    token: signedAs('RS512', (input) => sign('RSA-SHA512', input, rsaKey(SIGNING_KID))),
  },
  {
    name: 'a real PS256 signature',
    token: signedAs('PS256', (input) =>
      sign('sha256', input, { key: rsaKey(SIGNING_KID), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
    ),
  },
  {
    name: 'a real ES256 signature by a published key',
    token: () => ({
      header: { alg: 'ES256', kid: 'elliptic' },
      signWith: (input) => sign('sha256', input, { key: ecKey('elliptic'), dsaEncoding: 'ieee-p1363' }),
    }),
  },
];

const signedUnderAnotherName: TokenRow = {
  name: 'a PS256 signature that calls itself RS256',
  token: {
    signWith: (input) =>
      sign('sha256', input, { key: rsaKey(SIGNING_KID), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }),
  },
};

const withKid = (kid: unknown): TokenRow => ({ name: `kid ${JSON.stringify(kid)}`, token: { header: { kid } } });

const noKeyId: readonly TokenRow[] = [undefined, '', null, 1, true, [SIGNING_KID], { kid: SIGNING_KID }].map(withKid);

const unknownKeyId: readonly TokenRow[] = [
  'never-published',
  SIGNING_KID.toUpperCase(),
  ` ${SIGNING_KID}`,
  `${SIGNING_KID}\0`,
  '__proto__',
  'constructor',
  '../signing-key',
].map(withKid);

const critical: readonly TokenRow[] = [['exp'], ['b64'], ['unheard-of'], [], 'exp', null, {}].map((crit) => ({
  name: `crit ${JSON.stringify(crit)}`,
  token: { header: { crit } },
}));

/** A lone byte above ASCII is no UTF-8. */
const latin1 = (text: string) => Buffer.from(text, 'latin1');

const notHeader: readonly TokenRow[] = [
  { name: 'a header that is not JSON', token: { headerText: 'not json' } },
  { name: 'a header cut short', token: { headerText: '{"alg":"RS256"' } },
  { name: 'an array as header', token: { headerText: '[{"alg":"RS256"}]' } },
  { name: 'null as header', token: { headerText: 'null' } },
  { name: 'text as header', token: { headerText: '"RS256"' } },
  { name: 'an empty object as header', token: { headerText: '{}' } },
  {
    name: 'a header that is not UTF-8',
    token: { headerText: latin1(`{"alg":"RS256","kid":"${SIGNING_KID}","x":"\u00ff"}`) },
  },
];

function ignoredMembers(fixture: () => Fixture): void {
  let stranger: Issuer | undefined;
  beforeAll(async () => {
    stranger = await startIssuer([publish(rsaKey('stranger'), SIGNING_KID)]);
  });
  afterAll(() => stranger?.close());

  test('never follows jku or x5u, nor trusts a jwk or x5c that a token brings', async () => {
    const address = `${stranger?.url}.well-known/jwks.json`;
    const pointers = {
      jku: address,
      x5u: address,
      jwk: publish(rsaKey('stranger'), SIGNING_KID),
      x5c: ['MIIB'],
      x5t: 'AAAA',
    };
    const forged = fixture().mint({ header: pointers, key: rsaKey('stranger') });
    await expectError(await fixture().get(PRIVATE, forged), 401, 'invalid_header');

    const signed = await fixture().get(PRIVATE, fixture().mint({ header: pointers }));
    expect(signed.status).toBe(200);
    expect(stranger?.fetches).toBe(0);
  });
}

/** What is wrong for every key, so that none needs to be asked for. */
export const faultyHeaders: readonly TokenRow[] = [
  ...wrongType,
  ...wrongAlgorithm,
  ...noKeyId,
  ...critical,
  ...notHeader,
];

/** Rows on what the JOSE header says. */
export function tokenHeaderRows(fixture: () => Fixture): void {
  accepts(fixture, accepted);
  refuses(fixture, faultyHeaders, 'invalid_header');
  refuses(fixture, unknownKeyId, 'invalid_header');
  refuses(fixture, [signedUnderAnotherName], 'invalid_header');
  ignoredMembers(fixture);
}
