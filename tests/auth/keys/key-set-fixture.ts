import type { KeySetSource as Source } from '../../../src/auth/keys/discovery.ts';
import { FetchError } from '../../../src/auth/keys/fetch/fault.ts';
import { KeySet, type KeySetOptions, type VerificationKey } from '../../../src/auth/keys/key-set.ts';
import { Rejected } from '../../../src/auth/rejections.ts';
import type { KeySetEvent } from '../../../src/auth/types.ts';
import { createFrozenClock } from '../../support/frozen-clock.ts';
import { publish, rsaKey } from '../../support/keys.ts';

export const issuer = 'https://issuer.example.test/';
export const url = `${issuer}keys`;
/** The state of a key set before its first fetch. */
export const unfetched = { keys: 0, ageMs: undefined, lastFailure: undefined, isFetching: false, nextAttemptMs: 0 };
export const times = { maxAgeMs: 600_000, maxStaleMs: 900_000, cooldownMs: 30_000, timeoutMs: 5_000 };

/** A source that publishes keys by their kids. Each has its own key pair, or the one named after a blank. */
export const publishing =
  (...kids: readonly string[]): Source =>
  async () => {
    const pairs = kids.map((text) => text.split(' '));
    return { url, keys: pairs.map(([kid = '', name = kid]) => publish(rsaKey(name), kid)) };
  };
export const failing: Source = () => Promise.reject(new FetchError('status', { url, status: 500 }));
export const hanging: Source = (signal) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new FetchError('timeout', { url }))));

/** Returns a key set with its own time and source, what it does, and ways to let time pass. */
export function setUp(options: Partial<KeySetOptions> = {}) {
  const clock = createFrozenClock();
  const events: KeySetEvent[] = [];
  const fetches: number[] = [];
  const published = { by: publishing('one') };
  const keySet = new KeySet({
    issuer,
    source(signal) {
      fetches.push(clock.now());
      return published.by(signal);
    },
    algorithms: ['RS256'],
    jwksMaxAgeSeconds: times.maxAgeMs / 1000,
    jwksMaxStaleSeconds: times.maxStaleMs / 1000,
    jwksCooldownSeconds: times.cooldownMs / 1000,
    jwksTimeoutSeconds: times.timeoutMs / 1000,
    clock,
    random: () => 0,
    onEvent: (event) => events.push(event),
    ...options,
  });
  /** Lets an attempt end that does not wait for time, because keys are imported on another thread. */
  const settle = async () => {
    const turns = published.by === hanging ? 10 : 10_000;
    for (let turn = 0; turn < turns && keySet.state().nextAttemptMs === 0; turn += 1) await Bun.sleep(0);
  };
  /** Advances the time and, if a source is given, fetches from that source from now on. */
  const advance = async (ms: number, source = published.by) => {
    published.by = source;
    clock.advance(ms);
    await settle();
  };
  const start = async (source = published.by) => {
    published.by = source;
    keySet.start();
    await settle();
  };
  const find = async (kid: string) => {
    const found = await keySet.find(kid);
    if (found instanceof Rejected) throw found;
    return found;
  };
  const areCurrent = (keys: readonly VerificationKey[]) =>
    keys.map((key) => {
      const isCurrent = keySet.isCurrent(key);
      if (keySet.use(key) !== isCurrent) throw new Error('isCurrent() and use() say different things');
      return isCurrent;
    });
  return { keySet, clock, events, fetches, published, settle, advance, start, find, areCurrent };
}

export async function started(options?: Partial<KeySetOptions>) {
  const fixture = setUp(options);
  await fixture.start();
  return fixture;
}
