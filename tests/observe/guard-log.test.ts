import { expect, test } from 'bun:test';
import type { KeySetEvent } from '../../src/auth/types.ts';
import { createKeySetLog, logStoreEvent } from '../../src/observe/guard-log.ts';
import type { StoreEvent } from '../../src/redis/store-failure.ts';
import { readJsonLines, recordLog } from '../support/recorded-log.ts';

const issuer = 'https://issuer.example.test/';
const fault = { issuer, failure: 'issuer_mismatch', address: `${issuer}keys`, status: 200, found: 'other' } as const;
const keys = ['a'];
const skipped = { level: 'warn', issuer, keys };
const failed = { ...fault, type: 'failed', cause: undefined } as const;
const unanswered = { failure: 'network', address: undefined, status: undefined, found: undefined } as const;
const fetched = { issuer, type: 'fetched', afterFailures: 0, added: [], removed: [] } as const;
const rejected = (cause: string, failures: number) => ({ ...failed, ...unanswered, cause, failures }) as const;
const down = { type: 'failed', failure: 'timeout' } as const;
const slow = { type: 'failed', failure: 'overloaded' } as const;
const forgotten = { type: 'failed', failure: 'forgotten' } as const;
const recovered = { type: 'recovered', failures: 4 } as const;
/** The log line of a failure has no type. */
const first = { level: 'warn', failures: 1, type: undefined };
const up = { type: 'connected', afterFailures: 0, evicts: false } as const;

type Row = readonly [events: readonly (KeySetEvent | StoreEvent)[], ...lines: readonly object[]];

const rows: Readonly<Record<string, Row>> = {
  'an outage of an issuer once, and its end once': [
    [1, 2, 3].map((failures) => ({ ...failed, failures }) as KeySetEvent).concat({ ...fetched, afterFailures: 3 }),
    { ...first, ...fault, msg: 'Cannot fetch the key set' },
    { level: 'info', msg: 'Key set can be fetched again', issuer, afterFailures: 3 },
  ],
  'each cause of an outage once, and again in the next outage': [
    [
      ...['ENOTFOUND', 'ENOTFOUND', 'ECONNREFUSED', 'ENOTFOUND'].map((cause, index) => rejected(cause, index + 1)),
      { ...fetched, afterFailures: 4 },
      rejected('ENOTFOUND', 1),
    ],
    { ...first, issuer, failure: 'network', cause: 'ENOTFOUND', msg: 'Cannot fetch the key set' },
    { ...first, issuer, failure: 'network', cause: 'ECONNREFUSED', failures: 3, msg: 'Cannot fetch the key set' },
    { level: 'info', msg: 'Key set can be fetched again', issuer, afterFailures: 4 },
    { ...first, issuer, failure: 'network', cause: 'ENOTFOUND', msg: 'Cannot fetch the key set' },
  ],
  'keys that come and go, and no fetch that brings the same': [
    [{ ...fetched, added: ['a'] }, fetched, { ...fetched, added: ['b'], removed: ['a'] }],
    { level: 'info', msg: 'Key set fetched', issuer, added: ['a'], removed: [] },
    { level: 'info', msg: 'Key set fetched', issuer, added: ['b'], removed: ['a'] },
  ],
  'keys that leave their algorithm open': [
    [{ issuer, type: 'ambiguous', keys }],
    { ...skipped, msg: expect.stringMatching(/^Keys without alg .*: list the issuer's algorithm first$/) },
  ],
  'keys that the runtime does not support': [
    [{ issuer, type: 'unsupported', keys }],
    { ...skipped, msg: 'Keys are skipped, because this runtime does not support their algorithm' },
  ],
  'keys that are malformed or weak': [
    [{ issuer, type: 'unusable', keys }],
    { ...skipped, msg: 'Keys are skipped, because they are malformed or weak' },
  ],
  'keys that expire': [[{ issuer, type: 'expired' }], { level: 'error', issuer, msg: 'Key set expired' }],
  'an outage of the store once, and its end': [
    [up, ...[1, 2].map((failures) => ({ ...down, failures })), { ...up, afterFailures: 2 }],
    { level: 'info', afterFailures: 0, msg: 'Connected to the replay store' },
    { ...down, ...first, msg: 'Cannot use the replay store: requests with DPoP get a 503' },
    { level: 'info', afterFailures: 2, msg: 'Connected to the replay store' },
  ],
  'a store that forgets': [
    [{ ...up, evicts: true }],
    { level: 'info', afterFailures: 0, msg: 'Connected to the replay store' },
    { level: 'warn', msg: 'The replay store deletes keys when its memory is full: set maxmemory-policy to noeviction' },
  ],
  'what a connected store rejects, once, and its end': [
    [...[1, 2].flatMap((failures) => [slow, forgotten].map((event) => ({ ...event, failures }))), recovered],
    { ...slow, ...first, msg: 'The replay store is too slow: some requests with DPoP get a 503' },
    { ...forgotten, ...first, msg: 'Proofs older than the data of the replay store get a 503' },
    { level: 'info', afterFailures: 4, msg: 'The replay store can be used again' },
  ],
};

test.each(Object.entries(rows))('the log has %s', (_name, [events, ...expected]) => {
  const { log, lines } = recordLog('info');
  const logKeySetEvent = createKeySetLog(log);
  for (const event of events)
    if ('issuer' in event) logKeySetEvent(event);
    else logStoreEvent(log, event);

  expect(readJsonLines(lines.join(''))).toEqual(
    expected.map((line) => ({ time: expect.any(String), severity: expect.any(String), ...line })),
  );
});
