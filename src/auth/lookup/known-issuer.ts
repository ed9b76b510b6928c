import { FetchError } from '../keys/fetch/fault.ts';
import { rejectFor } from '../rejections.ts';
import type { Trust } from '../token/trust.ts';
import type { CheckedOptions, KeySetState } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { whenSettled } from '../values/promises.ts';
import type { FoundIssuer } from './answer.ts';

/*
 * An issuer that the application knows: how long its last answer counts, and what is trusted while the application
 * cannot tell. When the application is asked is decided in issuer-finder.ts.
 */

type AnswerTimes = Pick<TimeAndRandom, 'clock'> &
  Pick<CheckedOptions, 'jwksMaxAgeSeconds' | 'jwksMaxStaleSeconds' | 'jwksCooldownSeconds'>;

export class KnownIssuer {
  readonly iss: string;
  /** Its keys are trusted only while `use` says so. */
  readonly trust: Trust;
  readonly #times: AnswerTimes;
  /** Cancels the timer for the next question. */
  cancel = () => {};
  askedAt = 0;
  askAgainAt = 0;
  /** From then on, requests wait for the answer. Later than `askAgainAt` only while the application cannot tell. */
  dueAt = 0;
  #keptUntil = 0;
  /** When a request named it last. */
  usedAt = 0;
  #isUncertain = false;
  #hasLeft = false;

  /** @param use called with each use of a token that was verified: whether it can still be trusted */
  constructor(
    readonly found: FoundIssuer,
    times: AnswerTimes,
    use: (issuer: KnownIssuer) => boolean,
  ) {
    const { keys, rules } = found.trust;
    this.iss = rules.issuer;
    this.#times = times;
    this.trust = {
      ...found.trust,
      keep: () => void use(this),
      keys: {
        // While a request waits for keys, the issuer may have left, or its last answer expired.
        find: (kid) =>
          whenSettled(keys.find(kid), (keysFound) => (this.#isTrusted() ? keysFound : rejectFor('issuer_unavailable'))),
        findOthers: async (kid, tried) => {
          const others = await keys.findOthers(kid, tried);
          return this.#isTrusted() ? others : [];
        },
        isCurrent: (key) => this.#isTrusted() && keys.isCurrent(key),
        use: (key) => use(this) && keys.use(key),
      },
    };
  }

  /** The application has returned it, in answer to a question of that time. */
  confirm(askedAt: number): void {
    const { jwksMaxAgeSeconds, jwksMaxStaleSeconds } = this.#times;
    this.askedAt = askedAt;
    this.askAgainAt = this.dueAt = askedAt + jwksMaxAgeSeconds * 1000;
    this.#keptUntil = this.dueAt + jwksMaxStaleSeconds * 1000;
    this.#isUncertain = false;
  }

  makeDue(): void {
    this.askAgainAt = this.dueAt = Number.NEGATIVE_INFINITY;
  }

  /** The application could not be asked. After a failure, requests do not wait: they go on with its last answer. */
  doubt(now: number, hasFailed: boolean): void {
    this.#isUncertain = true;
    if (!hasFailed) return;
    this.askAgainAt = Math.min(now + this.#times.jwksCooldownSeconds * 1000, this.#keptUntil);
    this.dueAt = this.#keptUntil;
  }

  /** Its last answer counts no longer, as its keys would not either. */
  get hasExpired(): boolean {
    return this.#times.clock.now() >= this.#keptUntil;
  }

  #isTrusted(): boolean {
    return !this.#hasLeft && !this.hasExpired;
  }

  /** No request has named it for longer than the time between two fetches of its keys, so that leaving causes none. */
  get isUnused(): boolean {
    const { clock, jwksMaxAgeSeconds, jwksMaxStaleSeconds, jwksCooldownSeconds } = this.#times;
    return clock.now() - this.usedAt >= Math.max(jwksMaxStaleSeconds, jwksMaxAgeSeconds, jwksCooldownSeconds) * 1000;
  }

  state(): readonly KeySetState[] {
    const states = this.found.keys.state();
    if (!this.#isUncertain) return states;
    const lastFailure = new FetchError('network', { cause: 'issuer_unavailable' }).fault;
    return states.map((state) => ({ ...state, lastFailure }));
  }

  stop(): void {
    this.cancel();
    this.found.keys.stop();
  }

  leave(): void {
    this.#hasLeft = true;
    this.stop();
  }
}
