import { describe, expect, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { claims, membersInWords } from '../../support/token-rows.ts';
import { accepts, PRIVATE, SCOPED } from './tokens.ts';

const sufficient = [
  ...['read:messages', 'read:messages write:messages', 'openid read:messages profile', 'openid  read:messages'],
  ...[' read:messages ', 'openid\tread:messages', 'openid\nread:messages', 'read:messages read:messages'],
];
/** Claims of a token that is accepted and grants nothing. */
const insufficient = [
  ...[undefined, '', ' ', 'write:messages', 'read:message', 'read:messagesx', 'xread:messages', 'READ:MESSAGES'],
  ...['read:messages,write:messages', 'read: messages', 'read:*', '*', null, 1, true, 'read:messages:all'],
  ...[['read:messages write:messages'], ['read:messages', 1], { 'read:messages': true }, [['read:messages']]],
]
  .map((scope): Readonly<Record<string, unknown>> => ({ scope }))
  .concat(
    { permissions: ['read:messages'] },
    { scp: 'read:messages' },
    { scp: ['read:messages'] },
    { ['__proto__']: { scope: 'read:messages' } },
    { Scope: 'read:messages', scopes: 'read:messages', roles: ['read:messages'] },
  );

/** Rows on what the scope claim grants. */
export function scopeRows(fixture: () => Fixture): void {
  describe('the scope claim', () => {
    accepts(fixture, claims('scope', 'RFC 6749 §3.3', sufficient), SCOPED);

    for (const granting of insufficient)
      test(`grants no scope in ${membersInWords(granting)}: 403 on the scoped path, 200 on the other`, async () => {
        const token = fixture().mint({ claims: { scope: undefined, ...granting } });
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
