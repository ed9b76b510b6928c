import { expect, test } from 'bun:test';
import { createRouteTable } from '../../src/http/route-table.ts';
import { createLog } from '../../src/observe/log.ts';
import { createRequestCounts } from '../../src/observe/request-counts.ts';
import { createObservation } from '../../src/observe/requests.ts';

const nowhere = { write() {}, flush() {}, droppedLines: () => 0, onRecovered() {} };

for (const [level, given, expected] of [
  ['info', undefined, undefined],
  ['info', 'given-1', 'given-1'],
  ['info', 'g"iv en', 'given'],
  ['debug', undefined, /^[0-9a-f-]{36}$/],
  ['debug', 'given-1', 'given-1'],
  ['debug', 'g"iv en', 'given'],
] as const) {
  test(`requestIdOf() is the id that the answer has, at ${level} with ${given ?? 'none'} given`, async () => {
    const log = createLog(level, { isTerminal: false, hasColour: false }, nowhere);
    const { wrap, requestIdOf } = createObservation({ log, counts: undefined });
    let id: string | undefined;
    const fetch = wrap(
      (request) => {
        id = requestIdOf(request);
        return new Response();
      },
      () => undefined,
    );
    const headers = given === undefined ? {} : { 'x-request-id': given };
    const response = await fetch(new Request('http://localhost/', { headers }));
    if (expected === undefined) expect(id).toBeUndefined();
    else expect(id).toMatch(expected);
    expect(response.headers.get('x-request-id')).toBe(id ?? null);
  });
}

test('the log and the counts name the route of each of many addresses', async () => {
  const lines: string[] = [];
  const log = createLog(
    'debug',
    { isTerminal: false, hasColour: false },
    { ...nowhere, write: (line) => lines.push(line) },
  );
  const counts = createRequestCounts([]);
  const { wrap } = createObservation({ log, counts });
  const routes = createRouteTable([
    { method: 'GET', path: '/notes/*' },
    { method: 'GET', path: '/notes/:id' },
  ]);
  const fetch = wrap(
    () => new Response(),
    ({ method, url }) => routes.find(method, new URL(url).pathname),
  );
  for (let query = 0; query < 200; query += 1) await fetch(new Request(`http://localhost/notes/1?${query}`));
  expect(counts.routes().map(({ route, statuses }) => [route, statuses[200]])).toEqual([['/notes/:id', 200]]);
  expect(new Set(lines.map((line) => JSON.parse(line).route))).toEqual(new Set(['/notes/:id']));
});

test('the log has 128 characters of sub and client_id, and no other claim', async () => {
  const lines: string[] = [];
  const log = createLog(
    'debug',
    { isTerminal: false, hasColour: false },
    { ...nowhere, write: (line) => lines.push(line) },
  );
  const { wrap, onAccepted } = createObservation({ log, counts: undefined });
  const claims = {
    iss: 'x',
    exp: 1,
    aud: 'a',
    sub: 's'.repeat(129),
    client_id: 'c'.repeat(129),
    email: 'e@example.test',
  };
  const fetch = wrap(
    (request) => {
      onAccepted?.(request, claims);
      return new Response();
    },
    () => '/',
  );
  await fetch(new Request('http://localhost/'));
  const [{ sub, client_id }] = lines.map((line) => JSON.parse(line)) as [Record<string, string>];
  expect({ sub, client_id }).toEqual({ sub: 's'.repeat(128), client_id: 'c'.repeat(128) });
  expect(lines.join()).not.toContain('example.test');
});
