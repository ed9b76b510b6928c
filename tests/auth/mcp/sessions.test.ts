import { expect, test } from 'bun:test';
import { McpSessions } from '../../../src/auth/mcp/sessions.ts';

/** Opens sessions with these numbers for an owner. */
const open = (sessions: McpSessions, owner: string, from: number, to: number) => {
  for (let number = from; number < to; number += 1) sessions.use(`${owner} ${number}`, owner);
};
const isKept = (sessions: McpSessions, session: string) => sessions.isForeign(session, 'somebody');

test('an owner has 100 sessions, and the one that was not used for longest is forgotten', () => {
  const sessions = new McpSessions();
  open(sessions, 'bob', 0, 1);
  open(sessions, 'ada', 0, 100);
  sessions.use('ada 0', 'ada');
  open(sessions, 'ada', 100, 101);
  expect(['ada 0', 'ada 1', 'ada 2', 'bob 0'].map((each) => isKept(sessions, each))).toEqual([true, false, true, true]);
});

test('10,000 sessions are kept in all', () => {
  const sessions = new McpSessions();
  for (let owner = 0; owner < 100; owner += 1) open(sessions, `owner ${owner}`, 0, 100);
  expect(isKept(sessions, 'owner 0 0')).toBe(true);
  sessions.use('one more', 'ada');
  expect(['owner 0 0', 'owner 0 1', 'one more'].map((each) => isKept(sessions, each))).toEqual([false, true, true]);
});

test('a session that nobody owns is the first user\u2019s, and is then nobody else\u2019s', () => {
  const sessions = new McpSessions();
  sessions.use('a', '');
  expect([sessions.isForeign('a', ''), sessions.isForeign('a', 'ada')]).toEqual([false, false]);
  sessions.use('a', 'ada');
  expect(['', 'ada', 'bob'].map((owner) => sessions.isForeign('a', owner))).toEqual([true, false, true]);
  sessions.end('a');
  expect(sessions.isForeign('a', 'bob')).toBe(false);
});
