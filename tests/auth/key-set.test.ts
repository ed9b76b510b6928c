import { afterEach, describe, expect, test } from 'bun:test';
import { type KeySet, type KeySetEvent, KeySetUnavailableError } from '../../src/auth/key-set.ts';
import { createFrozenClock, type FrozenClock } from '../support/frozen-clock.ts';
import { type Issuer, type IssuerMode, startIssuer } from '../support/issuer.ts';
import { KEY_SET_ISSUER, keySetAt } from '../support/key-set.ts';
import { publish, rsaKey } from '../support/keys.ts';

const maxAgeMs = 600_000;
const maxStaleMs = 900_000;
const cooldownMs = 30_000;
const timeoutMs = 5_000;

interface Fixture {
  readonly issuer: Issuer;
  readonly keySet: KeySet;
  readonly clock: FrozenClock;
  readonly events: KeySetEvent[];
  /** Waits until no fetch is under way. */
  settle(): Promise<void>;
  /** Moves time on and waits for the fetch that this causes. */
  advance(ms: number): Promise<void>;
}

const open: { close(): Promise<void> | void }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((thing) => thing.close()));
});

async function setUp({
  keys = [publish(rsaKey('one'), 'one')],
  mode,
  random = 0,
  ...times
}: {
  keys?: unknown[];
  mode?: IssuerMode;
  random?: number;
  timeoutMs?: number;
} = {}): Promise<Fixture> {
  const issuer = await startIssuer(keys);
  if (mode) issuer.mode = mode;
  const clock = createFrozenClock();
  const events: KeySetEvent[] = [];
  const uri = `${issuer.url}.well-known/jwks.json`;
  const onEvent = (event: KeySetEvent) => events.push(event);
  const keySet = keySetAt(uri, {
    maxAgeMs,
    maxStaleMs,
    cooldownMs,
    timeoutMs,
    clock,
    onEvent,
    random: () => random,
    ...times,
  });
  open.push(issuer, { close: () => keySet.stop() });
  const settle = async () => {
    while (keySet.state().nextAttemptMs === 0) {
      clock.advance(0);
      await Bun.sleep(1);
    }
  };
  const advance = (ms: number) => {
    clock.advance(ms);
    return settle();
  };
  return { issuer, keySet, clock, events, settle, advance };
}

async function setUpWithKeys(options?: Parameters<typeof setUp>[0]): Promise<Fixture> {
  const fixture = await setUp(options);
  fixture.keySet.start();
  await fixture.settle();
  return fixture;
}

const text = (body: string): IssuerMode => ({ kind: 'answer', text: body });
const good = JSON.stringify({ keys: [publish(rsaKey('one'), 'one')] });

/** Every way in which an issuer can fail, and what the key set calls it. */
const faults: readonly { name: string; mode: IssuerMode; failure: string; stalls?: true }[] = [
  { name: 'hangs', mode: { kind: 'hang' }, failure: 'timeout', stalls: true },
  { name: 'drips', mode: { kind: 'drip' }, failure: 'timeout', stalls: true },
  { name: 'answers 404', mode: { kind: 'answer', status: 404, text: good }, failure: 'status' },
  { name: 'answers 500', mode: { kind: 'answer', status: 500, text: good }, failure: 'status' },
  { name: 'answers 206', mode: { kind: 'answer', status: 206, text: good }, failure: 'status' },
  {
    name: 'redirects',
    mode: { kind: 'answer', status: 302, headers: { location: '/elsewhere' } },
    failure: 'redirect',
  },
  { name: 'answers HTML', mode: text('<!doctype html><title>Sign in</title>'), failure: 'malformed' },
  { name: 'answers nothing', mode: text(''), failure: 'malformed' },
  { name: 'answers null', mode: text('null'), failure: 'malformed' },
  { name: 'answers {}', mode: text('{}'), failure: 'malformed' },
  { name: 'answers keys that are no list', mode: text('{"keys":{}}'), failure: 'malformed' },
  { name: 'answers an empty list', mode: text('{"keys":[]}'), failure: 'malformed' },
  { name: 'answers a null among the keys and nothing else', mode: text('{"keys":[null]}'), failure: 'no_usable_key' },
  { name: 'cuts its answer off', mode: { kind: 'cut off' }, failure: 'network' },
  { name: 'answers 40 MB', mode: { kind: 'huge' }, failure: 'too_large' },
];

describe('createKeySet()', () => {
  test('holds the keys after one fetch and finds them at once', async () => {
    const { issuer, keySet, events } = await setUpWithKeys();
    expect(keySet.find('one')).toBeArrayOfSize(1);
    expect(events).toEqual([
      { issuer: KEY_SET_ISSUER, type: 'fetched', added: ['one'], removed: [], afterFailures: 0 },
    ]);
    expect(issuer.fetches).toBe(1);
  });

  for (const { name, mode, failure, stalls } of faults) {
    describe(`when the issuer ${name}`, () => {
      test('at the start, says that the keys are unavailable, asks once a cooldown and recovers', async () => {
        const { issuer, keySet, clock, events, settle, advance } = await setUp({ mode });
        const waiting = Promise.resolve(keySet.find('one')).catch((error: unknown) => error);
        while (issuer.fetches === 0) await Bun.sleep(1);
        if (stalls) clock.advance(timeoutMs);
        expect(await waiting).toBeInstanceOf(KeySetUnavailableError);
        await settle();
        expect(events).toMatchObject([{ type: 'failed', failure, failures: 1 }]);
        expect(() => keySet.find('one')).toThrow(KeySetUnavailableError);
        expect(issuer.fetches).toBe(1);

        issuer.mode = { kind: 'keys' };
        await advance(cooldownMs - (stalls ? timeoutMs : 0) - 1);
        expect(issuer.fetches).toBe(1);
        await advance(1);
        expect(issuer.fetches).toBe(2);
        expect(keySet.find('one')).toBeArrayOfSize(1);
        expect(events.at(-1)).toMatchObject({ type: 'fetched', afterFailures: 1 });
      });

      test('later, keeps the keys until they are too stale, and recovers', async () => {
        const { issuer, keySet, clock, events, settle, advance } = await setUpWithKeys();
        issuer.mode = mode;
        clock.advance(maxAgeMs);
        if (stalls) {
          while (issuer.fetches === 1) await Bun.sleep(1);
          clock.advance(timeoutMs);
        }
        await settle();
        expect(issuer.fetches).toBe(2);
        expect(events.at(-1)).toMatchObject({ type: 'failed', failure, failures: 1 });
        expect(keySet.find('one')).toBeArrayOfSize(1);

        issuer.mode = { kind: 'keys' };
        await advance(keySet.state().nextAttemptMs);
        expect(issuer.fetches).toBe(3);
        expect(keySet.state()).toMatchObject({ keys: 1, ageMs: expect.any(Number), lastFailure: undefined });
      });
    });
  }

  test('while the issuer refuses connections, trusts the keys to the last millisecond of their staleness and not beyond', async () => {
    const { issuer, keySet, advance, events } = await setUpWithKeys();
    await issuer.goDown();
    await advance(maxAgeMs);
    for (let leftMs = maxStaleMs - 1; leftMs > 0; ) {
      const stepMs = Math.min(leftMs, keySet.state().nextAttemptMs);
      await advance(stepMs);
      leftMs -= stepMs;
    }
    expect(keySet.find('one')).toBeArrayOfSize(1);
    expect(keySet.state().ageMs).toBe(maxAgeMs + maxStaleMs - 1);
    await advance(1);
    expect(() => keySet.find('one')).toThrow('The key set is unavailable');
    expect(keySet.state()).toMatchObject({ keys: 0, ageMs: undefined, lastFailure: 'network' });
    expect(events).toContainEqual({ issuer: KEY_SET_ISSUER, type: 'expired' });

    await issuer.comeBack();
    await advance(cooldownMs);
    expect(keySet.find('one')).toBeArrayOfSize(1);
  });

  test('says when it can be asked again, in whole seconds counted from the last attempt', async () => {
    const { keySet, clock, settle } = await setUp({ mode: { kind: 'answer', status: 500 } });
    keySet.start();
    await settle();
    for (const [afterMs, seconds] of [
      [0, 30],
      [1, 30],
      [9_999, 20],
      [19_999, 1],
    ] as const) {
      clock.advance(afterMs);
      expect(() => keySet.find('one')).toThrow(expect.objectContaining({ retryAfterSeconds: seconds }));
    }
  });

  test('shares one fetch among 1,000 parallel first requests', async () => {
    const { issuer, keySet } = await setUp();
    const found = await Promise.all(Array.from({ length: 1_000 }, () => keySet.find('one')));
    expect(found.every((keys) => keys.length === 1)).toBe(true);
    expect(issuer.fetches).toBe(1);
  });

  test('accepts a rotated key within the request that first shows it', async () => {
    const { issuer, keySet, clock } = await setUpWithKeys();
    issuer.keys = [publish(rsaKey('one'), 'one'), publish(rsaKey('two'), 'two')];
    clock.advance(cooldownMs);
    expect(await keySet.find('two')).toBeArrayOfSize(1);
    expect(issuer.fetches).toBe(2);
  });

  for (const state of ['up', 'down'] as const) {
    test(`asks at most once a cooldown for 10,000 distinct unknown kids with the issuer ${state}`, async () => {
      const { issuer, keySet, clock, settle } = await setUpWithKeys();
      if (state === 'down') issuer.mode = { kind: 'answer', status: 500 };
      for (let cooldown = 0; cooldown < 4; cooldown += 1) {
        const kids = Array.from({ length: 2_500 }, (_, index) => `unknown ${cooldown} ${index}`);
        const found = await Promise.all(kids.map((kid) => keySet.find(kid)));
        expect(found.every((keys) => keys.length === 0)).toBe(true);
        expect(keySet.find('one')).toBeArrayOfSize(1);
        clock.advance(cooldownMs);
        await settle();
      }
      expect(issuer.fetches).toBe(state === 'up' ? 4 : 5);
    });
  }

  test('fails fast on an unknown kid within the cooldown', async () => {
    const { issuer, keySet } = await setUpWithKeys();
    expect(keySet.find('unknown')).toEqual([]);
    expect(issuer.fetches).toBe(1);
  });

  test('finds a key at once while a fetch hangs', async () => {
    const { issuer, keySet, clock } = await setUpWithKeys();
    issuer.mode = { kind: 'hang' };
    clock.advance(maxAgeMs);
    while (issuer.fetches === 1) await Bun.sleep(1);
    expect(keySet.find('one')).toBeArrayOfSize(1);
  });

  test('makes a removed key and a replaced key no longer current, and keeps the others', async () => {
    const keys = ['kept', 'removed', 'replaced'].map((kid) => publish(rsaKey(kid), kid));
    const { issuer, keySet, advance, events } = await setUpWithKeys({ keys });
    const before = await Promise.all(['kept', 'removed', 'replaced'].map((kid) => keySet.find(kid)));
    issuer.keys = [publish(rsaKey('kept'), 'kept'), publish(rsaKey('other'), 'replaced')];
    await advance(maxAgeMs);
    expect(before.map(([key]) => key?.isCurrent)).toEqual([true, false, false]);
    expect(keySet.find('kept')).toEqual(before[0] ?? []);
    expect(keySet.find('removed')).toEqual([]);
    expect(keySet.find('replaced')).not.toEqual(before[2] ?? []);
    expect(events.at(-1)).toMatchObject({ added: ['replaced'], removed: ['removed', 'replaced'] });
  });

  test('holds every usable key under one kid', async () => {
    const { keySet } = await setUpWithKeys({ keys: [publish(rsaKey('one'), 'twin'), publish(rsaKey('two'), 'twin')] });
    expect(keySet.find('twin')).toBeArrayOfSize(2);
  });

  const key = publish(rsaKey('bad'), 'bad');
  const unusable: readonly { name: string; bad: unknown }[] = [
    { name: 'null', bad: null },
    { name: 'text', bad: 'bad' },
    { name: 'without kty', bad: { ...key, kty: undefined } },
    { name: 'symmetric', bad: { kty: 'oct', kid: 'bad', k: 'c2VjcmV0' } },
    { name: 'elliptic', bad: { ...key, kty: 'EC' } },
    { name: 'without kid', bad: { ...key, kid: undefined } },
    { name: 'with a kid that is a number', bad: { ...key, kid: 7 } },
    { name: 'with an n that is no base64url', bad: { ...key, n: '!' } },
    { name: 'with an empty n', bad: { ...key, n: '' } },
    { name: 'without e', bad: { ...key, e: undefined } },
    { name: 'of 1024 bits', bad: publish(rsaKey('weak', 1024), 'bad') },
    { name: 'of 2047 bits', bad: publish(rsaKey('nearly', 2047), 'bad') },
    { name: 'for encryption', bad: { ...key, use: 'enc' } },
    { name: 'for RS512', bad: { ...key, alg: 'RS512' } },
    { name: 'for PS256', bad: { ...key, alg: 'PS256' } },
    { name: 'whose operations lack verify', bad: { ...key, key_ops: ['sign'] } },
    { name: 'whose operations are no list', bad: { ...key, key_ops: 'verify' } },
  ];
  for (const { name, bad } of unusable) {
    test(`leaves out a key ${name} and keeps the good one beside it`, async () => {
      const { keySet } = await setUpWithKeys({ keys: [bad, publish(rsaKey('one'), 'one')] });
      expect(keySet.find('bad')).toEqual([]);
      expect(keySet.find('one')).toBeArrayOfSize(1);
    });
  }

  for (const overrides of [{}, { use: undefined }, { alg: 'RS256' }, { key_ops: ['verify'] }, { d: 'c2VjcmV0' }]) {
    test(`holds a key with ${JSON.stringify(overrides)} laid over it, for verifying only`, async () => {
      const { keySet } = await setUpWithKeys({ keys: [publish(rsaKey('one'), 'one', overrides)] });
      const [held] = await keySet.find('one');
      expect(held?.cryptoKey.usages).toEqual(['verify']);
    });
  }

  test('adds up to a tenth to the maximum age and to the cooldown, so that a fleet spreads', async () => {
    const { keySet, settle, issuer, advance } = await setUpWithKeys({ random: 0.999 });
    expect(keySet.state().nextAttemptMs).toBeCloseTo(maxAgeMs * 1.0999);
    issuer.mode = { kind: 'answer', status: 500 };
    await advance(maxAgeMs * 1.0999);
    await settle();
    expect(keySet.state().nextAttemptMs).toBeCloseTo(cooldownMs * 1.0999);
  });

  test('has no time to the next attempt before the first, and while one is under way that a request caused', async () => {
    const { issuer, keySet, clock } = await setUp();
    expect(keySet.state().nextAttemptMs).toBe(0);
    await keySet.find('one');
    issuer.mode = { kind: 'hang' };
    clock.advance(cooldownMs);
    void keySet.find('unknown');
    expect(keySet.state().nextAttemptMs).toBe(0);
  });

  test('tries again at once when an attempt took longer than the cooldown', async () => {
    const { issuer, keySet, clock, events } = await setUp({ mode: { kind: 'hang' }, timeoutMs: cooldownMs + 1 });
    keySet.start();
    while (issuer.fetches === 0) await Bun.sleep(1);
    clock.advance(cooldownMs + 1);
    while (events.length === 0) await Bun.sleep(1);
    clock.advance(0);
    while (issuer.fetches === 1) await Bun.sleep(1);
    expect(events).toMatchObject([{ type: 'failed', failure: 'timeout' }]);
  });

  test('leaves no timer and no fetch behind once stopped', async () => {
    const { issuer, keySet, clock, events } = await setUp({ mode: { kind: 'hang' } });
    keySet.start();
    while (issuer.fetches === 0) await Bun.sleep(1);
    keySet.stop();
    while (clock.waiting > 0) await Bun.sleep(1);
    expect(events).toEqual([]);
  });
});
