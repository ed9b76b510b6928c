import { Refusal } from '../refusals.ts';
import type { Algorithm, FetchFault, KeySetChange, KeySetEvent, KeySetState } from '../types.ts';
import type { Clock, TimeAndRandom } from '../values/clock.ts';
import { ignoreRejection } from '../values/promises.ts';
import { printable } from '../values/text.ts';
import type { KeySetSource } from './discovery.ts';
import { FetchError, faultOf } from './fetch/fault.ts';
import { type ImportedKey, type ImportedKeys, importKeys, type Keys, readJwkSet, replaceKeys } from './jwk-set.ts';

/*
 * When keys are fetched, how long they are trusted, and what a lookup waits for.
 * Where the keys come from is decided in discovery.ts, and which of them can be used in jwk-set.ts.
 */

/** A key that verifies tokens of one algorithm. Check {@link KeySet.isCurrent} before trusting what it verified earlier. */
export type VerificationKey = Readonly<ImportedKey>;

export type FoundKeys = readonly VerificationKey[] | Refusal;

export interface KeySetOptions extends Pick<TimeAndRandom, 'clock' | 'random'> {
  /** Named in events and state. */
  readonly issuer: string;
  readonly source: KeySetSource;
  /** Keys are imported for these algorithms only. */
  readonly algorithms: readonly Algorithm[];
  /** Age at which keys are refreshed. Up to ten percent is added, so that instances started together do not fetch together. */
  readonly maxAgeMs: number;
  /** How long after that age keys stay trusted while the issuer cannot be reached. */
  readonly maxStaleMs: number;
  /** Minimum time after the start of a fetch that an unknown `kid` caused or that failed, before an unknown `kid` causes another. */
  readonly cooldownMs: number;
  /** Time limit of one fetch, including discovery and the body. */
  readonly timeoutMs: number;
  /** Its exceptions and rejections are ignored, so that a listener cannot make a fetch fail. */
  readonly onEvent: (event: KeySetEvent) => unknown;
}

/** A fetch that has not ended. */
interface FetchAttempt {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/** The keys of one issuer, which are refreshed in the background and kept during an outage. Infinite times stand for given keys. */
export class KeySet {
  readonly #options: KeySetOptions;
  readonly #clock: Clock;
  #keys: Keys = new Map();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** When the keys become too old to be trusted. Checked at each use, because timers are late in a process that was paused. */
  #expiresAt = Number.POSITIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #nextAttemptAt = Number.POSITIVE_INFINITY;
  /** The end of the cooldown. Until then, an unknown `kid` causes no fetch. */
  #earliestLookupAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastFailure: FetchFault | undefined;
  readonly #reported = new Set<string>();
  /** The result of calls of `reload` whose fetch has not begun. */
  #nextReload: Promise<void> | undefined;
  #pending: FetchAttempt | undefined;
  /** Calls that wait for the pending fetch. */
  #waiting = 0;
  #isStopped = false;
  #cancelTimer = () => {};

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /**
   * Returns the keys with this `kid`: at once if they are cached or if the cooldown has not passed, otherwise after the pending
   * fetch, or after one that begins now. All callers share it. An empty list means that the issuer publishes no such key. The
   * refusal `keys_unavailable` means that this is unknown, because the last fetch failed or did not end within its time limit, or because no trusted keys are cached.
   */
  find(kid: string): FoundKeys | Promise<FoundKeys> {
    this.#checkAge(true);
    const canChange = this.#pending || this.#mayFetch();
    return this.#keys.has(kid) || !canChange ? this.#lookUp(kid) : this.#fetchAndLookUp(kid);
  }

  /** Whether a key is still trusted: it has not left the set, and the set has not expired. */
  isCurrent(key: VerificationKey): boolean {
    this.#checkAge(true);
    return key.isCurrent;
  }

  state(): KeySetState {
    this.#checkAge(!this.#isStopped);
    const now = this.#clock.now();
    return {
      issuer: this.#options.issuer,
      keys: this.#keys.size,
      ageMs: this.#keys.size > 0 ? now - this.#fetchedAt : undefined,
      lastFailure: this.#lastFailure,
      isFetching: this.#pending !== undefined,
      // Nothing is scheduled before the first fetch or during one.
      nextAttemptMs: Number.isFinite(this.#nextAttemptAt) ? Math.max(0, this.#nextAttemptAt - now) : 0,
    };
  }

  /** Starts the background refresh, and a fetch unless keys are cached, or one is pending or too early. Returns at once. */
  start(): void {
    this.#isStopped = false;
    if (this.#attemptedAt === Number.NEGATIVE_INFINITY) this.#begin();
    else if (!this.#pending) this.#sleep();
  }

  /** Stops the background refresh, and aborts a fetch that no lookup waits for. Later lookups fetch only on demand. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
    if (this.#waiting > 0 || !this.#pending) return;
    this.#pending.abort.abort();
    this.#pending = undefined;
    // A fetch that was stopped does not count.
    this.#attemptedAt = Number.NEGATIVE_INFINITY;
    this.#nextAttemptAt = this.#clock.now();
  }

  /**
   * Fetches the keys, even during the cooldown, once what is pending has ended. Their URL is discovered again too. Calls share a
   * fetch that begins after all of them. Resolves when it has ended, successfully or not.
   */
  reload(): Promise<void> {
    this.#nextReload ??= Promise.resolve(this.#pending && this.#waitFor(this.#pending)).then(async () => {
      // A later call may be about a key that is withdrawn from now on.
      this.#nextReload = undefined;
      await this.#waitFor(this.#begin(true), true);
    });
    return this.#nextReload;
  }

  /** @param mayFetch whether keys that are due are fetched; after `stop`, only for a lookup */
  #checkAge(mayFetch: boolean): void {
    const now = this.#clock.now();
    if (now >= this.#expiresAt) this.#expire();
    if (this.#pending && now >= this.#attemptedAt + 2 * this.#options.timeoutMs) this.#lose();
    if (now >= this.#nextAttemptAt && mayFetch) this.#begin();
  }

  async #fetchAndLookUp(kid: string): Promise<FoundKeys> {
    const pending = this.#pending;
    if (pending) await this.#waitFor(pending);
    if (this.#keys.has(kid) || (pending && this.#pending === pending)) return this.#lookUp(kid);
    // What was pending may have begun before the key was published.
    if (this.#pending) await this.#waitFor(this.#pending);
    else if (this.#mayFetch()) await this.#waitFor(this.#beginForUnknown(), true);
    return this.#lookUp(kid);
  }

  #mayFetch(): boolean {
    return this.#clock.now() >= this.#earliestLookupAt;
  }

  /** Begins the cooldown, unless nothing was fetched before: then the fetch was due. */
  #beginForUnknown(): FetchAttempt {
    const isFirst = this.#attemptedAt === Number.NEGATIVE_INFINITY;
    const attempt = this.#begin();
    if (!isFirst) this.#earliestLookupAt = this.#earliestAttemptAt();
    return attempt;
  }

  #lookUp(kid: string): FoundKeys {
    const isKnown = this.#keys.size > 0 && !this.#lastFailure && !this.#pending;
    const found = this.#keys.get(kid) ?? (isKnown ? [] : undefined);
    if (found) return found;
    const retryAfterMs = this.#earliestLookupAt - this.#clock.now();
    return new Refusal('keys_unavailable', Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }

  /**
   * Waits for an attempt, and returns whether it has not been lost. It ends within its time limit, unless another request began
   * it: on Cloudflare Workers it then ends with that request, and waiting for it throws or never ends.
   */
  async #waitFor(attempt: FetchAttempt, isOwn = false): Promise<boolean> {
    let cancel = () => {};
    const limit = new Promise<void>((done) => {
      if (!isOwn) cancel = this.#clock.schedule(done, this.#options.timeoutMs);
    });
    this.#waiting += 1;
    const isLost = await Promise.race([attempt.ended, limit]).then(
      () => false,
      () => true,
    );
    this.#waiting -= 1;
    cancel();
    if (isLost && this.#pending === attempt) this.#lose();
    return !isLost;
  }

  /** @param isAnew whether the URL of the keys is looked up again */
  #begin(isAnew = false): FetchAttempt {
    this.#attemptedAt = this.#clock.now();
    this.#nextAttemptAt = Number.POSITIVE_INFINITY;
    const abort = new AbortController();
    this.#pending = { abort, ended: this.#attempt(abort, isAnew) };
    return this.#pending;
  }

  async #attempt(abort: AbortController, isAnew: boolean): Promise<void> {
    const { source, algorithms, timeoutMs } = this.#options;
    const cancelTimeout = this.#clock.schedule(() => abort.abort(), timeoutMs);
    const outcome = await source(abort.signal, isAnew)
      .then(({ json, url }) => importKeys(readJwkSet(json, algorithms, url), this.#keys, url))
      .catch(faultOf);
    cancelTimeout();
    // Otherwise it was stopped, or given up as lost.
    if (this.#pending?.abort !== abort) return;
    this.#pending = undefined;
    if ('failure' in outcome) this.#failed(outcome);
    else this.#succeeded(outcome);
    this.#sleep();
  }

  /** Counts a pending attempt that can no longer end as a failure. */
  #lose(): void {
    this.#lastFailure = new FetchError('timeout').fault;
    this.#earliestLookupAt = this.#earliestAttemptAt();
    this.#pending = undefined;
    this.#nextAttemptAt = Math.max(this.#clock.now(), this.#earliestAttemptAt());
    this.#sleep();
  }

  #succeeded(imported: ImportedKeys): void {
    const { maxAgeMs, maxStaleMs } = this.#options;
    const { keys } = imported;
    const afterFailures = this.#failures;
    const change = replaceKeys(this.#keys, keys);
    this.#keys = keys;
    // Counted from the start of the fetch, because a slow response may be as old as its request.
    this.#fetchedAt = this.#attemptedAt;
    this.#expiresAt = this.#fetchedAt + maxAgeMs + maxStaleMs;
    this.#nextAttemptAt = Math.max(this.#fetchedAt + this.#jittered(maxAgeMs), this.#earliestAttemptAt());
    // Given keys never change.
    if (maxAgeMs === Number.POSITIVE_INFINITY) this.#earliestLookupAt = maxAgeMs;
    this.#failures = 0;
    this.#lastFailure = undefined;
    this.#emit({ type: 'fetched', ...change, afterFailures });
    for (const type of ['ambiguous', 'unsupported', 'unusable'] as const) this.#reportOnce(type, imported[type]);
  }

  #failed(fault: FetchFault): void {
    this.#failures += 1;
    this.#lastFailure = fault;
    this.#earliestLookupAt = this.#earliestAttemptAt();
    this.#nextAttemptAt = this.#attemptedAt + this.#jittered(this.#cooldownMs());
    this.#emit({ type: 'failed', ...fault, failures: this.#failures });
  }

  #expire(): void {
    replaceKeys(this.#keys, new Map());
    this.#keys = new Map();
    this.#expiresAt = Number.POSITIVE_INFINITY;
    this.#emit({ type: 'expired' });
  }

  /** Waits for the next fetch or for the expiry, whichever comes first, so that an idle process refreshes its keys too. */
  #sleep(): void {
    this.#cancelTimer();
    if (this.#isStopped) return;
    const wake = () => {
      this.#checkAge(true);
      if (!this.#pending) this.#sleep();
    };
    const delayMs = Math.min(this.#nextAttemptAt, this.#expiresAt) - this.#clock.now();
    // Keys that were given never need another attempt. A timer can wait for at most 2^31 ms.
    if (delayMs < 2 ** 31) this.#cancelTimer = this.#clock.schedule(wake, Math.max(0, delayMs));
  }

  #earliestAttemptAt(): number {
    return this.#attemptedAt + this.#cooldownMs();
  }

  /** Until the first success, attempts are 1, 2, 4, … seconds apart, because an issuer may start after its API. */
  #cooldownMs(): number {
    const { cooldownMs } = this.#options;
    const hasSucceeded = this.#fetchedAt !== Number.NEGATIVE_INFINITY;
    return hasSucceeded ? cooldownMs : Math.min(cooldownMs, 1000 * 2 ** Math.max(0, this.#failures - 1));
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + this.#options.random() / 10);
  }

  /** Reports keys that are not used as their issuer may intend. */
  #reportOnce(type: 'ambiguous' | 'unsupported' | 'unusable', keys: ImportedKeys[typeof type]): void {
    if (keys.length === 0 || this.#reported.has(type)) return;
    this.#reported.add(type);
    const reasons = Object.fromEntries(keys.map(({ kid, reason }) => [printable(kid), reason]));
    this.#emit({ type, keys: Object.keys(reasons), ...(type !== 'ambiguous' && { reasons }) });
  }

  #emit(change: KeySetChange): void {
    const { issuer, onEvent } = this.#options;
    try {
      ignoreRejection(onEvent({ issuer, ...change }));
    } catch {}
  }
}
