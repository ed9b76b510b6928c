import { describe, expect, test } from 'bun:test';
import type { KeySetEvent } from '../../src/auth/key-set.ts';
import { createFrozenClock } from '../support/frozen-clock.ts';
import { keySetAt } from '../support/key-set.ts';
import { publish, rsaKey } from '../support/keys.ts';
import { SIGNING_KID } from '../support/mint.ts';
import { KEY_SET_TIMES } from './target.ts';

const MEBIBYTE = 1024 * 1024;
const goodKey = (kid = SIGNING_KID) => publish(rsaKey(SIGNING_KID), kid);
const body = (kid?: string) => JSON.stringify({ keys: [goodKey(kid)] });

const streamOf = (pieces: readonly Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });

/** Fetches once; returns how many keys are found under a kid, and what the operator was told. */
async function fetchOnce(response: () => Response, kid = SIGNING_KID) {
  const events: KeySetEvent[] = [];
  const requests: RequestInit[] = [];
  const keySet = keySetAt('https://issuer.example.test/keys', {
    ...KEY_SET_TIMES,
    clock: createFrozenClock(),
    onEvent: (event) => events.push(event),
    fetch: async (_, init) => {
      requests.push(init);
      return response();
    },
  });
  const found = await Promise.resolve(keySet.find(kid)).then(
    (keys) => keys.length,
    () => 0,
  );
  keySet.stop();
  return { found, events, requests, state: keySet.state() };
}

describe('createKeySet()', () => {
  for (const [bytes, found] of [
    [MEBIBYTE - 1, 1],
    [MEBIBYTE, 1],
    [MEBIBYTE + 1, 0],
  ] as const) {
    test(`${found ? 'takes' : 'refuses'} a set of ${bytes} bytes`, async () => {
      const result = await fetchOnce(() => new Response(body().padEnd(bytes)));
      expect(result).toMatchObject({ found, state: { lastFailure: found ? undefined : 'too_large' } });
    });
  }

  test('counts the bytes of a set that comes in pieces', async () => {
    const pieces = [body(), ...Array.from({ length: 17 }, () => ' '.repeat(MEBIBYTE / 16))].map((text) =>
      Buffer.from(text),
    );
    const result = await fetchOnce(() => new Response(streamOf(pieces)));
    expect(result).toMatchObject({ found: 0, state: { lastFailure: 'too_large' } });
  });

  test('reads a kid whose letters are cut between two pieces', async () => {
    const kid = 'clé \u{1f511} sûre';
    const pieces = [...Buffer.from(body(kid))].map((byte) => Buffer.of(byte));
    expect(await fetchOnce(() => new Response(streamOf(pieces)), kid)).toMatchObject({ found: 1 });
  });

  for (const [status, failure] of [
    [201, 'status'],
    [204, 'status'],
    [299, 'status'],
    [300, 'redirect'],
    [304, 'redirect'],
    [399, 'redirect'],
    [400, 'status'],
    [401, 'status'],
    [500, 'status'],
  ] as const) {
    test(`takes no keys from an answer of status ${status}, and tells the operator`, async () => {
      const text = status === 204 || status === 304 ? null : body();
      const { found, events, state } = await fetchOnce(() => new Response(text, { status }));
      expect({ found, events, state }).toMatchObject({
        found: 0,
        events: [{ type: 'failed', failure, status, failures: 1 }],
        state: { keys: 0, lastFailure: failure },
      });
    });
  }

  for (const text of [
    '',
    ' ',
    'null',
    '[]',
    '{}',
    '{"keys":null}',
    '{"keys":{}}',
    '{"keys":"x"}',
    '{"keys":[]}',
    '<html>',
    `${body()},`,
  ]) {
    test(`takes no keys from ${JSON.stringify(text).slice(0, 40)}, and calls it malformed`, async () => {
      expect(await fetchOnce(() => new Response(text))).toMatchObject({
        found: 0,
        state: { lastFailure: 'malformed' },
      });
    });
  }

  test('calls a set in which nothing can verify by that name', async () => {
    const weak = JSON.stringify({ keys: [publish(rsaKey('weak', 1024), SIGNING_KID)] });
    expect(await fetchOnce(() => new Response(weak))).toMatchObject({
      found: 0,
      state: { lastFailure: 'no_usable_key' },
    });
  });

  test('asks for JSON, and follows nothing', async () => {
    const { requests } = await fetchOnce(() => new Response(body()));
    expect(requests).toMatchObject([{ redirect: 'manual', headers: { accept: 'application/json' } }]);
  });

  test('lets go of an answer that it does not read', async () => {
    let isCancelled = false;
    const stream = new ReadableStream({
      cancel() {
        isCancelled = true;
      },
    });
    await fetchOnce(() => new Response(stream, { status: 500 }));
    expect(isCancelled).toBe(true);
  });
});
