import type { Algorithm } from '../jose/algorithms.ts';
import { Refusal } from '../refusals.ts';
import { printable } from './address.ts';
import { type Clock, systemClock } from './clock.ts';
import { FetchError, type FetchFault } from './fetch-json.ts';
import { type ImportedKey, importKeys, type Keys, type ReadKey, readJwkSet } from './jwk-set.ts';
import type { KeySetSource } from './key-set-source.ts';

/** A key that verifies tokens of one algorithm. Check {@link KeySet.isCurrent} before trusting what it verified earlier. */
export type VerificationKey = Readonly<ImportedKey>;

export type FoundKeys = readonly VerificationKey[] | Refusal;

export interface KeySet {
  /**
   * Returns the keys with this `kid`: at once if they are cached or if the cooldown has not passed, otherwise after one fetch
   * that all callers share. An empty list means that the issuer publishes no such key. The refusal `keys_unavailable` means that
   * no trusted keys are cached and none can be fetched: an outage, not a fault of the token.
   */
  find(kid: string): FoundKeys | Promise<FoundKeys>;
  /** Whether a key is still trusted: it has not left the set, and the set has not expired. */
  isCurrent(key: VerificationKey): boolean;
  state(): KeySetState;
  /** Starts a fetch, unless keys are held or one is pending or too early, and the background refresh. Returns at once. */
  start(): void;
  /** Stops the background refresh, and aborts a fetch that no lookup waits for. Later lookups fetch only on demand. */
  stop(): void;
}

export interface KeySetState {
  readonly issuer: string;
  /** Number of trusted key IDs; 0 means that no token can be verified. */
  readonly keys: number;
  /** Age of the keys in milliseconds; undefined without keys. */
  readonly ageMs: number | undefined;
  /** Why the last fetch failed; undefined after a success and before the first fetch. */
  readonly lastFailure: FetchFault | undefined;
  /** Milliseconds until the next scheduled fetch; 0 while one is in progress, before the first, and when none is scheduled. */
  readonly nextAttemptMs: number;
}

/** What happened to the keys of an issuer. Key IDs are shortened and escaped. */
export type KeySetEvent = { readonly issuer: string } & (
  | {
      readonly type: 'fetched';
      /** IDs of the keys that were added and removed. A replaced key is in both. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      /** Number of failed fetches since the previous success. */
      readonly afterFailures: number;
    }
  | (FetchFault & {
      readonly type: 'failed';
      /** Number of consecutive failures. */
      readonly failures: number;
    })
  /** The keys are too old to be trusted. */
  | { readonly type: 'expired' }
  | {
      /** Reported once: keys without `alg` fit several accepted algorithms, and serve the first of them only. */
      readonly type: 'ambiguous';
      /** IDs of these keys. */
      readonly keys: readonly string[];
    }
);

/** Its exceptions and rejections are ignored, so that a listener cannot make a fetch fail. */
export type OnKeySetEvent = (event: KeySetEvent) => unknown;

export interface KeySetOptions {
  /** Named in events and state. */
  readonly issuer: string;
  readonly source: KeySetSource;
  /** Keys are imported for these algorithms only. */
  readonly algorithms: readonly Algorithm[];
  /** Age at which keys are refreshed. Up to ten percent is added, so that instances started together do not fetch together. */
  readonly maxAgeMs: number;
  /** How long past that age keys stay trusted while the issuer cannot be reached. */
  readonly maxStaleMs: number;
  /** Minimum time between the starts of two fetches, failed or not. */
  readonly cooldownMs: number;
  /** Time limit of one fetch, including discovery and the body. */
  readonly timeoutMs: number;
  readonly onEvent?: OnKeySetEvent | undefined;
  readonly clock?: Clock | undefined;
  /** At least 0 and below 1; defaults to `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** Returns the keys of one issuer. They are refreshed in the background, and kept during an outage of the issuer. */
export function createKeySet(options: KeySetOptions): KeySet {
  return new RefreshingKeySet(options);
}

class RefreshingKeySet implements KeySet {
  readonly #options: KeySetOptions;
  readonly #clock: Clock;
  readonly #random: () => number;
  #keys: Keys = new Map();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** When the keys become too old to be trusted. Checked at each use, because timers are late in a process that was paused. */
  #expiresAt = Number.POSITIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #nextAttemptAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #lastFailure: FetchFault | undefined;
  #hasReportedAmbiguity = false;
  #pending: Promise<void> | undefined;
  #abort = new AbortController();
  /** Lookups that wait for the pending fetch. */
  #waiting = 0;
  #isStopped = false;
  #cancelTimer = () => {};

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  find(kid: string): FoundKeys | Promise<FoundKeys> {
    this.#checkAge(true);
    const keys = this.#keys.get(kid);
    if (keys) return keys;
    const isTooEarly = this.#clock.now() < this.#earliestAttemptAt();
    if (isTooEarly && !this.#pending) return this.#lookUp(kid);
    return this.#fetchAndLookUp(kid);
  }

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
      // Nothing is scheduled before the first fetch or during one.
      nextAttemptMs: Number.isFinite(this.#nextAttemptAt) ? Math.max(0, this.#nextAttemptAt - now) : 0,
    };
  }

  start(): void {
    this.#isStopped = false;
    if (this.#attemptedAt === Number.NEGATIVE_INFINITY) void this.#attempt();
    else if (!this.#pending) this.#sleep();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer();
    if (this.#waiting === 0) this.#abort.abort();
  }

  /** @param mayFetch whether keys that are due are fetched; after `stop`, only for a lookup */
  #checkAge(mayFetch: boolean): void {
    const now = this.#clock.now();
    if (now >= this.#expiresAt) this.#expire();
    if (now >= this.#nextAttemptAt && mayFetch) void this.#attempt();
  }

  async #fetchAndLookUp(kid: string): Promise<FoundKeys> {
    this.#waiting += 1;
    try {
      await this.#attempt();
    } finally {
      this.#waiting -= 1;
    }
    return this.#lookUp(kid);
  }

  #lookUp(kid: string): FoundKeys {
    if (this.#keys.size > 0) return this.#keys.get(kid) ?? [];
    const retryAfterMs = this.#earliestAttemptAt() - this.#clock.now();
    return new Refusal('keys_unavailable', Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }

  #attempt(): Promise<void> {
    this.#pending ??= this.#refresh().finally(() => {
      this.#pending = undefined;
      this.#sleep();
    });
    return this.#pending;
  }

  async #refresh(): Promise<void> {
    const { source, algorithms, timeoutMs } = this.#options;
    const attemptedBefore = this.#attemptedAt;
    this.#attemptedAt = this.#clock.now();
    this.#nextAttemptAt = Number.POSITIVE_INFINITY;
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const timeout = new AbortController();
    const cancelTimeout = this.#clock.schedule(() => timeout.abort(), timeoutMs);
    try {
      const { json, url } = await source(AbortSignal.any([timeout.signal, signal]));
      const read = readJwkSet(json, algorithms, url);
      this.#succeeded(await importKeys(read, this.#keys, url), read);
    } catch (error) {
      if (signal.aborted) {
        // It counts for nothing, so that start() after stop() fetches at once.
        this.#attemptedAt = attemptedBefore;
        this.#nextAttemptAt = Math.max(this.#clock.now(), this.#earliestAttemptAt());
      } else this.#failed(error instanceof FetchError ? error.fault : new FetchError('network').fault);
    } finally {
      cancelTimeout();
    }
  }

  #succeeded(keys: Keys, read: readonly ReadKey[]): void {
    const { maxAgeMs, maxStaleMs } = this.#options;
    const afterFailures = this.#failures;
    const change = difference(this.#keys, keys);
    this.#hold(keys);
    // Counted from the start of the fetch, because a slow response may be as old as its request.
    this.#fetchedAt = this.#attemptedAt;
    this.#expiresAt = this.#fetchedAt + maxAgeMs + maxStaleMs;
    this.#nextAttemptAt = Math.max(this.#fetchedAt + this.#jittered(maxAgeMs), this.#earliestAttemptAt());
    this.#failures = 0;
    this.#lastFailure = undefined;
    this.#emit({ issuer: this.#options.issuer, type: 'fetched', ...change, afterFailures });
    if (!this.#hasReportedAmbiguity)
      this.#hasReportedAmbiguity = reportAmbiguousKeys(this.#options.onEvent, this.#options.issuer, read);
  }

  #failed(fault: FetchFault): void {
    this.#failures += 1;
    this.#lastFailure = fault;
    this.#nextAttemptAt = this.#attemptedAt + this.#jittered(this.#options.cooldownMs);
    this.#emit({ issuer: this.#options.issuer, type: 'failed', ...fault, failures: this.#failures });
  }

  #expire(): void {
    this.#hold(new Map());
    this.#expiresAt = Number.POSITIVE_INFINITY;
    this.#emit({ issuer: this.#options.issuer, type: 'expired' });
  }

  #hold(keys: Keys): void {
    const kept = new Set([...keys.values()].flat());
    for (const key of [...this.#keys.values()].flat()) key.isCurrent = kept.has(key);
    this.#keys = keys;
  }

  /** Waits for the next fetch or for the expiry, whichever comes first, so that an idle process refreshes its keys too. */
  #sleep(): void {
    this.#cancelTimer();
    if (this.#isStopped) return;
    const wakeAt = Math.min(this.#nextAttemptAt, this.#expiresAt);
    this.#cancelTimer = this.#clock.schedule(
      () => {
        this.#checkAge(true);
        if (!this.#pending) this.#sleep();
      },
      Math.max(0, wakeAt - this.#clock.now()),
    );
  }

  #emit(event: KeySetEvent): void {
    emit(this.#options.onEvent, event);
  }

  #earliestAttemptAt(): number {
    return this.#attemptedAt + this.#options.cooldownMs;
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + this.#random() / 10);
  }
}

/** The listener is responsible for its own errors, thrown or in a promise. */
function emit(onEvent: OnKeySetEvent | undefined, event: KeySetEvent): void {
  const notify = async () => onEvent?.(event);
  notify().catch(() => {});
}

/** Reports the keys whose algorithm is not determined, and returns whether there are any. */
export function reportAmbiguousKeys(
  onEvent: OnKeySetEvent | undefined,
  issuer: string,
  read: readonly ReadKey[],
): boolean {
  const keys = [...new Set(read.filter(({ isAmbiguous }) => isAmbiguous).map(({ kid }) => printable(kid)))];
  if (keys.length > 0) emit(onEvent, { issuer, type: 'ambiguous', keys });
  return keys.length > 0;
}

function difference(before: Keys, after: Keys): { added: string[]; removed: string[] } {
  const only = (these: Keys, those: Keys) =>
    [...these].flatMap(([kid, keys]) => (keys.every((key) => those.get(kid)?.includes(key)) ? [] : [printable(kid)]));
  return { added: only(after, before), removed: only(before, after) };
}
