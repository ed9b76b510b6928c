import { LRUCache } from 'lru-cache';
import type { IssuerKeys } from '../keys/issuer-keys.ts';
import { type Refusal, refuse } from '../refusals.ts';
import type { CheckedOptions, FindIssuer, KeySetState } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { attempt } from '../values/promises.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import type { Trust } from './trust.ts';

/*
 * Issuers that a function of the application finds: which `iss` it is asked about, how often, and what is kept of its answers.
 * What it may return is decided in guard/core.ts, and how keys are fetched in keys/. Every `iss` is unverified here.
 */

/** Issuers with their keys. The one that was used least recently leaves first. */
const maxKnown = 1000;
/** At most 6 MiB of names. They are apart from the known issuers, so that invented names displace none. */
const maxUnknown = 10_000;
/**
 * Lookups at the same time, of names that are not known, and of those that are: a database has only so many connections, and a
 * flood of invented names must not keep an issuer that the application has removed.
 */
const maxQuestions = 100;
/** How long a known issuer waits without a request while too many others are looked up. */
const pauseMs = 1000;

/** An issuer whose options are checked. */
export interface FoundIssuer {
  readonly options: CheckedOptions;
  readonly trust: Trust;
  readonly keys: Pick<IssuerKeys, 'start' | 'stop' | 'reload' | 'state'>;
}

export interface IssuerFinderOptions
  extends Pick<
      CheckedOptions,
      'jwksMaxAgeSeconds' | 'jwksMaxStaleSeconds' | 'jwksCooldownSeconds' | 'jwksTimeoutSeconds'
    >,
    Pick<TimeAndRandom, 'clock'> {
  readonly ask: FindIssuer;
  /** Whether an issuer can have this identifier. */
  readonly isIssuer: (iss: unknown) => iss is string;
  /**
   * Checks what the application returned for `iss`. Returns `earlier` if it says the same.
   * @throws {TypeError} it is not valid; the message says why
   */
  readonly read: (iss: string, returned: unknown, earlier: FoundIssuer | undefined) => FoundIssuer;
  readonly withinLimit: WithinLimit;
}

interface KnownIssuer {
  readonly found: FoundIssuer;
  /** Its keys are current only while it is kept and not due. */
  readonly trust: Trust;
  askAgainAt: number;
  /** From then on, requests wait for the answer. Later than `askAgainAt` only while the application cannot tell. */
  dueAt: number;
  /** How long it stays known without an answer, as its keys would stay trusted. */
  keptUntil: number;
  cancel(): void;
}

type TrustOrRefusal = Trust | Refusal;

interface Question {
  readonly answer: Promise<TrustOrRefusal>;
  /** On Cloudflare Workers, a question may end without an answer, with the request that asked it. */
  readonly lostAt: number;
}

/** The issuers that a function of the application knows. It has the methods of a guard's keys, for the issuers that are kept. */
export class IssuerFinder {
  readonly #options: IssuerFinderOptions;
  readonly #known = new LRUCache<string, KnownIssuer>({ max: maxKnown, dispose: leave });
  /** Until when each unknown name is not asked about again, the oldest first. */
  readonly #unknown = new Map<string, number>();
  readonly #questions = new Map<string, Question>();
  #isStopped = false;
  #warnAt = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerFinderOptions) {
    this.#options = options;
  }

  /** Returns what tokens of this issuer are verified with: at once if that is known, otherwise after one question for all callers. */
  find(iss: unknown): TrustOrRefusal | Promise<TrustOrRefusal> {
    const { isIssuer, clock } = this.#options;
    if (!isIssuer(iss)) return refuse('issuer_mismatch');
    const issuer = this.#known.get(iss);
    const now = clock.now();
    if (issuer && now < issuer.askAgainAt) return issuer.trust;
    if (!issuer && now < (this.#unknown.get(iss) ?? now)) return refuse('issuer_mismatch');
    if (!issuer || now >= issuer.dueAt) return this.#askOnce(iss);
    if (!this.#questions.has(iss)) void this.#askOnce(iss);
    return issuer.trust;
  }

  /** Returns the rules of an issuer that is kept. */
  rulesOf(iss: string): Trust['rules'] | undefined {
    return this.#known.peek(iss)?.trust.rules;
  }

  start(): void {
    this.#isStopped = false;
    this.#known.forEach((issuer, iss) => {
      issuer.found.keys.start();
      this.#schedule(iss, issuer);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#known.forEach(leave);
  }

  /** Asks again about all issuers that are kept, and then fetches the keys of those that are still known. */
  async reload(): Promise<void> {
    // What is pending began earlier, and may know an issuer that is removed from now on.
    await Promise.all([...this.#questions].map(([iss, question]) => this.#waitFor(iss, question)));
    this.#unknown.clear();
    for (const issuer of this.#known.values()) issuer.askAgainAt = issuer.dueAt = Number.NEGATIVE_INFINITY;
    const all = [...this.#known.keys()];
    for (let at = 0; at < all.length; at += maxQuestions)
      await Promise.all(all.slice(at, at + maxQuestions).map((iss) => this.#askOnce(iss)));
    await Promise.all([...this.#known.values()].map(({ found }) => found.keys.reload()));
  }

  /** The issuer that was used last comes first. */
  state(): readonly KeySetState[] {
    return [...this.#known.values()].flatMap(({ found }) => found.keys.state());
  }

  #askOnce(iss: string): TrustOrRefusal | Promise<TrustOrRefusal> {
    const now = this.#options.clock.now();
    const pending = this.#questions.get(iss);
    if (pending && now < pending.lostAt) return this.#waitFor(iss, pending);
    if (this.#questions.size >= maxQuestions && this.#isBusy(this.#known.has(iss))) return this.#keep(iss);
    const answer = this.#ask(iss);
    this.#questions.set(iss, { answer, lostAt: now + this.#options.jwksTimeoutSeconds * 1000 });
    return answer;
  }

  #isBusy(isKnown: boolean): boolean {
    const now = this.#options.clock.now();
    for (const [iss, { lostAt }] of this.#questions) if (now >= lostAt) this.#questions.delete(iss);
    return [...this.#questions.keys()].filter((iss) => this.#known.has(iss) === isKnown).length >= maxQuestions;
  }

  /** Waits with a time limit of its own, because the question may be lost. */
  async #waitFor(iss: string, { answer }: Question): Promise<TrustOrRefusal> {
    try {
      return (await this.#options.withinLimit(new Limited(), answer)) as TrustOrRefusal;
    } catch {
      return this.#keep(iss);
    }
  }

  async #ask(iss: string): Promise<TrustOrRefusal> {
    const { ask, read, clock, withinLimit, ...times } = this.#options;
    const askedAt = clock.now();
    let fault: string | undefined = `failed, or took longer than ${times.jwksTimeoutSeconds} seconds`;
    try {
      const limited = new Limited();
      const returned = await withinLimit(
        limited,
        attempt<unknown>(() => ask(iss, limited)),
      );
      if (returned === undefined) return this.#forget(iss, askedAt + times.jwksCooldownSeconds * 1000);
      fault = undefined;
      const found = read(iss, returned, this.#known.peek(iss)?.found);
      return this.#remember(iss, found, askedAt + times.jwksMaxAgeSeconds * 1000);
    } catch (error) {
      // What an application throws may contain secrets. What read() throws is a message of ours.
      this.#warn(fault ?? `returned what cannot be used. ${(error as TypeError).message}`);
      // A mistake is an answer: the one before no longer counts.
      if (fault === undefined) this.#known.delete(iss);
      return this.#keep(iss, true);
    } finally {
      this.#questions.delete(iss);
    }
  }

  #remember(iss: string, found: FoundIssuer, askAgainAt: number): Trust {
    const earlier = this.#known.peek(iss);
    const issuer = earlier?.found === found ? earlier : this.#createKnown(iss, found);
    if (issuer !== earlier) this.#known.set(iss, issuer);
    issuer.askAgainAt = issuer.dueAt = askAgainAt;
    issuer.keptUntil = askAgainAt + this.#options.jwksMaxStaleSeconds * 1000;
    this.#schedule(iss, issuer);
    return issuer.trust;
  }

  #createKnown(iss: string, found: FoundIssuer): KnownIssuer {
    if (this.#isStopped) found.keys.stop();
    const { rules, keys } = found.trust;
    const isCurrent: Trust['keys']['isCurrent'] = (key) => {
      if (this.#known.get(iss) !== issuer) return false;
      const isFresh = this.#options.clock.now() < issuer.askAgainAt || this.find(iss) === trust;
      return isFresh && keys.isCurrent(key);
    };
    const trust: Trust = { rules, keys: { find: (kid) => keys.find(kid), isCurrent } };
    const issuer: KnownIssuer = { found, trust, askAgainAt: 0, dueAt: 0, keptUntil: 0, cancel() {} };
    return issuer;
  }

  /** Asks again even if no request does, so that an issuer that the application has removed leaves with its keys. */
  #schedule(iss: string, issuer: KnownIssuer, at = issuer.askAgainAt): void {
    const { clock } = this.#options;
    issuer.cancel();
    if (this.#isStopped) return;
    issuer.cancel = clock.schedule(() => void this.#askOnce(iss), Math.max(0, at - clock.now()));
  }

  #forget(iss: string, until: number): Refusal {
    this.#known.delete(iss);
    this.#unknown.delete(iss);
    this.#unknown.set(iss, until);
    const [oldest] = this.#unknown.keys();
    if (this.#unknown.size > maxUnknown && oldest !== undefined) this.#unknown.delete(oldest);
    return refuse('issuer_mismatch');
  }

  /** Returns the last answer while the application cannot tell. After a failure, requests go on with it instead of waiting. */
  #keep(iss: string, hasFailed = false): TrustOrRefusal {
    const { clock, jwksCooldownSeconds } = this.#options;
    const issuer = this.#known.peek(iss);
    const now = clock.now();
    if (!issuer || now >= issuer.keptUntil) {
      this.#known.delete(iss);
      return refuse('issuer_unavailable');
    }
    if (hasFailed) {
      issuer.askAgainAt = now + jwksCooldownSeconds * 1000;
      issuer.dueAt = issuer.keptUntil;
    }
    this.#schedule(iss, issuer, Math.max(issuer.askAgainAt, now + pauseMs));
    return issuer.trust;
  }

  /** A client chooses `iss`, so it is not named, and cannot cause more than one line in a while. */
  #warn(fault: string): void {
    const { clock, jwksMaxAgeSeconds } = this.#options;
    const now = clock.now();
    if (now < this.#warnAt) return;
    this.#warnAt = now + jwksMaxAgeSeconds * 1000;
    // biome-ignore lint/suspicious/noConsole: without it, a mistake would show only as 503.
    console.warn(`Cannot look up an issuer: the function issuer ${fault}`);
  }
}

function leave({ found, cancel }: KnownIssuer): void {
  cancel();
  found.keys.stop();
}
