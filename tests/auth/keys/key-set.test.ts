import { describe, expect, test } from 'bun:test';
import { createKeySetSource } from '../../../src/auth/keys/discovery.ts';
import { Rejected } from '../../../src/auth/rejections.ts';
import { publish, rsaKey } from '../../support/keys.ts';
import { failing, hanging, issuer, publishing, setUp, started, times, unfetched, url } from './key-set-fixture.ts';

const { cooldownMs, maxAgeMs, maxStaleMs, timeoutMs } = times;

describe('KeySet', () => {
  test('fetches once for parallel first requests, finds the keys at once, and counts their age from that fetch', async () => {
    const { keySet, clock, published, events, fetches, find, start } = setUp();
    published.by = (signal) => {
      clock.advance(1000);
      return publishing('one')(signal);
    };
    expect(keySet.state()).toEqual({ issuer, ...unfetched });
    const finding = Array.from({ length: 1000 }, () => find('one'));
    expect(keySet.state()).toMatchObject({ isFetching: true, nextAttemptMs: 0 });
    const [found, ...others] = new Set(await Promise.all(finding));
    expect([found, ...others]).toMatchObject([[{ isCurrent: true }]]);
    await start();
    expect(keySet.find('one')).toBe(found as never);
    clock.advance(234);
    expect(keySet.state()).toMatchObject({ keys: 1, ageMs: 1234, isFetching: false, nextAttemptMs: maxAgeMs - 1234 });
    expect(events).toEqual([{ issuer, type: 'fetched', added: ['one'], removed: [], afterFailures: 0 }]);
    expect(fetches).toBeArrayOfSize(1);
    clock.pause(maxAgeMs + maxStaleMs - 1234);
    expect(keySet.state().keys).toBe(0);
  });

  test('while the last fetch failed, returns 503 for a kid that is not held, and retries once per cooldown', async () => {
    const { keySet, clock, fetches, events, advance } = await started();
    await advance(maxAgeMs, failing);
    for (const [afterMs, retryAfterSeconds] of Object.entries({ 1: 30, 9999: 20, 19999: 1 })) {
      clock.advance(Number(afterMs));
      expect(keySet.find('two')).toEqual(new Rejected('keys_unavailable', retryAfterSeconds));
      expect(keySet.find('one')).toBeArrayOfSize(1);
    }
    await advance(1, hanging);
    const waiting = keySet.find('two');
    await advance(timeoutMs);
    expect(await waiting).toBeInstanceOf(Rejected);
    await advance(cooldownMs - timeoutMs - 1, publishing('two'));
    expect(fetches).toBeArrayOfSize(3);
    await advance(1);
    expect(keySet.find('two')).toMatchObject([{ isCurrent: true }]);
    expect(keySet.state()).toMatchObject({ keys: 1, lastFailure: undefined });
    const none = { cause: undefined, status: undefined, found: undefined };
    const failed = { issuer, type: 'failed', address: url, ...none } as const;
    expect(events.slice(1)).toEqual([
      { ...failed, failure: 'status', status: 500, failures: 1 },
      { ...failed, failure: 'timeout', failures: 2 },
      { issuer, type: 'fetched', added: ['two'], removed: ['one'], afterFailures: 2 },
    ]);
    await advance(maxAgeMs, () => Promise.reject(new TypeError('rejected')));
    expect(events.at(-1)).toMatchObject({ failures: 1 });
    expect(keySet.state()).toMatchObject({ keys: 1, lastFailure: { failure: 'network', address: undefined } });
  });

  test.each([
    ['another document', { error: 'moved' }],
    ['a set without a key', { keys: [] }],
    ['a set of other keys', { keys: [{ kid: 'one', kty: 'oct' }] }],
  ])('looks the URL up again when the one that it has found returns %s', async (_, left) => {
    const documents: Record<string, unknown> = {};
    const move = (jwks_uri: string) => {
      documents[`${issuer}.well-known/openid-configuration`] = { issuer, jwks_uri };
      documents[jwks_uri] = { keys: [publish(rsaKey('one'), 'one')] };
    };
    const fetch = async (from: string) =>
      from in documents ? Response.json(documents[from]) : new Response('', { status: 404 });
    const source = createKeySetSource(issuer, { jwksUri: undefined, jwksAllowHttp: false, fetch });
    move(url);
    const { keySet, advance } = await started({ source });
    move(`${url}/moved`);
    documents[url] = left;
    await advance(maxAgeMs);
    expect(keySet.state().lastFailure?.address).toBe(url);
    await advance(cooldownMs);
    expect(keySet.state()).toMatchObject({ keys: 1, ageMs: 0, lastFailure: undefined });
  });

  test('until the first success, starts attempts after 1, 2, 4, … seconds up to the cooldown, with or without requests', async () => {
    const { keySet, clock, published, fetches, advance, start } = setUp();
    const startedAt = clock.now();
    await start(failing);
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      expect(keySet.find('one')).toEqual(new Rejected('keys_unavailable', seconds));
      await advance(seconds * 1000 - 1);
      void keySet.find('one');
      await advance(1);
    }
    expect(fetches.map((at) => (at - startedAt) / 1000)).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    await advance(cooldownMs, publishing('one'));
    published.by = failing;
    await advance(maxAgeMs);
    expect(keySet.state().nextAttemptMs).toBe(cooldownMs);
  });

  test('while the issuer is down, trusts the keys to the last millisecond of their staleness and not beyond', async () => {
    // The last attempt before that is 29 seconds earlier.
    const trustedMs = maxAgeMs + 50 * cooldownMs - 1000;
    const { keySet, clock, published, fetches, advance, settle, events } = await started({
      jwksMaxStaleSeconds: (trustedMs - maxAgeMs) / 1000,
    });
    published.by = failing;
    for (let leftMs = trustedMs - 1; leftMs > 0; ) {
      const stepMs = Math.min(leftMs, keySet.state().nextAttemptMs);
      await advance(stepMs);
      leftMs -= stepMs;
    }
    expect(keySet.state()).toMatchObject({ keys: 1, ageMs: trustedMs - 1 });
    // There is no request: the timer drops the keys, although the next attempt is later.
    clock.advance(1);
    expect(events.at(-1)).toEqual({ issuer, type: 'expired' });
    expect(await keySet.find('one')).toBeInstanceOf(Rejected);
    expect(keySet.state()).toMatchObject({ keys: 0, ageMs: undefined });
    // The timer also fetches then.
    const attempts = fetches.length;
    published.by = publishing('one');
    clock.advance(1000);
    expect(fetches).toBeArrayOfSize(attempts + 1);
    await settle();
    expect(keySet.find('one')).toBeArrayOfSize(1);
  });

  test('checks the age of keys at each use, even in a process that was paused while they expired', async () => {
    const { keySet, clock, published, find, areCurrent } = await started();
    const keys = await find('one');
    clock.pause(maxAgeMs + maxStaleMs - 1);
    expect(areCurrent(keys)).toEqual([true]);
    clock.pause(1);
    expect(areCurrent(keys)).toEqual([false]);
    expect(await keySet.find('one')).toBeArrayOfSize(1);
    published.by = failing;
    clock.pause(maxAgeMs + maxStaleMs);
    expect(await keySet.find('one')).toBeInstanceOf(Rejected);
  });

  test('says that keys are unavailable, not unknown, once they expired before they may be fetched again', async () => {
    const { keySet, clock, find } = await started({ jwksMaxAgeSeconds: 1, jwksMaxStaleSeconds: 0 });
    expect(await find('unknown')).toEqual([]);
    clock.pause(1000);
    for (const kid of ['one', 'unknown']) expect(keySet.find(kid)).toEqual(new Rejected('keys_unavailable', 29));
  });

  test('leaves room for one more fetch after the first one, which a lookup causes', async () => {
    const { fetches, find } = setUp();
    for (const kid of ['a', 'b', 'c']) expect(await find(kid)).toEqual([]);
    expect(fetches).toBeArrayOfSize(2);
  });

  for (const [kids, seconds] of [
    [[], [0, 30, 60, 90]],
    // Each that was due leaves room for one more.
    [['unknown'], [0, 1, 31, 31, 61, 61]],
  ] as const)
    test(`refreshes keys once per cooldown, however short their age is, with lookups of ${kids.length} unknown kids`, async () => {
      const { keySet, fetches, advance } = await started({ jwksMaxAgeSeconds: 1, jwksMaxStaleSeconds: 0 });
      for (let second = 0; second < (3 * cooldownMs) / 1000; second += 1) {
        await advance(1000);
        for (const kid of kids) await keySet.find(kid);
      }
      expect(fetches.map((at) => (at - (fetches[0] ?? 0)) / 1000)).toEqual([...seconds]);
    });

  test.each([
    ['replaced', publishing('one first'), true],
    ['replaced by one for another algorithm beside it', publishing('one', 'one first'), true],
    ['the same', publishing('one'), false],
    ['unknown, because the issuer is down', failing, false],
  ])(
    'a bad signature causes one fetch a cooldown, as an unknown kid does, and the key is then %s',
    async (_, source, isFound) => {
      const { keySet, clock, published, fetches, find } = await started();
      const tried = await find('one');
      expect(await find('unknown')).toEqual([]);
      published.by = source;
      clock.pause(cooldownMs - 1);
      expect(await keySet.findOthers('one', tried)).toEqual([]);
      expect(fetches).toBeArrayOfSize(2);
      clock.pause(1);
      const found = await Promise.all(Array.from({ length: 1000 }, () => keySet.findOthers('one', tried)));
      expect(new Set(found.map(({ length }) => length))).toEqual(new Set([isFound ? 1 : 0]));
      expect(fetches).toBeArrayOfSize(3);
      clock.pause(cooldownMs - 1);
      expect(await keySet.find('unknown')).toEqual(source === failing ? new Rejected('keys_unavailable', 1) : []);
      // What has come since is found without a fetch.
      expect(await keySet.findOthers('one', tried)).toBeArrayOfSize(isFound ? 1 : 0);
      expect(fetches).toBeArrayOfSize(3);
    },
  );

  for (const source of [publishing('one'), failing]) {
    const state = source === failing ? 'down' : 'up';
    test(`fetches once per cooldown for 10,000 unknown kids, keeps one timer, and finds a new key within its first request, with the issuer ${state}`, async () => {
      const { keySet, clock, published, fetches } = await started();
      published.by = source;
      for (let cooldown = 1; cooldown <= 4; cooldown += 1) {
        clock.pause(cooldownMs);
        const found = await Promise.all(Array.from({ length: 2500 }, (_, index) => keySet.find(`unknown ${index}`)));
        const expected = source === failing ? new Rejected('keys_unavailable', cooldownMs / 1000) : [];
        expect(found.filter((each) => !Bun.deepEquals(each, expected))).toEqual([]);
        expect(keySet.find('one')).toBeArrayOfSize(1);
        expect(fetches).toBeArrayOfSize(1 + cooldown);
        expect(clock.waiting).toBe(1);
      }
      published.by = publishing('one', 'two');
      clock.pause(cooldownMs);
      expect(await keySet.find('two')).toBeArrayOfSize(1);
    });
  }

  test('finds a key that is published right after a fetch that was due, or during it, with one more fetch for all requests', async () => {
    const { keySet, clock, published, fetches, find, advance } = await started();
    async function rotateTo(kid: string) {
      const found = await Promise.all(Array.from({ length: 100 }, () => find(kid)));
      expect(new Set(found).size).toBe(1);
      for (const unknown of ['a', 'b']) expect(keySet.find(unknown)).toEqual([]);
      return fetches.length;
    }
    published.by = publishing('second');
    expect(await rotateTo('second')).toBe(2);
    await advance(maxAgeMs);
    published.by = publishing('third');
    expect(await rotateTo('third')).toBe(4);
    published.by = (signal) => {
      published.by = publishing('fourth');
      return publishing('third')(signal);
    };
    clock.pause(maxAgeMs);
    expect(await rotateTo('fourth')).toBe(6);
  });

  test('makes a removed key and a replaced key no longer current for good, and keeps the others', async () => {
    const { keySet, published, advance, events, find, areCurrent } = setUp();
    const before = publishing('kept', 'gone', 'twins first', 'twins second');
    published.by = before;
    const keys = (await Promise.all(['kept', 'gone', 'twins'].map(find))).flat();
    await advance(maxAgeMs, publishing('kept', 'twins first', 'twins third'));
    expect(areCurrent(keys)).toEqual([true, false, true, false]);
    await advance(maxAgeMs, before);
    expect(areCurrent(keys)).toEqual([true, false, true, false]);
    expect(keySet.find('kept')).toEqual(keys.slice(0, 1));
    expect(events).toMatchObject([
      { added: ['kept', 'gone', 'twins'], removed: [] },
      { added: ['twins'], removed: ['gone', 'twins'] },
      { added: ['gone', 'twins'], removed: ['twins'] },
    ]);
  });

  test.each([0, 1000, maxAgeMs / 20])('keys never expire in calm if they may be stale for %d ms', async (staleMs) => {
    const { keySet, clock, events, published, settle } = await started({
      jwksMaxStaleSeconds: staleMs / 1000,
      random: () => 0.999,
    });
    for (const _ of [1, 2, 3]) {
      const answered = Promise.withResolvers<void>();
      published.by = (signal) => answered.promise.then(() => publishing('one')(signal));
      clock.advance(keySet.state().nextAttemptMs);
      clock.advance(timeoutMs - 1);
      expect(keySet.state()).toMatchObject({ keys: 1, isFetching: true });
      answered.resolve();
      await settle();
    }
    expect(events.map(({ type }) => type)).not.toContain('expired');
  });

  test('adds up to a tenth to the maximum age and to the cooldown, so that a fleet spreads', async () => {
    const { keySet, advance } = await started({ random: () => 0.999 });
    expect(keySet.state().nextAttemptMs).toBeCloseTo(maxAgeMs * 1.0999);
    await advance(maxAgeMs * 1.0999, failing);
    expect(keySet.state().nextAttemptMs).toBeCloseTo(cooldownMs * 1.0999);
  });

  test.each<[string, () => unknown]>([
    ['throws', () => JSON.parse('')],
    ['rejects', () => Promise.reject(new Error('observer'))],
  ])('is not affected by a listener that %s', async (_, onEvent) => {
    const { keySet, advance } = await started({ onEvent });
    expect(keySet.state()).toMatchObject({ keys: 1, lastFailure: undefined, nextAttemptMs: maxAgeMs });
    await advance(maxAgeMs, failing);
    expect(keySet.state()).toMatchObject({ keys: 1, lastFailure: { status: 500 }, nextAttemptMs: cooldownMs });
  });

  test('reports a key that is skipped for its form when it appears, once while it stays', async () => {
    const weak = (kid: string) => publish(rsaKey('weak', 1024), kid);
    const publishingWeak =
      (...kids: readonly string[]): typeof failing =>
      async () => ({ url, keys: [publish(rsaKey('one'), 'one'), ...kids.map(weak)] });
    const { events, advance, start } = setUp();
    await start(publishingWeak());
    for (const kids of [['a'], ['a'], ['a', 'b'], [], ['a']]) await advance(maxAgeMs, publishingWeak(...kids));
    const reported = events.flatMap((event) => (event.type === 'unusable' ? [event.keys] : []));
    expect(reported).toEqual([['a'], ['b'], ['a']]);
  });

  test('reports once that keys without alg fit several accepted algorithms, with shortened and escaped IDs', async () => {
    const { events, advance, start } = setUp({ algorithms: ['ES256', 'RS256', 'PS256'] });
    await start(publishing(`\u202e\u0085${'x'.repeat(300)} one`));
    await advance(maxAgeMs);
    await advance(maxAgeMs, publishing('two'));
    const shown = [`\\u202e\\u0085${'x'.repeat(254)}`];
    expect(events).toMatchObject([{ added: shown }, {}, { added: [] }, { added: ['two'] }]);
    // Such keys are used, so there is no reason why not.
    expect(events[1]).toEqual({ issuer, type: 'ambiguous', keys: shown });
  });
});
