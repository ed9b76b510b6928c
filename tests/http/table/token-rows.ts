import { test } from 'bun:test';
import type { Bench } from '../../support/bench.ts';
import { type Challenge, expectError, expectMessage, expectProtected } from '../../support/expect-error.ts';
import type { TokenOverrides } from '../../support/mint.ts';

/** A token by what sets it apart from a good one; a function where that needs the issuer's address. */
export interface TokenRow {
  readonly name: string;
  readonly token: TokenOverrides | ((issuer: string) => TokenOverrides);
}

export const PRIVATE = '/api/private';
export const SCOPED = '/api/private-scoped';

const overridesOf = ({ token }: TokenRow, bench: Bench) =>
  typeof token === 'function' ? token(bench.issuer.url) : token;

/** Every row is answered with the message, on `path`. */
export function accepts(bench: () => Bench, rows: readonly TokenRow[], path = PRIVATE): void {
  for (const row of rows) {
    test(`accepts ${row.name}`, async () => {
      const response = await bench().get(path, bench().mint(overridesOf(row, bench())));
      await expectMessage(response);
      expectProtected(response);
    });
  }
}

/** Every row is refused as this error, on both protected paths: the token is judged before its scope. */
export function refuses(
  bench: () => Bench,
  rows: readonly TokenRow[],
  code: 'invalid_header' | 'invalid_claims' | 'token_expired',
  challenge: Challenge = 'invalid_token',
): void {
  for (const row of rows) {
    test(`refuses ${row.name}: ${code}`, async () => {
      const token = bench().mint(overridesOf(row, bench()));
      await expectError(await bench().get(PRIVATE, token), 401, code, challenge);
      await expectError(await bench().get(SCOPED, token), 401, code, challenge);
    });
  }
}
