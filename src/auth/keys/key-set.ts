import type { Algorithm } from '../jose/algorithms.ts';
import { Refusal } from '../refusals.ts';
import { type Clock, systemClock } from './clock.ts';
import { FetchError, type FetchFailure } from './fetch-json.ts';
import { type ImportedKey, importJwkSet, type Keys } from './jwk-set.ts';
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
  /** Starts the first fetch. From then on, keys are refreshed in the background. */
  start(): void;
  /** Stops the background refresh and aborts a fetch in progress. */
  stop(): void;
}

export interface KeySetState {
  readonly issuer: string;
  /** Number of trusted key IDs; 0 means that no token can be verified. */
  readonly keys: number;
  /** Age of the keys in milliseconds; undefined without keys. */
  readonly ageMs: number | undefined;
  /** Why the last fetch failed; undefined after a success and before the first fetch. */
  readonly lastFailure: FetchFailure | undefined;
  /** Milliseconds until the next scheduled fetch; 0 while one is in progress and before the first. */
  readonly nextAttemptMs: number;
}

export type KeySetEvent = { readonly issuer: string } & (
  | {
      readonly type: 'fetched';
      /** IDs of the keys that were added and removed. A replaced key is in both. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      /** Number of failed fetches since the previous success. */
      readonly afterFailures: number;
    }
  | {
      readonly type: 'failed';
      readonly failure: FetchFailure;
      /** The HTTP status, for the failures `status` and `redirect`. */
      readonly status: number | undefined;
      /** The issuer that the metadata names, for the failure `issuer_mismatch`. */
      readonly found: string | undefined;
      /** Number of consecutive failures. */
      readonly failures: number;
    }
  /** The keys are too old to be trusted. */
  | { readonly type: 'expired' }
);

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
  /** Its exceptions are ignored, so that a listener cannot make a fetch fail. */
  readonly onEvent?: ((event: KeySetEvent) => void) | undefined;
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
  readonly #stopped = new AbortController();
  #keys: Keys = new Map();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** When the keys become too old to be trusted. Checked at each use, because timers are late in a process that was paused. */
  #expiresAt = Number.POSITIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #nextAttemptAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #lastFailure: FetchFailure | undefined;
  #pending: Promise<void> | undefined;
  #cancelTimer = () => {};

  constructor(options: KeySetOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  find(kid: string): FoundKeys | Promise<FoundKeys> {
    this.#checkAge();
    const keys = this.#keys.get(kid);
    if (keys) return keys;
    const isTooEarly = this.#clock.now() < this.#earliestAttemptAt();
    if (isTooEarly && !this.#pending) return this.#lookUp(kid);
    return this.#attempt().then(() => this.#lookUp(kid));
  }

  isCurrent(key: VerificationKey): boolean {
    this.#checkAge();
    return key.isCurrent;
  }

  state(): KeySetState {
    this.#checkAge();
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
    if (this.#attemptedAt === Number.NEGATIVE_INFINITY) void this.#attempt();
  }

  stop(): void {
    this.#cancelTimer();
    this.#stopped.abort();
  }

  #checkAge(): void {
    const now = this.#clock.now();
    if (now >= this.#expiresAt) this.#expire();
    if (now >= this.#nextAttemptAt && !this.#stopped.signal.aborted) void this.#attempt();
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
    this.#attemptedAt = this.#clock.now();
    this.#nextAttemptAt = Number.POSITIVE_INFINITY;
    const timeout = new AbortController();
    const cancelTimeout = this.#clock.schedule(() => timeout.abort(), timeoutMs);
    try {
      const jwkSet = await source(AbortSignal.any([timeout.signal, this.#stopped.signal]));
      this.#succeeded(await importJwkSet(jwkSet, algorithms, this.#keys));
    } catch (error) {
      if (timeout.signal.aborted) this.#failed(new FetchError('timeout'));
      else if (!this.#stopped.signal.aborted)
        this.#failed(error instanceof FetchError ? error : new FetchError('network'));
    } finally {
      cancelTimeout();
    }
  }

  #succeeded(keys: Keys): void {
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
  }

  #failed({ failure, detail: { status, found } }: FetchError): void {
    this.#failures += 1;
    this.#lastFailure = failure;
    this.#nextAttemptAt = this.#attemptedAt + this.#jittered(this.#options.cooldownMs);
    this.#emit({ issuer: this.#options.issuer, type: 'failed', failure, status, found, failures: this.#failures });
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
    if (this.#stopped.signal.aborted) return;
    const wakeAt = Math.min(this.#nextAttemptAt, this.#expiresAt);
    this.#cancelTimer = this.#clock.schedule(
      () => {
        this.#checkAge();
        if (!this.#pending) this.#sleep();
      },
      Math.max(0, wakeAt - this.#clock.now()),
    );
  }

  #emit(event: KeySetEvent): void {
    try {
      this.#options.onEvent?.(event);
    } catch {
      // The listener is responsible for its own errors.
    }
  }

  #earliestAttemptAt(): number {
    return this.#attemptedAt + this.#options.cooldownMs;
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + this.#random() / 10);
  }
}

function difference(before: Keys, after: Keys): { added: string[]; removed: string[] } {
  const only = (these: Keys, those: Keys) =>
    [...these].flatMap(([kid, keys]) => (keys.every((key) => those.get(kid)?.includes(key)) ? [] : [kid]));
  return { added: only(after, before), removed: only(before, after) };
}
