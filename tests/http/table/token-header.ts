import { afterAll, beforeAll, expect, test } from 'bun:test';
import { expectError } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { type Issuer, startIssuer } from '../../support/issuer.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { SIGNING_KID } from '../../support/mint.ts';
import { accepts, PRIVATE, refuses, type TokenRow } from './token-rows.ts';

const accepted: readonly TokenRow[] = [
  { name: 'no typ', token: { header: { typ: undefined } } },
  ...['JWT', 'jwt', 'Jwt', 'at+jwt', 'AT+JWT', 'application/jwt', 'application/at+jwt', 'Application/AT+JWT'].map(
    (typ) => ({
      name: `typ ${typ}`,
      token: { header: { typ } },
    }),
  ),
  { name: 'header members it does not know', token: { header: { 'x-note': { deep: [1] } } } },
];

const wrongType: readonly TokenRow[] = [' JWT', 'JWS', 'dpop+jwt', 'at+jwt; charset=utf-8', null, 1, ['JWT']].map(
  (typ) => ({
    name: `typ ${JSON.stringify(typ)}`,
    token: { header: { typ } },
    reason: 'type_unsupported',
  }),
);

const notHeader: readonly TokenRow[] = [
  { name: 'a header that is not JSON', token: { headerText: 'not json' } },
  { name: 'a header cut short', token: { headerText: '{"alg":"RS256"' } },
  { name: 'null as header', token: { headerText: 'null' } },
  { name: 'text as header', token: { headerText: '"RS256"' } },
  { name: 'a list as header', token: { headerText: '["RS256"]' } },
  { name: 'text that is not UTF-8 as header', token: { headerText: Uint8Array.of(0x22, 0xff, 0x22) } },
  {
    name: 'a header with a member that is not UTF-8',
    token: { headerText: Buffer.from(`{"alg":"RS256","kid":"${SIGNING_KID}","x":"\xff"}`, 'latin1') },
  },
  {
    name: 'a byte order mark before the header',
    token: { headerText: `\ufeff{"alg":"RS256","kid":"${SIGNING_KID}"}` },
  },
  { name: 'an empty object as header', token: { headerText: '{}' }, reason: 'algorithm_unsupported' },
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

/** Faults that no key can change, so that none is fetched. */
export const faultyHeaders: readonly TokenRow[] = [...wrongType, ...notHeader];

/** Rows about the header of the token. */
export function tokenHeaderRows(fixture: () => Fixture): void {
  accepts(fixture, accepted);
  refuses(fixture, faultyHeaders, 'invalid_header');
  ignoredMembers(fixture);
}
