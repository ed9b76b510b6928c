import { describe, expect, test } from 'bun:test';
import type { RefusalReason } from '../../../src/auth/types.ts';
import { expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { ELSEWHERE, inWords, type TokenRow, tokenTextOf } from '../../support/token-rows.ts';
import { acceptedTokens, type Fault, tokenFaults } from './token-faults.ts';

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';
const MAX_TOKEN_BYTES = 8192;

/** The codes of faults other than `invalid_header`. */
const codes: Partial<Record<RefusalReason, string>> = {
  issuer_mismatch: 'invalid_claims',
  audience_mismatch: 'invalid_claims',
  token_expired: 'token_expired',
};
const codeOf = ({ reason }: Pick<Fault, 'reason'>) => codes[reason] ?? 'invalid_header';

/** The response to each token is the message. */
export function accepts(fixture: () => Fixture, rows: readonly TokenRow[]): void {
  for (const [name, token] of rows)
    test(`is accepted with ${name}`, async () => {
      const response = await fixture().get(PRIVATE, tokenTextOf(token, fixture().issuer.url));
      await expectMessage(response);
      expectProtected(response);
    });
}

/** Both paths reject each fault in the same way, twice: a rejected token must not be cached. */
export function refuses(fixture: () => Fixture, faults: readonly Fault[]): void {
  for (const fault of faults)
    test(`is refused with ${fault.name}: ${codeOf(fault)}`, async () => {
      const token = tokenTextOf(fault.token, fixture().issuer.url);
      for (const path of [PRIVATE, SCOPED, PRIVATE])
        await expectError(await fixture().get(path, token), 401, codeOf(fault));
    });
}

/** Returns a token of exactly this length: a base64url part cannot have every length, two can. */
function tokenOfLength({ mint }: Fixture, bytes: number): string {
  const padded = (header: number, claims: number) =>
    mint({ header: { pad: 'p'.repeat(header) }, claims: { note: 'n'.repeat(claims) } });
  const room = Math.floor(((bytes - padded(0, 0).length) * 3) / 4);
  const tokens = [0, 1, 2].flatMap((pads) => [0, 1, 2, 3].map((less) => padded(pads, room - pads - less)));
  return tokens.find(({ length }) => length === bytes) ?? `No token is ${bytes} bytes long`;
}

/** Rows on what a token may be and what it grants, for a service whose issuer publishes `crowdedKeySet()`. */
export function tokenRows(fixture: () => Fixture): void {
  describe('a token', () => {
    accepts(fixture, acceptedTokens);
    refuses(fixture, tokenFaults);

    test(`is accepted up to ${MAX_TOKEN_BYTES} bytes`, async () => {
      await expectMessage(await fixture().get(PRIVATE, tokenOfLength(fixture(), MAX_TOKEN_BYTES)));
      const longer = tokenOfLength(fixture(), MAX_TOKEN_BYTES + 1);
      await expectError(await fixture().get(PRIVATE, longer), 401, 'invalid_header');
    });

    test('causes no request to a URL in it (CVE-2025-59936, CVE-2024-21643)', () =>
      expect(fixture().issuer.requests.filter((path) => path.includes(ELSEWHERE))).toEqual([]));

    // tests/auth/guard/scopes.test.ts has what a claim grants.
    for (const [scope, status] of [
      ['read:messages', 200],
      ['openid\tread:messages  profile', 200],
      [undefined, 403],
      ['read:messages:all', 403],
      [['read:messages', 1], 403],
    ] as const)
      test(`with the scope claim ${inWords(scope)} is a ${status} on the scoped path, and a 200 on the other`, async () => {
        const token = fixture().mint({ claims: { scope } });
        const response = await fixture().get(SCOPED, token);
        if (status === 200) await expectMessage(response);
        else await expectError(response, status, 'Unauthorized');
        await expectMessage(await fixture().get(PRIVATE, token));
      });
  });
}
