import { describe, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { PRIVATE, SCOPED } from './tokens.ts';

/** Rows on the scope of a route. tests/auth/guard/scopes.test.ts has what a claim grants. */
export function scopeRows(fixture: () => Fixture): void {
  describe('the scope claim', () => {
    for (const scope of ['read:messages', 'openid\tread:messages  profile'])
      test(`grants the scope in ${JSON.stringify(scope)}`, async () => {
        const token = fixture().mint({ claims: { scope } });
        for (const path of [SCOPED, PRIVATE]) await expectMessage(await fixture().get(path, token));
      });

    for (const scope of [undefined, 'read:messages:all', ['read:messages', 1]])
      test(`grants no scope in ${JSON.stringify(scope)}: 403 on the scoped path, 200 on the other`, async () => {
        const token = fixture().mint({ claims: { scope } });
        await expectError(await fixture().get(SCOPED, token), 403, 'Unauthorized');
        await expectMessage(await fixture().get(PRIVATE, token));
      });
  });
}
