import type { Algorithm } from '../jose/algorithms.ts';
import type { Refusal } from '../refusals.ts';
import type { Clock } from './clock.ts';
import type { KeySetSource } from './discovery.ts';
import type { FetchFault } from './fetch-json.ts';
import type { ImportedKey, ImportedKeys } from './jwk-set.ts';
import { printable } from './url.ts';

/** A key that verifies tokens of one algorithm. Check {@link KeySet.isCurrent} before trusting what it verified earlier. */
export type VerificationKey = Readonly<ImportedKey>;

export type FoundKeys = readonly VerificationKey[] | Refusal;

export interface KeySet {
  /**
   * Returns the keys with this `kid`: at once if they are cached or if the cooldown has not passed, otherwise after one fetch
   * that all callers share. An empty list means that the issuer publishes no such key. The refusal `keys_unavailable` means that
   * this is unknown, because the last fetch failed or did not end within its time limit, or because no trusted keys are cached.
   */
  find(kid: string): FoundKeys | Promise<FoundKeys>;
  /** Whether a key is still trusted: it has not left the set, and the set has not expired. */
  isCurrent(key: VerificationKey): boolean;
  state(): KeySetState;
  /**
   * Fetches the keys again, even during the cooldown, once a pending fetch has ended. Their URL is discovered again too. Calls in
   * the meantime share that fetch. Resolves when it has ended, successfully or not.
   */
  reload(): Promise<void>;
  /** Starts the background refresh, and a fetch unless keys are cached, or one is pending or too early. Returns at once. */
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

/** What happened to an issuer's keys. Key IDs are shortened and escaped. */
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
      /**
       * Reported once: keys without `alg` fit several accepted algorithms, and serve the first of them only, or the runtime does
       * not support the algorithm of keys, which are skipped.
       */
      readonly type: 'ambiguous' | 'unsupported';
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
  /** How long after that age keys stay trusted while the issuer cannot be reached. */
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

/** Calls the listener, which is responsible for its own errors, thrown or in a promise. */
export function emit(onEvent: OnKeySetEvent | undefined, event: KeySetEvent): void {
  const notify = async () => onEvent?.(event);
  notify().catch(() => {});
}

/** Reports keys that are not used as their issuer may intend: each kind once. */
export function reportKeys(
  onEvent: OnKeySetEvent | undefined,
  issuer: string,
  imported: ImportedKeys,
  reported = new Set<string>(),
): void {
  for (const type of ['ambiguous', 'unsupported'] as const) {
    const keys = [...new Set(imported[type].map((kid) => printable(kid)))];
    if (keys.length === 0 || reported.has(type)) continue;
    reported.add(type);
    emit(onEvent, { issuer, type, keys });
  }
}
