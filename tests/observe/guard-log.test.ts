import { expect, test } from 'bun:test';
import type { KeySetEvent } from '../../src/auth/keys/key-set.ts';
import { logKeySetEvent, logStoreEvent } from '../../src/observe/guard-log.ts';
import { createLog, type Log } from '../../src/observe/log.ts';

const issuer = 'https://issuer.example.test/';
const address = `${issuer}keys`;

function linesOf<Event>(events: readonly Event[], logEvent: (log: Log, event: Event) => void): unknown[] {
  const lines: unknown[] = [];
  const destination = {
    write: (line: string) => void lines.push(JSON.parse(line)),
    flush() {},
    droppedLines: () => 0,
    onRecovered() {},
  };
  const log = createLog('info', { isTerminal: false, hasColour: false }, destination);
  for (const event of events) logEvent(log, event);
  return lines;
}

const failed = (failures: number) =>
  ({
    issuer,
    type: 'failed',
    failure: 'status',
    address,
    cause: undefined,
    status: 500,
    found: undefined,
    failures,
  }) as const;
const fetched = (added: readonly string[], removed: readonly string[], afterFailures = 0) =>
  ({ issuer, type: 'fetched', added, removed, afterFailures }) as const;

for (const { name, events, lines } of [
  {
    name: 'an outage once, and its end once',
    events: [failed(1), failed(2), failed(3), fetched(['a'], [], 3)],
    lines: [
      { level: 'warn', issuer, msg: 'Cannot fetch the key set', failure: 'status', address, status: 500, failures: 1 },
      { level: 'info', issuer, msg: 'Key set can be fetched again', afterFailures: 3 },
      { level: 'info', issuer, msg: 'Key set fetched', added: ['a'], removed: [] },
    ],
  },
  {
    name: 'keys that come and go, and no fetch that brings the same',
    events: [fetched(['a'], []), fetched([], []), fetched(['b'], ['a'])],
    lines: [
      { level: 'info', issuer, msg: 'Key set fetched', added: ['a'], removed: [] },
      { level: 'info', issuer, msg: 'Key set fetched', added: ['b'], removed: ['a'] },
    ],
  },
  {
    name: 'keys that leave their algorithm open, as a warning',
    events: [{ issuer, type: 'ambiguous', keys: ['a'] } as const],
    lines: [
      {
        level: 'warn',
        issuer,
        keys: ['a'],
        msg: 'Keys without alg fit several of ALGORITHMS and are used for the first only: put the algorithm of the issuer first',
      },
    ],
  },
  {
    name: 'keys that expire, as an error',
    events: [{ issuer, type: 'expired' } as const],
    lines: [{ level: 'error', issuer, msg: 'Key set expired' }],
  },
]) {
  test(`logKeySetEvent() logs ${name}`, () => {
    const time = expect.any(String);
    expect(linesOf<KeySetEvent>(events, logKeySetEvent)).toEqual(lines.map((line) => ({ ...line, time })));
  });
}

test('logStoreEvent() logs an outage once and its end, and warns of a store that forgets', () => {
  const failed = (failures: number) => ({ type: 'failed', failure: 'timeout', failures }) as const;
  const connected = (afterFailures: number, evicts: boolean) => ({ type: 'connected', afterFailures, evicts }) as const;
  const time = expect.any(String);
  const msg = 'Cannot use the replay store: requests with DPoP are answered with 503';
  const forgets = 'The replay store deletes keys when its memory is full: set maxmemory-policy to noeviction';
  expect(linesOf([connected(0, true), failed(1), failed(2), connected(2, false)], logStoreEvent)).toEqual([
    { level: 'info', time, afterFailures: 0, msg: 'Connected to the replay store' },
    { level: 'warn', time, msg: forgets },
    { level: 'warn', time, failure: 'timeout', failures: 1, msg },
    { level: 'info', time, afterFailures: 2, msg: 'Connected to the replay store' },
  ]);
});

for (const [failure, msg] of [
  ['overloaded', 'The replay store is too slow: some requests with DPoP are answered with 503'],
  ['forgotten', 'Proofs that are older than the data of the replay store are answered with 503'],
] as const) {
  test(`logStoreEvent() logs proofs that a connected store rejects once: ${failure}`, () => {
    const failed = (failures: number) => ({ type: 'failed', failure, failures }) as const;
    const time = expect.any(String);
    expect(linesOf([failed(1), failed(2)], logStoreEvent)).toEqual([
      { level: 'warn', time, failure, failures: 1, msg },
    ]);
  });
}
