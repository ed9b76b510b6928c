import { expect, test } from 'bun:test';
import { createGuard } from 'protected-api';
import { authInfoOf, protectMcp } from 'protected-api/mcp';
import { createTestIssuer } from 'protected-api/testing';
import { createTaskFinder, McpHandles } from '../../../src/auth/mcp/handles.ts';
import { bearer } from '../../support/mint.ts';
import { guardFor, issuer, message, resource } from './doors.ts';

/** Opens sessions with these numbers for an owner. */
const open = (sessions: McpHandles, owner: string, from: number, to: number) => {
  for (let number = from; number < to; number += 1) sessions.use(`${owner} ${number}`, owner);
};
const isKept = (sessions: McpHandles, session: string) => sessions.ownerOf(session) !== undefined;

test('an owner has 100 sessions, and the one that was not used for longest is forgotten', () => {
  const sessions = new McpHandles();
  open(sessions, 'bob', 0, 1);
  open(sessions, 'ada', 0, 100);
  sessions.use('ada 0', 'ada');
  open(sessions, 'ada', 100, 101);
  expect(['ada 0', 'ada 1', 'ada 2', 'bob 0'].map((each) => isKept(sessions, each))).toEqual([true, false, true, true]);
});

test('10,000 sessions are kept in all', () => {
  const sessions = new McpHandles();
  for (let owner = 0; owner < 100; owner += 1) open(sessions, `owner ${owner}`, 0, 100);
  expect(isKept(sessions, 'owner 0 0')).toBe(true);
  sessions.use('one more', 'ada');
  expect(['owner 0 0', 'owner 0 1', 'one more'].map((each) => isKept(sessions, each))).toEqual([false, true, true]);
});

test('what left counts for nobody: ended by its owner, or by those of others', () => {
  const sessions = new McpHandles();
  open(sessions, 'ada', 0, 100);
  for (let number = 0; number < 50; number += 1) sessions.end(`ada ${number}`);
  sessions.end('ada 0');
  open(sessions, 'ada', 100, 150);
  expect(['ada 50', 'ada 149'].map((each) => isKept(sessions, each))).toEqual([true, true]);
  for (let owner = 0; owner < 100; owner += 1) open(sessions, `owner ${owner}`, 0, 100);
  open(sessions, 'ada', 150, 250);
  expect(['ada 149', 'ada 150', 'ada 249'].map((each) => isKept(sessions, each))).toEqual([false, true, true]);
});

test('a session that nobody owns is the first user\u2019s, and is then nobody else\u2019s', () => {
  const sessions = new McpHandles();
  expect(sessions.ownerOf('a')).toBeUndefined();
  for (const user of ['ada', 'bob']) sessions.use('a', user);
  expect(sessions.ownerOf('a')?.user).toBe('ada');
  sessions.end('a');
  expect([sessions.ownerOf('a'), sessions.ownerOf(undefined)]).toEqual([undefined, undefined]);
});

const bytes = (text: string) => new TextEncoder().encode(text);
const answer = (result: object, id = 1) => JSON.stringify({ jsonrpc: '2.0', id, result });
const tooLong = 'a'.repeat(100_000);

test.each<[what: string, parts: readonly (string | Uint8Array)[], found: readonly unknown[]]>([
  ['in one part', [answer({ task: { taskId: 'a' } })], [['a', 1]]],
  ['beside others', [answer({ resultType: 'task', taskId: 'a' })], [['a', 1]]],
  [
    'in a list',
    [`[${answer({ task: { taskId: 'a' } })},${answer({ task: { taskId: 'b' } }, 2)}]`],
    [
      ['a', 1],
      ['b', 2],
    ],
  ],
  ['in several lines', [JSON.stringify(JSON.parse(answer({ task: { taskId: 'a' } })), null, 2)], [['a', 1]]],
  ['in several lines, in parts', [...JSON.stringify([JSON.parse(answer({ taskId: 'a' }))], null, '\t')], [['a', 1]]],
  ['in events whose lines end with CR', [`event: message\rdata: ${answer({ taskId: 'a' })}\r\r`], [['a', 1]]],
  ['in parts of a byte', [...bytes(answer({ text: 'é', taskId: 'é' }))].map((byte) => Uint8Array.of(byte)), [['é', 1]]],
  ['after a line that is too long', [tooLong, tooLong, `\n${answer({ taskId: 'a' })}`], [['a', 1]]],
  ['in a line that is too long', [tooLong, answer({ taskId: 'a' })], []],
  ['as text of a tool', [answer({ content: [{ type: 'text', text: '{"taskId":"a"}' }] })], []],
  ['as a part of what a tool returns', [answer({ structuredContent: { task: { taskId: 'a' } } })], []],
  ['as a number', [answer({ task: { taskId: 1 } })], []],
  ['in no JSON', ['"taskId" {', 'null\n"taskId"\n'], []],
])('the ID of a task is found %s', (_, parts, found) => {
  const tasks: unknown[] = [];
  const read = createTaskFinder((...task) => tasks.push(task));
  for (const part of parts) read(part);
  expect(tasks).toEqual(found as unknown[]);
});

const send = (guard: ReturnType<typeof guardFor>, respond: (id: string) => Response | Promise<Response>) => {
  const mcp = protectMcp(guard, { sessions: true }, (request) => respond(request.headers.get('mcp-session-id') ?? ''));
  return async (token: string, id?: string) => {
    const headers = { ...bearer(token), ...(id !== undefined && { 'mcp-session-id': id }) };
    const body = JSON.stringify(message('tools/list'));
    return (await mcp(new Request(resource, { method: 'POST', headers, body }))).status;
  };
};
const [ada, bob] = [await issuer.token({ sub: 'ada' }), await issuer.token({ sub: 'bob' })];

test('a response that is a rejection opens no session', async () => {
  const statuses = [404, 200];
  const request = send(guardFor(), () => new Response(null, { status: statuses.shift() ?? 200 }));
  expect([await request(ada, 'x'), await request(bob, 'x'), await request(ada, 'x')]).toEqual([404, 200, 404]);
});

test('of two users of a session that is not known, the first to get a response keeps it', async () => {
  const pending: ((response: Response) => void)[] = [];
  const request = send(guardFor(), () =>
    pending.length < 2 ? new Promise((done) => pending.push(done)) : new Response(),
  );
  const both = [request(ada, 'x'), request(bob, 'x')];
  while (pending.length < 2) await Bun.sleep(0);
  pending[0]?.(new Response());
  const first = await Promise.race(both.map((response, user) => response.then(() => user)));
  pending[1]?.(new Response());
  await Promise.all(both);
  const statuses = [await request(ada, 'x'), await request(bob, 'x')];
  expect(statuses).toEqual(first === 0 ? [200, 404] : [404, 200]);
});

test('users of two issuers are two, whatever their subject is', async () => {
  const issuers = [await createTestIssuer(), await createTestIssuer()];
  const [audience] = [issuers[0]?.options.audience ?? ''];
  const names = ['https://one.example.test/', 'https://two.example.test/'];
  const guard = createGuard({
    issuer: issuers.map(({ options }, at) => ({ issuer: names[at] ?? '', keys: options.keys })),
    audience,
    publicUrl: 'http://localhost:3010',
    resource,
  });
  const [one = '', two = ''] = await Promise.all(
    issuers.map((each, at) => each.token({ iss: names[at] ?? '', aud: audience, sub: 'ada' })),
  );
  const request = send(guard, () => new Response());
  expect([await request(one, 'x'), await request(two, 'x')]).toEqual([200, 404]);
});

test('authInfoOf() names the first URL of the audience, and a client that is not known', async () => {
  const token = await issuer.token({ sub: 'ada', aud: ['app', 'https://api.example.com/mcp'], scope: 'a b' });
  const guard = createGuard({ ...issuer.options, audience: 'app' });
  const auth = await guard.requireToken(new Request(resource, { headers: bearer(token) }));
  const info = authInfoOf(auth);
  expect({ ...info, resource: info.resource?.href }).toEqual({
    ...{ token, clientId: 'unknown', scopes: ['a', 'b'], expiresAt: auth.claims.exp },
    ...{
      resource: 'https://api.example.com/mcp',
      extra: { claims: auth.claims, user: JSON.stringify([issuer.options.issuer, 'ada', null]) },
    },
  });
  const named = createGuard({ ...issuer.options, audience: 'other' });
  const other = bearer(await issuer.token({ aud: 'other', client_id: 'app' }));
  const without = authInfoOf(await named.requireToken(new Request(resource, { headers: other })));
  expect([without.clientId, 'resource' in without]).toEqual(['app', false]);
});
