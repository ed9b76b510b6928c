import { describe, expect, test } from 'bun:test';
import type { FetchedKeys } from '../../../src/auth/keys/discovery.ts';
import { Rejected } from '../../../src/auth/rejections.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { failing, hanging, publishing, setUp, started, times } from './key-set-fixture.ts';

const { cooldownMs, maxAgeMs, maxStaleMs, timeoutMs } = times;

const published = { answering: publishing('two'), failing, hanging };

describe('KeySet', () => {
  for (const source of [publishing('one'), hanging]) {
    const state = source === hanging ? 'while it fetches' : 'with keys held';
    test(`leaves no timer and no fetch behind when stopped ${state}, and continues when started again`, async () => {
      const { keySet, clock, events, fetches, start, settle, advance } = setUp();
      await start(source);
      const reported = events.length;
      expect(clock.waiting).toBe(1);
      keySet.stop();
      await settle();
      expect(clock.waiting).toBe(0);
      clock.pause(maxAgeMs);
      keySet.state();
      expect(fetches).toBeArrayOfSize(1);
      expect(events).toBeArrayOfSize(reported);

      await start(publishing('one'));
      await advance(0);
      expect(fetches).toBeArrayOfSize(2);
      expect(keySet.find('one')).toBeArrayOfSize(1);
      expect(clock.waiting).toBe(1);
    });
  }

  test('after a stop, fetches only for lookups, and schedules nothing', async () => {
    const { keySet, clock, fetches, find, settle, areCurrent } = await started();
    const keys = await find('one');
    keySet.stop();
    clock.pause(maxAgeMs);
    keySet.state();
    expect(fetches).toBeArrayOfSize(1);
    expect(areCurrent(keys)).toEqual([true]);
    await settle();
    expect(fetches).toBeArrayOfSize(2);
    clock.pause(maxAgeMs + maxStaleMs);
    expect(await find('one')).toBeArrayOfSize(1);
    expect(fetches).toBeArrayOfSize(3);
    expect(clock.waiting).toBe(0);
    keySet.start();
    expect(clock.waiting).toBe(1);
  });

  test('reload() waits for a pending fetch, then for one that begins after the call and that calls until then share', async () => {
    const asked: boolean[] = [];
    let finish = () => {};
    const { keySet, clock, published, events, settle } = setUp({
      async source(signal, isAnew = false) {
        asked.push(isAnew);
        await new Promise<void>((done) => {
          finish = done;
        });
        return published.by(signal);
      },
    });
    const first = keySet.find('one');
    const reloads = [keySet.reload(), keySet.reload()];
    await Bun.sleep(0);
    expect(asked).toEqual([false]);
    finish();
    expect(await first).toBeArrayOfSize(1);
    published.by = publishing('two');
    await Bun.sleep(0);
    expect(asked).toEqual([false, true]);
    const second = keySet.find('two');
    // A key that is withdrawn now is still in what that fetch gets.
    const later = [keySet.reload(), keySet.reload()];
    keySet.stop();
    finish();
    await Promise.all(reloads);
    expect(await second).toBeArrayOfSize(1);
    await Bun.sleep(0);
    published.by = failing;
    finish();
    await Promise.all(later);
    expect(asked).toEqual([false, true, true]);
    expect(keySet.find('one')).toEqual(new Rejected('keys_unavailable', cooldownMs / 1000));
    expect(keySet.state()).toMatchObject({ keys: 1, lastFailure: { status: 500 }, nextAttemptMs: cooldownMs });
    await settle();
    expect([events.length, clock.waiting]).toEqual([3, 0]);
  });

  const neverEnding = () => new Promise<never>(() => {});

  /** On Cloudflare Workers, a fetch ends with the request that started it: the fetch and its timers never settle. */
  test('a fetch that never ends delays no call longer than its time limit, and then one call fetches instead', async () => {
    const { keySet, clock, published, fetches, find } = setUp();
    published.by = neverEnding;
    void keySet.find('one');
    clock.loseTimers();
    clock.pause(timeoutMs - 1);
    const waiting = keySet.find('one');
    clock.advance(timeoutMs);
    expect(await waiting).toEqual(new Rejected('keys_unavailable', 1));
    expect(fetches).toBeArrayOfSize(1);
    // Without keys, others wait for the call that fetches.
    published.by = publishing('one');
    const found = await Promise.all([find('one'), find('one')]);
    expect(found[0]).toBe(found[1] as never);
    expect(fetches).toBeArrayOfSize(2);

    published.by = neverEnding;
    clock.pause(maxAgeMs);
    expect(keySet.find('one')).toBeArrayOfSize(1);
    clock.loseTimers();
    const unknown = keySet.find('two');
    clock.advance(timeoutMs);
    expect(await unknown).toBeInstanceOf(Rejected);
    const reload = keySet.reload();
    await Bun.sleep(0);
    published.by = publishing('two');
    clock.advance(timeoutMs);
    await reload;
    expect(keySet.find('two')).toBeArrayOfSize(1);
  });

  test.each<[string, (typeof published)[keyof typeof published], kept: boolean, failure: string | undefined]>([
    ['answers', published.answering, false, undefined],
    ['fails', published.failing, true, 'status'],
    ['hangs', published.hanging, true, 'timeout'],
  ])(
    'a background refresh is lost once its time limit has passed: one check fetches and waits, and the issuer %s',
    async (_, source, kept, failure) => {
      const { keySet, clock, published: by, fetches, find, areCurrent } = await started();
      const [key] = await find('one');
      if (!key) throw new Error('There is no key');
      by.by = neverEnding;
      clock.pause(maxAgeMs);
      expect(keySet.use(key)).toBe(true);
      clock.loseTimers();
      clock.pause(timeoutMs - 1);
      expect([keySet.use(key), keySet.find('one')]).toEqual([true, [key]]);
      expect(fetches).toBeArrayOfSize(2);
      clock.pause(1);
      by.by = source;
      expect(keySet.use(key)).toBe(false);
      const waiting = keySet.find('one');
      expect(waiting).toBeInstanceOf(Promise);
      // Others go on with the keys that are held.
      expect([keySet.use(key), keySet.find('one')]).toEqual([true, [key]]);
      await Bun.sleep(0);
      clock.advance(timeoutMs);
      expect(await waiting).toEqual(kept ? [key] : []);
      expect(areCurrent([key])).toEqual([kept]);
      expect(keySet.state().lastFailure?.failure).toBe(failure as never);
      expect(fetches).toBeArrayOfSize(3);
      // A failure backs off, and nothing waits again.
      if (kept) expect(keySet.find('one')).toEqual([key]);
      clock.pause(keySet.state().nextAttemptMs - 1);
      expect(keySet.use(key)).toBe(kept);
      expect(fetches).toBeArrayOfSize(3);
    },
  );

  test('hands each fetch that a check begins and does not wait for to waitUntil, and no other', async () => {
    const handed: Promise<unknown>[] = [];
    const waitUntil = (promise: Promise<unknown>) => {
      handed.push(promise);
      throw new Error('of the application');
    };
    const { keySet, clock, published: by, fetches, find, advance } = setUp({ waitUntil });
    const [key] = await find('one');
    await keySet.reload();
    keySet.start();
    await advance(maxAgeMs);
    expect([fetches.length, handed.length]).toEqual([3, 0]);
    keySet.stop();
    by.by = publishing('one', 'two');
    for (const call of [() => keySet.find('one'), () => key && keySet.use(key)]) {
      clock.pause(maxAgeMs);
      call();
      call();
      await handed.at(-1);
    }
    expect([fetches.length, handed.length]).toEqual([5, 2]);
    clock.pause(maxAgeMs);
    expect(await keySet.find('three')).toEqual([]);
    expect(handed.length).toBe(2);
  });

  // As on a host that freezes instances between two requests: timers run first when the next one comes.
  test('hands a fetch that a timer began to waitUntil once, if it is pending at a check', async () => {
    const handed: Promise<unknown>[] = [];
    const { keySet, clock, fetches, find } = setUp({ waitUntil: (promise) => handed.push(promise) });
    const [key] = await find('one');
    clock.advance(maxAgeMs);
    expect([fetches.length, handed.length]).toEqual([2, 0]);
    for (const call of [() => keySet.find('one'), () => key && keySet.use(key)]) {
      call();
      expect([fetches.length, handed.length]).toEqual([2, 1]);
    }
    await handed[0];
    expect(keySet.state().isFetching).toBe(false);
  });

  test('fetches at once when the wall clock was set back, because nothing says how old the keys are', async () => {
    const { keySet, clock, published: by, fetches, settle } = await started();
    keySet.stop();
    clock.setBack();
    by.by = publishing('two');
    expect(keySet.find('one')).toBeArrayOfSize(1);
    await settle();
    expect(fetches).toBeArrayOfSize(2);
    expect(keySet.find('two')).toBeArrayOfSize(1);
  });

  /** On Cloudflare Workers, waiting for a fetch that another request started can also throw. */
  test('a fetch that cannot be waited for is given up at once, but not another one that began since', async () => {
    const clock = createFrozenClock();
    const schedule: typeof clock.schedule = (callback, delayMs) => {
      const cancel = clock.schedule(callback, delayMs);
      const throwing = () => {
        throw new Error('of another request');
      };
      const isTimeout = delayMs === timeoutMs && cannotBeAwaited;
      cannotBeAwaited = false;
      return isTimeout ? throwing : cancel;
    };
    let cannotBeAwaited = true;
    const { keySet, published } = setUp({ clock: { ...clock, schedule } });
    expect(await keySet.find('one')).toEqual(new Rejected('keys_unavailable', 1));
    expect(keySet.state()).toMatchObject({ isFetching: false, lastFailure: { failure: 'timeout' } });

    let finish = (_: FetchedKeys) => {};
    published.by = () => new Promise((done) => (finish = done));
    cannotBeAwaited = true;
    clock.pause(1000);
    const first = keySet.find('one');
    clock.pause(timeoutMs);
    published.by = hanging;
    void keySet.find('two');
    finish(await publishing('one')(AbortSignal.abort()));
    await Bun.sleep(0);
    expect(keySet.state().isFetching).toBe(true);
    clock.advance(timeoutMs);
    expect(await first).toBeInstanceOf(Rejected);
  });

  test('a lookup and reload() wait for the end of the fetch that they started, even if that comes after its time limit', async () => {
    const { keySet, clock, published } = await started();
    let finish = (_: FetchedKeys) => {};
    published.by = () => new Promise((done) => (finish = done));
    for (const kid of ['two', 'three']) {
      const waited = kid === 'two' ? keySet.find(kid) : keySet.reload();
      await Bun.sleep(0);
      clock.advance(timeoutMs);
      await Bun.sleep(0);
      finish(await publishing(kid)(AbortSignal.abort()));
      await waited;
      expect(keySet.find(kid)).toBeArrayOfSize(1);
    }
  });

  test('stop() does not abort a fetch that a lookup waits for, but aborts a later one that nothing waits for', async () => {
    const { keySet, clock, published, start, settle, advance } = setUp();
    published.by = (signal) => {
      keySet.stop();
      return publishing(signal.aborted ? 'aborted' : 'one')(signal);
    };
    expect(await keySet.find('one')).toBeArrayOfSize(1);
    await start(hanging);
    await advance(maxAgeMs);
    keySet.stop();
    await settle();
    expect(clock.waiting).toBe(0);
  });
});
