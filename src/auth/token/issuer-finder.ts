import { type Refusal, refuse } from '../refusals.ts';
import type { CheckedOptions, FindIssuer, KeySetState } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { nameOfFault } from '../values/faults.ts';
import { attempt } from '../values/promises.ts';
import { RecentMap } from '../values/recent-map.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import { type AnswerTimes, type FoundIssuer, KnownIssuer } from './known-issuer.ts';
import { RefusedIssuers } from './refused-issuers.ts';
import type { Trust } from './trust.ts';

/*
 * Issuers that a function of the application finds: which `iss` it is asked about, how often, and what is kept of its answers.
 * What it may return is decided in guard/found-issuer.ts, and how keys are fetched in keys/. Every `iss` is unverified here.
 */

/** Issuers with their keys. The one that was used least recently leaves first. */
const maxKnown = 1000;
/**
 * Lookups at the same time, of names that are not known, and of those that are: a database has only so many connections, and a
 * flood of invented names must not keep an issuer that the application has removed.
 */
const maxQuestions = 100;
/** How long a known issuer waits without a request while too many others are looked up. */
const pauseMs = 1000;
/** How long an unknown issuer is not looked up again after a failure. */
const failedMs = 2000;

export interface IssuerFinderOptions
  extends AnswerTimes,
    Pick<CheckedOptions, 'jwksTimeoutSeconds'>,
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

type TrustOrRefusal = Trust | Refusal;

interface Question {
  answer: Promise<TrustOrRefusal>;
  /** On Cloudflare Workers, a question may end without an answer, with the request that asked it. */
  readonly lostAt: number;
}

/** The issuers that a function of the application knows. It has the methods of a guard's keys, for the issuers that are kept. */
export class IssuerFinder {
  readonly #options: IssuerFinderOptions;
  readonly #known = new RecentMap<KnownIssuer>(maxKnown);
  readonly #refused = new RefusedIssuers();
  /** Apart from the others, so that invented names end no cooldown. */
  readonly #displaced = new RefusedIssuers();
  readonly #questions = new Map<string, Question>();
  #isStopped = false;
  #warnAt = Number.NEGATIVE_INFINITY;

  constructor(options: IssuerFinderOptions) {
    this.#options = options;
    this.#known.onEvict = (iss, issuer) => {
      issuer.leave();
      this.#displaced.add(iss, 'issuer_unavailable', issuer.askedAt + options.jwksCooldownSeconds * 1000);
    };
  }

  /** Returns what tokens of this issuer are verified with: at once if that is known, otherwise after one question for all callers. */
  find(iss: unknown): TrustOrRefusal | Promise<TrustOrRefusal> {
    const { isIssuer, clock } = this.#options;
    if (!isIssuer(iss)) return refuse('issuer_mismatch');
    const issuer = this.#known.get(iss);
    const now = clock.now();
    if (!issuer) return this.#refused.find(iss, now) ?? this.#displaced.find(iss, now) ?? this.#askOnce(iss);
    issuer.usedAt = now;
    if (now < issuer.askAgainAt) return issuer.trust;
    if (now >= issuer.dueAt) return this.#askOnce(iss);
    if (now >= (this.#questions.get(iss)?.lostAt ?? now)) void this.#askOnce(iss);
    return issuer.trust;
  }

  /** Returns the rules of an issuer that is kept. */
  rulesOf(iss: string): Trust['rules'] | undefined {
    return this.#known.peek(iss)?.trust.rules;
  }

  start(): void {
    this.#isStopped = false;
    for (const [iss, issuer] of this.#known) {
      issuer.found.keys.start();
      this.#schedule(iss, issuer);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const [, issuer] of this.#known) issuer.leave();
  }

  /**
   * Asks again about all issuers that are kept, or about one, and then fetches the keys of those that are still known.
   * @throws {TypeError} no issuer can have this name
   */
  async reload(only?: string): Promise<void> {
    if (only !== undefined && !this.#options.isIssuer(only))
      throw new TypeError('Cannot reload an issuer: expected its iss');
    const isMeant = (iss: string) => only === undefined || iss === only;
    // What is pending began earlier, and may know an issuer that is removed from now on.
    const pending = [...this.#questions].filter(([iss]) => isMeant(iss));
    await Promise.all(pending.map(([iss, question]) => this.#waitFor(iss, question)));
    for (const names of [this.#refused, this.#displaced]) names.forget(only);
    const all = only === undefined ? [...this.#known].map(([iss]) => iss) : [only];
    for (let at = 0; at < all.length; at += maxQuestions)
      await Promise.all(all.slice(at, at + maxQuestions).map((iss) => this.#askAnew(iss)));
    await Promise.all(all.map((iss) => this.#known.peek(iss)?.found.keys.reload()));
  }

  /** The issuer that was used last comes first. */
  state(): readonly KeySetState[] {
    return [...this.#known].flatMap(([, issuer]) => issuer.state());
  }

  #askAnew(iss: string): TrustOrRefusal | Promise<TrustOrRefusal> {
    const issuer = this.#known.peek(iss);
    if (issuer) issuer.askAgainAt = issuer.dueAt = Number.NEGATIVE_INFINITY;
    return this.#askOnce(iss);
  }

  #askOnce(iss: string): TrustOrRefusal | Promise<TrustOrRefusal> {
    const now = this.#options.clock.now();
    const pending = this.#questions.get(iss);
    if (pending && now < pending.lostAt) return this.#waitFor(iss, pending);
    if (this.#questions.size >= maxQuestions && this.#isBusy(this.#isKnown(iss))) return this.#keep(iss);
    const lostAt = now + this.#options.jwksTimeoutSeconds * 1000;
    const question: Question = { answer: Promise.resolve(refuse('issuer_unavailable')), lostAt };
    this.#questions.set(iss, question);
    question.answer = this.#ask(iss, question);
    return question.answer;
  }

  #isBusy(isKnown: boolean): boolean {
    const now = this.#options.clock.now();
    for (const [iss, { lostAt }] of this.#questions) if (now >= lostAt) this.#questions.delete(iss);
    return [...this.#questions.keys()].filter((iss) => this.#isKnown(iss) === isKnown).length >= maxQuestions;
  }

  /** Waits with a time limit of its own, because the question may be lost. */
  async #waitFor(iss: string, { answer }: Question): Promise<TrustOrRefusal> {
    try {
      return (await this.#options.withinLimit(new Limited(), answer)) as TrustOrRefusal;
    } catch {
      return this.#keep(iss);
    }
  }

  async #ask(iss: string, question: Question): Promise<TrustOrRefusal> {
    const { ask, clock, withinLimit, jwksTimeoutSeconds } = this.#options;
    const askedAt = clock.now();
    let returned: unknown;
    let hasFailed = false;
    try {
      const limited = new Limited();
      returned = await withinLimit(
        limited,
        attempt<unknown>(() => ask(iss, limited)),
      );
    } catch {
      hasFailed = true;
    }
    // A question that was given up must not overwrite what a later one found.
    if (this.#questions.get(iss) !== question) return this.#known.peek(iss)?.trust ?? refuse('issuer_unavailable');
    this.#questions.delete(iss);
    if (!hasFailed) return this.#accept(iss, returned, askedAt);
    // What an application throws may contain secrets.
    this.#warn(`failed, or took longer than ${jwksTimeoutSeconds} seconds`);
    return this.#keep(iss, true);
  }

  #accept(iss: string, returned: unknown, askedAt: number): TrustOrRefusal {
    const { read, clock, jwksCooldownSeconds } = this.#options;
    if ((returned ?? undefined) === undefined)
      return this.#refuse(iss, 'issuer_mismatch', askedAt + jwksCooldownSeconds * 1000);
    try {
      return this.#remember(iss, read(iss, returned, this.#known.peek(iss)?.found), askedAt);
    } catch (error) {
      // Anything but a message of ours may contain secrets. A mistake is an answer: the one before no longer counts.
      const fault = error instanceof TypeError ? error.message : `Reading it threw ${nameOfFault(error)}`;
      this.#warn(`returned what cannot be used. ${fault}`);
      return this.#refuse(iss, 'issuer_unavailable', clock.now() + failedMs);
    }
  }

  #remember(iss: string, found: FoundIssuer, askedAt: number): Trust {
    const { clock } = this.#options;
    const earlier = this.#known.peek(iss);
    const issuer = earlier?.found === found ? earlier : this.#createKnown(iss, found);
    if (issuer !== earlier) {
      this.#forget(iss);
      if (this.#isStopped) found.keys.stop();
      issuer.usedAt = clock.now();
      this.#known.set(iss, issuer);
    }
    issuer.confirm(askedAt);
    this.#schedule(iss, issuer);
    return issuer.trust;
  }

  #createKnown(iss: string, found: FoundIssuer): KnownIssuer {
    return new KnownIssuer(found, this.#options, {
      isCurrent: (issuer) => this.#isCurrent(iss, issuer),
      isKept: (issuer) => this.#known.peek(iss) === issuer && !issuer.hasExpired(this.#options.clock.now()),
    });
  }

  #isKnown(iss: string): boolean {
    return this.#known.peek(iss) !== undefined;
  }

  /** Whether tokens that were verified earlier can still be trusted. That counts as a use. */
  #isCurrent(iss: string, issuer: KnownIssuer): boolean {
    if (this.#known.get(iss) !== issuer) return false;
    issuer.usedAt = this.#options.clock.now();
    return issuer.usedAt < issuer.askAgainAt || this.find(iss) === issuer.trust;
  }

  /** Asks again even if no request does, so that an issuer that the application has removed leaves with its keys. */
  #schedule(iss: string, issuer: KnownIssuer, at = issuer.askAgainAt): void {
    const { clock } = this.#options;
    issuer.cancel();
    if (this.#isStopped) return;
    issuer.cancel = clock.schedule(() => this.#refresh(iss, issuer), Math.max(0, at - clock.now()));
  }

  /** Asks again, or lets an issuer leave that nobody uses. */
  #refresh(iss: string, issuer: KnownIssuer): void {
    if (issuer.isUnused(this.#options.clock.now())) this.#forget(iss);
    else void this.#askOnce(iss);
  }

  #forget(iss: string): void {
    this.#known.peek(iss)?.leave();
    this.#known.delete(iss);
  }

  #refuse(iss: string, reason: Refusal['reason'], until: number): Refusal {
    this.#forget(iss);
    this.#refused.add(iss, reason, until);
    return refuse(reason);
  }

  /** Returns the last answer while the application cannot tell. */
  #keep(iss: string, hasFailed = false): TrustOrRefusal {
    const issuer = this.#known.peek(iss);
    const now = this.#options.clock.now();
    if (!issuer || issuer.hasExpired(now)) {
      this.#forget(iss);
      return hasFailed ? this.#refuse(iss, 'issuer_unavailable', now + failedMs) : refuse('issuer_unavailable');
    }
    issuer.doubt(now, hasFailed);
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
