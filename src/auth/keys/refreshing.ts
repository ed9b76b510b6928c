import type { CheckedOptions, FetchFault } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { FetchError } from './fetch/fault.ts';

/*
 * When an issuer is asked for its keys, how long they are trusted, and who waits for a fetch. What is fetched, and what
 * a lookup returns, is decided in key-set.ts.
 */

/** Maximum age and cooldown are infinite for what never changes. */
export type RefreshOptions = Pick<TimeAndRandom, 'clock' | 'random'> &
  Pick<CheckedOptions, 'jwksMaxAgeSeconds' | 'jwksMaxStaleSeconds' | 'jwksCooldownSeconds' | 'jwksTimeoutSeconds'>;

/** A fetch that has not ended. */
export interface FetchAttempt {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
  /** Whether no request keeps it alive: a timer began it, as an instance wakes up that was frozen. */
  isUnattended?: boolean;
}

/** Something that is refreshed in the background and kept during an outage. All that wait for a fetch share it. */
export abstract class Refreshing<Fetched extends object, Options extends RefreshOptions> {
  protected fetchedAt = Number.NEGATIVE_INFINITY;
  /** When it becomes too old to be trusted. Checked at each use: timers are late after a pause of the process. */
  protected expiresAt = Number.POSITIVE_INFINITY;
  protected attemptedAt = Number.NEGATIVE_INFINITY;
  protected nextAttemptAt = Number.POSITIVE_INFINITY;
  /** The end of the cooldown. Until then, a lookup causes no fetch. */
  protected earliestLookupAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  protected lastFailure: FetchFault | undefined;
  /** The result of calls of `reload` whose fetch has not begun. */
  #nextReload: Promise<void> | undefined;
  protected pending: FetchAttempt | undefined;
  /** Calls that wait for the pending fetch. */
  #waiting = 0;
  protected isStopped = false;
  #cancelTimer = () => {};
  #setBacks: number;
  readonly #timeoutMs: number;

  constructor(protected readonly options: Options) {
    this.#timeoutMs = options.jwksTimeoutSeconds * 1000;
    this.#setBacks = options.clock.setBacks;
  }

  /** @param isAnew whether its URL is looked up again */
  protected abstract fetch(signal: AbortSignal, isAnew: boolean): Promise<Fetched>;
  protected abstract accept(fetched: Fetched, afterFailures: number): void;
  protected abstract fail(fault: FetchFault, failures: number): void;
  protected abstract expire(): void;

  /** Starts the background refresh, and a fetch unless one is pending, too early or not due. Returns at once. */
  start(): void {
    this.isStopped = false;
    if (this.attemptedAt === Number.NEGATIVE_INFINITY) this.begin();
    else this.#sleep();
  }

  /** Stops the background refresh, and aborts a fetch that no lookup waits for. Later lookups fetch only on demand. */
  stop(): void {
    this.isStopped = true;
    this.#cancelTimer();
    if (this.#waiting > 0 || !this.pending) return;
    this.pending.abort.abort();
    this.pending = undefined;
    // A fetch that was stopped does not count.
    this.attemptedAt = Number.NEGATIVE_INFINITY;
    this.nextAttemptAt = this.options.clock.now();
  }

  /**
   * Fetches, even during the cooldown, once what is pending has ended. The URL is discovered again too. Calls share a
   * fetch that begins after all of them. Resolves when it has ended, successfully or not.
   */
  reload(): Promise<void> {
    this.#nextReload ??= Promise.resolve(this.pending && this.waitFor(this.pending)).then(async () => {
      // A later call may be about a key that is withdrawn from now on.
      this.#nextReload = undefined;
      await this.waitFor(this.begin(true), true);
    });
    return this.#nextReload;
  }

  /**
   * Whether the pending attempt should have ended. On Cloudflare Workers, one that no request waits for is lost with
   * the request that began it. Then a request must begin another, and wait for it.
   */
  protected get isLost(): boolean {
    return this.pending !== undefined && this.options.clock.now() >= this.attemptedAt + this.#timeoutMs;
  }

  /**
   * Returns an attempt that it begins, because it is due.
   * @param mayFetch whether it fetches what is due; after `stop`, only for a lookup
   */
  protected checkAge(mayFetch = true): FetchAttempt | undefined {
    const { clock } = this.options;
    const now = clock.now();
    if (now >= this.expiresAt) {
      this.expiresAt = Number.POSITIVE_INFINITY;
      this.expire();
    }
    if (clock.setBacks !== this.#setBacks) {
      this.#setBacks = clock.setBacks;
      if (Number.isFinite(this.nextAttemptAt)) this.nextAttemptAt = now;
    }
    return now >= this.nextAttemptAt && mayFetch ? this.begin() : undefined;
  }

  /**
   * Waits for an attempt. It ends within its time limit, unless another request began it: on Cloudflare Workers it then
   * ends with that request, and waiting for it throws or never ends.
   */
  protected async waitFor(attempt: FetchAttempt, isOwn = false): Promise<void> {
    let cancel = () => {};
    const limit = new Promise<void>((done) => {
      if (!isOwn) cancel = this.options.clock.schedule(done, this.#timeoutMs);
    });
    this.#waiting += 1;
    await Promise.race([attempt.ended, limit]).catch(() => {
      if (this.pending === attempt) this.#lose();
    });
    this.#waiting -= 1;
    cancel();
  }

  protected begin(isAnew = false): FetchAttempt {
    this.attemptedAt = this.options.clock.now();
    this.nextAttemptAt = Number.POSITIVE_INFINITY;
    const abort = new AbortController();
    this.pending = { abort, ended: this.#attempt(abort, isAnew) };
    return this.pending;
  }

  async #attempt(abort: AbortController, isAnew: boolean): Promise<void> {
    const cancelTimeout = this.options.clock.schedule(() => abort.abort(), this.#timeoutMs);
    const faultOf = (error: unknown) => (error instanceof FetchError ? error : new FetchError('network')).fault;
    const outcome = await this.fetch(abort.signal, isAnew).catch(faultOf);
    cancelTimeout();
    // Otherwise it was stopped, or given up as lost.
    if (this.pending?.abort !== abort) return;
    this.pending = undefined;
    if ('failure' in outcome) this.#fail(outcome);
    else this.#succeed(outcome);
    this.#sleep();
  }

  /** Counts a pending attempt that can no longer end as a failure. */
  #lose(): void {
    this.lastFailure = new FetchError('timeout').fault;
    this.startCooldown();
    this.pending = undefined;
    this.nextAttemptAt = Math.max(this.options.clock.now(), this.earliestLookupAt);
    this.#sleep();
  }

  #succeed(fetched: Fetched): void {
    const { jwksMaxAgeSeconds, jwksMaxStaleSeconds } = this.options;
    const maxAgeMs = jwksMaxAgeSeconds * 1000;
    const lifetimeMs = maxAgeMs + jwksMaxStaleSeconds * 1000;
    // Counted from the start of the fetch, because a slow response may be as old as its request.
    this.fetchedAt = this.attemptedAt;
    // Keys of a slow issuer may be older than that when they arrive: what waited for them uses them all the same.
    this.expiresAt = Math.max(this.fetchedAt + lifetimeMs, this.options.clock.now() + 1000);
    // If the stale time is short, early enough to end before the keys expire.
    const dueMs = Math.min(this.#jittered(maxAgeMs), lifetimeMs - this.#timeoutMs);
    this.nextAttemptAt = this.fetchedAt + Math.max(dueMs, this.#cooldownMs());
    // What was given never changes.
    if (maxAgeMs === Number.POSITIVE_INFINITY) this.earliestLookupAt = maxAgeMs;
    this.lastFailure = undefined;
    this.accept(fetched, this.#failures);
    this.#failures = 0;
  }

  #fail(fault: FetchFault): void {
    this.#failures += 1;
    this.lastFailure = fault;
    this.startCooldown();
    this.nextAttemptAt = this.attemptedAt + this.#jittered(this.#cooldownMs());
    this.fail(fault, this.#failures);
  }

  /** Waits for the next fetch or the expiry, whichever comes first, so that an idle process refreshes its keys too. */
  #sleep(): void {
    this.#cancelTimer();
    if (this.isStopped) return;
    const wake = () => {
      Object.assign(this.checkAge() ?? {}, { isUnattended: true });
      this.#sleep();
    };
    const delayMs = Math.min(this.nextAttemptAt, this.expiresAt) - this.options.clock.now();
    // What was given never needs another attempt.
    if (Number.isFinite(delayMs)) this.#cancelTimer = this.options.clock.schedule(wake, Math.max(0, delayMs));
  }

  protected startCooldown(): void {
    this.earliestLookupAt = this.attemptedAt + this.#cooldownMs();
  }

  /** Until the first success, attempts are 1, 2, 4, … seconds apart, because an issuer may start after its API. */
  #cooldownMs(): number {
    const cooldownMs = this.options.jwksCooldownSeconds * 1000;
    if (this.fetchedAt !== Number.NEGATIVE_INFINITY) return cooldownMs;
    return Math.min(cooldownMs, 1000 * 2 ** Math.max(0, this.#failures - 1));
  }

  /** Up to ten percent more, so that instances that were started together do not fetch together. */
  readonly #jittered = (delayMs: number) => delayMs * (1 + this.options.random() / 10);
}
