import { type Clock, systemClock } from './clock.ts';
import {
  type Fetch,
  FetchError,
  type FetchFailure,
  fetchJwkSet,
  type HeldKey,
  importKeys,
  type Keys,
} from './jwk-set.ts';

/** A key that may verify tokens, until it leaves the key set or is replaced in it: then it is never current again. */
export type VerificationKey = Readonly<Pick<HeldKey, 'cryptoKey' | 'isCurrent'>>;

export interface KeySet {
  /**
   * Returns the keys published under `kid`: at once when they are held or when it is too early to ask the issuer again,
   * otherwise after one fetch that all who ask share. An empty list means that the issuer publishes no such key.
   * @throws {KeySetUnavailableError} no keys are held and none can be had
   */
  find(kid: string): readonly VerificationKey[] | Promise<readonly VerificationKey[]>;
  state(): KeySetState;
  /** Begins the first fetch; from then on the keys are kept fresh in the background. */
  start(): void;
  /** Ends the background refresh and a fetch under way. */
  stop(): void;
}

export interface KeySetState {
  /** How many key identifiers are held; 0 means that no token can be verified. */
  readonly keys: number;
  /** Age of the keys; undefined when none are held. */
  readonly ageMs: number | undefined;
  /** Why the last attempt failed; undefined after a success and before the first attempt. */
  readonly lastFailure: FetchFailure | undefined;
  /** Time until the next attempt that no request has to cause; 0 while one is under way. */
  readonly nextAttemptMs: number;
}

export type KeySetEvent =
  | {
      readonly type: 'fetched';
      /** Key identifiers that came and went, a replaced key in both. */
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly afterFailures: number;
    }
  | {
      readonly type: 'failed';
      readonly failure: FetchFailure;
      readonly status: number | undefined;
      readonly failures: number;
    }
  /** The keys held became too old to be trusted. */
  | { readonly type: 'expired' };

export interface KeySetOptions {
  /** Address of the JWK Set (RFC 7517 §5). */
  readonly uri: string;
  /** Age at which the keys are refreshed. Up to a tenth is added, so that a fleet started at once does not ask at once. */
  readonly maxAgeMs: number;
  /** How long past that age the keys go on being trusted while the issuer cannot be reached. */
  readonly maxStaleMs: number;
  /** Least time between the starts of two attempts, whether the first failed or not. */
  readonly cooldownMs: number;
  /** Bound on one fetch, its body included. */
  readonly timeoutMs: number;
  readonly onEvent?: (event: KeySetEvent) => void;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  /** At least 0 and below 1, like `Math.random`. */
  readonly random?: () => number;
}

/** Thrown when keys are needed, none are held and none can be had: an outage, never the token's fault. */
export class KeySetUnavailableError extends Error {
  constructor(readonly retryAfterSeconds: number) {
    super('The key set is unavailable');
  }
}

/** Returns the RS256 keys published at `uri`: fetched in the background, kept while the issuer is down, never waited for when held. */
export function createKeySet(options: KeySetOptions): KeySet {
  return new RefreshingKeySet(options);
}

class RefreshingKeySet implements KeySet {
  readonly #options: Required<Omit<KeySetOptions, 'onEvent'>> & Pick<KeySetOptions, 'onEvent'>;
  readonly #clock: Clock;
  readonly #stopped = new AbortController();
  #keys: Keys = new Map();
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #nextAttemptAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #lastFailure: FetchFailure | undefined;
  #pending: Promise<void> | undefined;
  #cancelTimer = () => {};

  constructor(options: KeySetOptions) {
    this.#options = { fetch, clock: systemClock, random: Math.random, ...options };
    this.#clock = this.#options.clock;
  }

  find(kid: string): readonly VerificationKey[] | Promise<readonly VerificationKey[]> {
    const keys = this.#keys.get(kid);
    if (keys) return keys;
    const isTooEarly = this.#clock.now() < this.#attemptedAt + this.#options.cooldownMs;
    if (isTooEarly && !this.#pending) return this.#lookUp(kid);
    return this.#attempt().then(() => this.#lookUp(kid));
  }

  state(): KeySetState {
    const now = this.#clock.now();
    return {
      keys: this.#keys.size,
      ageMs: this.#keys.size > 0 ? now - this.#fetchedAt : undefined,
      lastFailure: this.#lastFailure,
      nextAttemptMs: this.#pending ? 0 : Math.max(0, this.#nextAttemptAt - now),
    };
  }

  start(): void {
    void this.#attempt();
  }

  stop(): void {
    this.#cancelTimer();
    this.#stopped.abort();
  }

  #lookUp(kid: string): readonly VerificationKey[] {
    if (this.#keys.size > 0) return this.#keys.get(kid) ?? [];
    const retryAfterMs = this.#attemptedAt + this.#options.cooldownMs - this.#clock.now();
    throw new KeySetUnavailableError(Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }

  #attempt(): Promise<void> {
    this.#pending ??= this.#refresh().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  async #refresh(): Promise<void> {
    const { fetch, uri, timeoutMs } = this.#options;
    this.#cancelTimer();
    this.#attemptedAt = this.#clock.now();
    const timeout = new AbortController();
    const cancelTimeout = this.#clock.schedule(() => timeout.abort(), timeoutMs);
    try {
      const jwks = await fetchJwkSet(fetch, uri, AbortSignal.any([timeout.signal, this.#stopped.signal]));
      this.#succeeded(await importKeys(jwks, this.#keys));
    } catch (error) {
      if (timeout.signal.aborted) this.#failed(new FetchError('timeout'));
      else if (!this.#stopped.signal.aborted)
        this.#failed(error instanceof FetchError ? error : new FetchError('network'));
    } finally {
      cancelTimeout();
    }
  }

  #succeeded(keys: Keys): void {
    const event = { type: 'fetched', ...difference(this.#keys, keys), afterFailures: this.#failures } as const;
    this.#hold(keys);
    this.#fetchedAt = this.#clock.now();
    this.#failures = 0;
    this.#lastFailure = undefined;
    this.#sleepUntil(this.#fetchedAt + this.#jittered(this.#options.maxAgeMs));
    this.#options.onEvent?.(event);
  }

  #failed({ failure, status }: FetchError): void {
    this.#failures += 1;
    this.#lastFailure = failure;
    this.#sleepUntil(this.#attemptedAt + this.#jittered(this.#options.cooldownMs));
    this.#options.onEvent?.({ type: 'failed', failure, status, failures: this.#failures });
  }

  #hold(keys: Keys): void {
    const kept = new Set([...keys.values()].flat());
    for (const key of [...this.#keys.values()].flat()) key.isCurrent = kept.has(key);
    this.#keys = keys;
  }

  /** Sleeps until the next attempt, or until the keys held are too old to be trusted if that is sooner. */
  #sleepUntil(attemptAt: number): void {
    this.#nextAttemptAt = attemptAt;
    const wakeAt = this.#keys.size > 0 ? Math.min(attemptAt, this.#distrustAt()) : attemptAt;
    this.#cancelTimer = this.#clock.schedule(() => this.#wake(), Math.max(0, wakeAt - this.#clock.now()));
  }

  #wake(): void {
    if (this.#keys.size > 0 && this.#clock.now() >= this.#distrustAt()) {
      this.#hold(new Map());
      this.#options.onEvent?.({ type: 'expired' });
    }
    if (this.#clock.now() >= this.#nextAttemptAt) void this.#attempt();
    else this.#sleepUntil(this.#nextAttemptAt);
  }

  #distrustAt(): number {
    return this.#fetchedAt + this.#options.maxAgeMs + this.#options.maxStaleMs;
  }

  #jittered(delayMs: number): number {
    return delayMs * (1 + this.#options.random() / 10);
  }
}

function difference(before: Keys, after: Keys): { added: string[]; removed: string[] } {
  const only = (these: Keys, those: Keys) =>
    [...these].flatMap(([kid, keys]) => (keys.every((key) => those.get(kid)?.includes(key)) ? [] : [kid]));
  return { added: only(after, before), removed: only(before, after) };
}
