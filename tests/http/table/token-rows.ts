import { test } from 'bun:test';
import type { RefusalReason } from '../../../src/auth/refusals.ts';
import { type Challenge, expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import type { TokenOverrides } from '../../support/mint.ts';

/** A token by what sets it apart from a good one; a function where that needs the issuer's address. */
export interface TokenRow {
  readonly name: string;
  readonly token: TokenOverrides | ((issuer: string) => TokenOverrides);
  /** Why the verifier rejects it, if not for `token_malformed`. */
  readonly reason?: RefusalReason;
}

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';

export const overridesOf = ({ token }: TokenRow, issuer: string) =>
  typeof token === 'function' ? token(issuer) : token;

/** Every row is answered with the message, on `path`. */
export function accepts(fixture: () => Fixture, rows: readonly TokenRow[], path = PRIVATE): void {
  for (const row of rows) {
    test(`accepts ${row.name}`, async () => {
      const response = await fixture().get(path, fixture().mint(overridesOf(row, fixture().issuer.url)));
      await expectMessage(response);
      expectProtected(response);
    });
  }
}

/** Every row is refused as this error, on both protected paths: the token is judged before its scope. */
export function refuses(
  fixture: () => Fixture,
  rows: readonly TokenRow[],
  code: 'invalid_header' | 'invalid_claims' | 'token_expired',
  challenge: Challenge = 'invalid_token',
): void {
  for (const row of rows) {
    test(`refuses ${row.name}: ${code}`, async () => {
      const token = fixture().mint(overridesOf(row, fixture().issuer.url));
      await expectError(await fixture().get(PRIVATE, token), 401, code, challenge);
      await expectError(await fixture().get(SCOPED, token), 401, code, challenge);
    });
  }
}
