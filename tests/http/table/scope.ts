import { describe, expect, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import type { TokenRow } from '../../support/token-rows.ts';
import { accepts, PRIVATE, SCOPED } from './tokens.ts';

const sufficient = [
  ...['read:messages', 'read:messages write:messages', 'openid read:messages profile', 'openid  read:messages'],
  ...[' read:messages ', 'openid\tread:messages', 'openid\nread:messages', 'read:messages read:messages'],
].map((scope): TokenRow => [JSON.stringify(scope), { claims: { scope } }]);
/** Claims of a token that is accepted and grants nothing. */
const insufficient = [
  ...[undefined, '', ' ', 'write:messages', 'read:message', 'read:messagesx', 'xread:messages', 'READ:MESSAGES'],
  ...['read:messages,write:messages', 'read: messages', 'read:*', '*', null, 1, true, 'read:messages:all'],
  ...[['read:messages write:messages'], ['read:messages', 1], { 'read:messages': true }, [['read:messages']]],
]
  .map((scope): Readonly<Record<string, unknown>> => ({ scope }))
  .concat(
    { scope: undefined, permissions: ['read:messages'] },
    ...['read:messages', ['read:messages']].map((scp) => ({ scope: undefined, scp })),
    { scope: undefined, ['__proto__']: { scope: 'read:messages' } },
    { scope: undefined, Scope: 'read:messages', scopes: 'read:messages', roles: ['read:messages'] },
  );

/** Rows on what the scope claim grants. */
export function scopeRows(fixture: () => Fixture): void {
  describe('the scope claim', () => {
    accepts(fixture, sufficient, SCOPED);

    for (const claims of insufficient)
      test(`grants no scope in ${JSON.stringify(claims)}: 403 on the scoped path, 200 on the other`, async () => {
        const token = fixture().mint({ claims });
        await expectError(await fixture().get(SCOPED, token), 403, 'Unauthorized');
        await expectMessage(await fixture().get(PRIVATE, token));
      });

    test('decides for each token separately, in any order', async () => {
      const [granted, bare] = [fixture().mint(), fixture().mint({ claims: { scope: '' } })];
      const statuses = [];
      for (const token of [granted, bare, granted, bare]) statuses.push((await fixture().get(SCOPED, token)).status);
      expect(statuses).toEqual([200, 403, 200, 403]);
    });
  });
}
