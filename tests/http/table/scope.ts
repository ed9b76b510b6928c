import { describe, expect, test } from 'bun:test';
import { expectError, expectMessage } from '../../support/expect-error.ts';
import type { Fixture } from '../../support/fixture.ts';
import { accepts, PRIVATE, SCOPED, type TokenRow } from './token-rows.ts';

const withScope = (scope: unknown): TokenRow => ({ name: JSON.stringify(scope), token: { claims: { scope } } });

const sufficient: readonly TokenRow[] = [
  'read:messages',
  'read:messages write:messages',
  'openid read:messages profile',
  'openid  read:messages',
  ' read:messages ',
  'openid\tread:messages',
  'openid\nread:messages',
  'read:messages read:messages',
].map(withScope);

const insufficient: readonly TokenRow[] = [
  ...[
    undefined,
    '',
    ' ',
    'write:messages',
    'read:message',
    'read:messagesx',
    'xread:messages',
    'READ:MESSAGES',
    'read:messages,write:messages',
    'read: messages',
    'read:*',
    '*',
    null,
    1,
    true,
    'read:messages:all',
    ['read:messages write:messages'],
    ['read:messages', 1],
    { 'read:messages': true },
    [['read:messages']],
  ].map(withScope),
  { name: 'permissions', token: { claims: { scope: undefined, permissions: ['read:messages'] } } },
  { name: 'scp as text', token: { claims: { scope: undefined, scp: 'read:messages' } } },
  { name: 'scp as a list', token: { claims: { scope: undefined, scp: ['read:messages'] } } },
  { name: 'a scope in __proto__', token: { claims: { scope: undefined, ['__proto__']: { scope: 'read:messages' } } } },
  { name: 'Scope', token: { claims: { scope: undefined, Scope: 'read:messages' } } },
  { name: 'scopes', token: { claims: { scope: undefined, scopes: 'read:messages' } } },
  { name: 'roles', token: { claims: { scope: undefined, roles: ['read:messages'] } } },
];

/** Rows on what the scope claim grants. */
export function scopeRows(fixture: () => Fixture): void {
  describe('the scope claim', () => {
    accepts(fixture, sufficient, SCOPED);

    for (const { name, token } of insufficient) {
      test(`grants no scope as ${name}: 403 on the scoped path, 200 on the other`, async () => {
        const minted = fixture().mint(typeof token === 'function' ? {} : token);
        await expectError(await fixture().get(SCOPED, minted), 403, 'Unauthorized');
        await expectMessage(await fixture().get(PRIVATE, minted));
      });
    }

    test('is not consulted before the token is verified', async () => {
      await expectError(await fixture().service.fetch(SCOPED), 401, 'authorization_header_missing');
    });

    test('decides for each token separately, in any order', async () => {
      const [granted, bare] = [fixture().mint(), fixture().mint({ claims: { scope: '' } })];
      const statuses = [];
      for (const token of [granted, bare, granted, bare]) statuses.push((await fixture().get(SCOPED, token)).status);
      expect(statuses).toEqual([200, 403, 200, 403]);
    });
  });
}
