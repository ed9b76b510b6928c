import { Rejected } from '../rejections.ts';
import type { Algorithm, CheckedOptions, FetchFault, KeySetChange, KeySetEvent, KeySetState } from '../types.ts';
import { printable } from '../values/ascii.ts';
import { groupBy } from '../values/group-by.ts';
import { notify } from '../values/promises.ts';
import type { KeySetSource } from './discovery.ts';
import {
  type ImportedKey,
  type ImportedKeys,
  importKeys,
  type Keys,
  type ReportedKey,
  readKeys,
  replaceKeys,
} from './jwk-set.ts';
import { type FetchAttempt, Refreshing, type RefreshOptions } from './refreshing.ts';

/*
 * What a lookup of a key returns and waits for, and what is said of the keys. When they are fetched is decided in
 * refreshing.ts, where in discovery.ts, and which can be used in jwk-set.ts.
 */

/** A key that verifies tokens of one algorithm. Check {@link KeySet.use} before trusting what it has verified. */
export type VerificationKey = Readonly<ImportedKey>;

type FoundKeys = readonly VerificationKey[] | Rejected;

export interface KeySetOptions extends RefreshOptions, Partial<Pick<CheckedOptions, 'waitUntil'>> {
  /** Named in events and state. */
  readonly issuer: string;
  readonly source: KeySetSource;
  /** Keys are imported for these algorithms only. */
  readonly algorithms: readonly Algorithm[];
  /** Its exceptions and rejections are ignored, so that a listener cannot make a fetch fail. */
  readonly onEvent: (event: KeySetEvent) => unknown;
  /** Called with the keys of each set that is fetched, whether they can be used or not. */
  readonly onKeys?: ((issuer: string, keys: readonly unknown[]) => void) | undefined;
}

/** The keys of one issuer. */
export class KeySet extends Refreshing<ImportedKeys, KeySetOptions> {
  #keys: Keys = new Map();
  /** What was reported of the keys in the set. */
  #reported: ReadonlySet<string> = new Set();

  /**
   * Returns the keys with this `kid`: at once if they are cached or if the cooldown has not passed, otherwise after the
   * pending fetch, or after one that begins now. All callers share it. An empty list means that the issuer publishes no
   * such key. The reason `keys_unavailable` means that this is unknown: the last fetch failed or took too long, or no
   * trusted keys are cached.
   */
  find(kid: string): FoundKeys | Promise<FoundKeys> {
    const begun = this.checkAge();
    const canChange = this.pending || this.#mayFetch();
    if (this.isLost || (canChange && !this.#keys.has(kid))) return this.#fetchAndLookUp(kid);
    if (this.pending) this.#outlive(begun);
    return this.#lookUp(kid);
  }

  /**
   * Returns the keys with this `kid` that were not tried on a token: an issuer may replace a key under its name. Waits
   * as `find` does for a `kid` that is not held.
   */
  async findOthers(kid: string, tried: readonly VerificationKey[]): Promise<readonly VerificationKey[]> {
    const others = () => this.#keys.get(kid)?.filter((key) => !tried.includes(key)) ?? [];
    await this.#fetchUnless(() => others().length > 0);
    return others();
  }

  /** Whether a key is still trusted: it has not left the set, and the set has not expired. Nothing else happens. */
  isCurrent(key: VerificationKey): boolean {
    return key.isCurrent && this.options.clock.now() < this.expiresAt;
  }

  /**
   * Returns whether a key is still trusted, for a request. Fetches what is due. While a fetch is lost, `find` must be
   * called instead.
   */
  use(key: VerificationKey): boolean {
    const begun = this.checkAge();
    if (this.pending) this.#outlive(begun);
    return key.isCurrent && !this.isLost;
  }

  state(): KeySetState {
    this.checkAge(!this.isStopped);
    const now = this.options.clock.now();
    return {
      issuer: this.options.issuer,
      keys: this.#keys.size,
      ageMs: this.#keys.size > 0 ? now - this.fetchedAt : undefined,
      lastFailure: this.lastFailure,
      isFetching: this.pending !== undefined,
      // Nothing is scheduled before the first fetch or during one.
      nextAttemptMs: Number.isFinite(this.nextAttemptAt) ? Math.max(0, this.nextAttemptAt - now) : 0,
    };
  }

  #mayFetch(): boolean {
    return this.options.clock.now() >= this.earliestLookupAt;
  }

  async #fetchAndLookUp(kid: string): Promise<FoundKeys> {
    await this.#fetchUnless(() => this.#keys.has(kid));
    return this.#lookUp(kid);
  }

  /** Waits for the pending fetch, and unless that has found what is looked for, for one that began after the call. */
  async #fetchUnless(isFound: () => boolean): Promise<void> {
    if (this.isLost) return this.waitFor(this.begin(), true);
    const { pending } = this;
    if (pending) await this.waitFor(pending);
    if (isFound() || (pending && this.pending === pending)) return;
    // What was pending may have begun before the key was published.
    if (this.pending) return this.waitFor(this.pending);
    if (!this.#mayFetch()) return;
    // The first fetch was due anyway, so it begins no cooldown.
    const isFirst = this.attemptedAt === Number.NEGATIVE_INFINITY;
    const attempt = this.begin();
    if (!isFirst) this.startCooldown();
    await this.waitFor(attempt, true);
  }

  /** Lets a fetch that nothing waits for outlive the request: one that it began, or one that no request began. */
  #outlive(begun: FetchAttempt | undefined): void {
    const { waitUntil } = this.options;
    const attempt = begun ?? this.pending;
    if (!waitUntil || !attempt || !(begun || attempt.isUnattended)) return;
    attempt.isUnattended = false;
    notify(() => waitUntil(attempt.ended));
  }

  #lookUp(kid: string): FoundKeys {
    const isKnown = this.#keys.size > 0 && !this.lastFailure && !this.pending;
    const found = this.#keys.get(kid) ?? (isKnown ? [] : undefined);
    if (found) return found;
    const retryAfterMs = this.earliestLookupAt - this.options.clock.now();
    return new Rejected('keys_unavailable', Math.max(1, Math.ceil(retryAfterMs / 1000)));
  }

  protected async fetch(signal: AbortSignal, isAnew: boolean): Promise<ImportedKeys> {
    const { issuer, source, algorithms, onKeys } = this.options;
    // The issuer may have moved its keys, and left another document where they were.
    const { keys, url } = await source(signal, isAnew || this.lastFailure !== undefined);
    onKeys?.(issuer, keys);
    return importKeys(readKeys(keys, algorithms, url), this.#keys, url);
  }

  protected accept(imported: ImportedKeys, afterFailures: number): void {
    const change = this.#replace(imported.keys);
    this.#emit({ type: 'fetched', ...change, afterFailures });
    // Keys without `alg` are reported once, because all of them have one remedy.
    const nameOf = ({ type, kid }: ReportedKey) => (type === 'ambiguous' ? type : `${type} ${kid}`);
    const added = imported.reported.filter((key) => !this.#reported.has(nameOf(key)));
    const names = new Set(imported.reported.map(nameOf));
    this.#reported = this.#reported.has('ambiguous') ? names.add('ambiguous') : names;
    for (const [type, keys] of groupBy(added, (key) => key.type)) {
      const reasons = Object.fromEntries(keys.map(({ kid, reason }) => [printable(kid), reason]));
      this.#emit({ type, keys: Object.keys(reasons), ...(type !== 'ambiguous' && { reasons }) });
    }
  }

  protected fail(fault: FetchFault, failures: number): void {
    this.#emit({ type: 'failed', ...fault, failures });
  }

  protected expire(): void {
    this.#replace(new Map());
    this.#emit({ type: 'expired' });
  }

  #replace(keys: Keys) {
    const change = replaceKeys(this.#keys, keys);
    this.#keys = keys;
    return change;
  }

  #emit(change: KeySetChange): void {
    const { issuer, onEvent } = this.options;
    notify(() => onEvent({ issuer, ...change }));
  }
}
