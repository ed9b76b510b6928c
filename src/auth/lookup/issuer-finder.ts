import { algorithms } from '../keys/algorithms.ts';
import { canBeIssuer } from '../options/issuers.ts';
import { type Rejected, rejectFor } from '../rejections.ts';
import type { Trust, Trusts } from '../token/trust.ts';
import type { CheckedOptions, KeySetState } from '../types.ts';
import { createFaultWarning, nameOfFault } from '../values/faults.ts';
import { isPromise, notify } from '../values/promises.ts';
import { createAnswerReader, type FoundIssuer, type List } from './answer.ts';
import { KeptIssuers, RejectedIssuers } from './kept-issuers.ts';
import { KnownIssuer } from './known-issuer.ts';
import { type Answer, maxQuestions, type QuestionOptions, Questions } from './questions.ts';

/*
 * Issuers that a function of the application finds: when it is asked about an `iss`, and what is kept of its answers.
 * What it may return is decided in answer.ts, and which issuers are kept in kept-issuers.ts. Every `iss` is unverified
 * here.
 */

/** How long an issuer is not asked about again after a failure, or while too many others are. */
const retryMs = 2000;

type TrustOrRejected = Trust | Rejected;

/** The issuers that a function of the application knows. It has the methods of a guard's keys, for those it keeps. */
export class IssuerFinder implements Trusts {
  readonly algorithms = algorithms;
  readonly sole = undefined;
  readonly introspected = undefined;
  readonly #options: CheckedOptions & QuestionOptions;
  readonly #read: ReturnType<typeof createAnswerReader>;
  readonly #known = new KeptIssuers<KnownIssuer>((iss, issuer) => {
    issuer.leave();
    const until = issuer.askedAt + this.#options.jwksCooldownSeconds * 1000;
    this.#displaced.set(iss, { reason: 'issuer_unavailable', until });
  });
  readonly #rejected = new RejectedIssuers();
  /** Apart from the others, so that invented names end no cooldown. */
  readonly #displaced = new RejectedIssuers();
  readonly #questions: Questions<TrustOrRejected>;
  readonly #warn: (fault: string) => void;
  #isStopped = false;

  constructor(options: CheckedOptions, parts: Omit<QuestionOptions, 'jwksTimeoutSeconds'>, list: List) {
    this.#options = { ...options, ...parts };
    this.#read = createAnswerReader(options, list);
    this.#questions = new Questions(this.#options);
    // A client chooses `iss`, so it is not named, and cannot cause more than one line in a while.
    const once = { everyMs: options.jwksMaxAgeSeconds * 1000, now: () => parts.clock.now() };
    const consequence = 'Requests get a 503, unless an earlier result is kept';
    this.#warn = createFaultWarning('look up an issuer', 'the function issuer', consequence, once);
  }

  /** Returns what tokens of this issuer are verified with: at once if known, otherwise after a question for all. */
  of(iss: unknown): TrustOrRejected | Promise<TrustOrRejected> {
    if (!canBeIssuer(iss)) return rejectFor('issuer_mismatch');
    const issuer = this.#known.name(iss);
    const now = this.#options.clock.now();
    if (!issuer) return this.#rejected.find(iss, now) ?? this.#displaced.find(iss, now) ?? this.#askOnce(iss);
    return this.#mustWait(issuer, now) ? this.#askOnce(iss) : issuer.trust;
  }

  /** Returns the rules of an issuer that is kept. */
  rulesOf(iss: string): Trust['rules'] | undefined {
    return this.#known.peek(iss)?.trust.rules;
  }

  start(): void {
    this.#isStopped = false;
    for (const [, issuer] of this.#known) {
      issuer.found.keys.start();
      this.#schedule(issuer);
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const [, issuer] of this.#known) issuer.stop();
  }

  /**
   * Asks again about all issuers that are kept, or about one, and then fetches the keys of those that are still known.
   * @throws {TypeError} no issuer can have this name
   */
  async reload(only?: string): Promise<void> {
    if (only !== undefined && !canBeIssuer(only)) throw new TypeError('Cannot reload an issuer: expected its iss');
    const isMeant = (iss: string) => only === undefined || iss === only;
    // What is pending began earlier, and may know an issuer that is removed from now on.
    await Promise.all(this.#questions.issuers.filter(isMeant).map((iss) => this.#waitFor(iss)));
    for (const names of [this.#rejected, this.#displaced]) names.forget(only);
    const all = only === undefined ? [...this.#known].map(([iss]) => iss) : [only];
    for (const iss of all) this.#known.peek(iss)?.makeDue();
    for (let at = 0; at < all.length; at += maxQuestions)
      await Promise.all(all.slice(at, at + maxQuestions).map((iss) => this.#askOnce(iss)));
    await Promise.all(all.map((iss) => this.#known.peek(iss)?.found.keys.reload()));
  }

  /** The issuer whose token was verified last comes first. */
  state(): readonly KeySetState[] {
    return [...this.#known].flatMap(([, issuer]) => issuer.state());
  }

  #askOnce(iss: string): TrustOrRejected | Promise<TrustOrRejected> {
    if (this.#questions.isPending(iss)) return this.#waitFor(iss);
    const isKnown = (each: string) => this.#known.peek(each) !== undefined;
    if (this.#questions.areTooMany((each) => isKnown(each) === isKnown(iss))) return this.#keep(iss);
    return this.#questions.ask(iss, (answer, askedAt) => this.#settle(iss, answer, askedAt));
  }

  async #waitFor(iss: string): Promise<TrustOrRejected> {
    return (await this.#questions.waitFor(iss)) ?? this.#keep(iss);
  }

  #settle(iss: string, answer: Answer, askedAt: number): TrustOrRejected {
    const { clock, jwksCooldownSeconds, jwksTimeoutSeconds } = this.#options;
    const earlier = this.#known.peek(iss);
    if (answer === 'given up') return earlier?.trust ?? rejectFor('issuer_unavailable');
    if (answer === 'failed') {
      this.#warn(`failed, or took longer than ${jwksTimeoutSeconds} seconds`);
      return this.#keep(iss, true);
    }
    const { returned } = answer;
    if ((returned ?? undefined) === undefined)
      return this.#rejectFor(iss, 'issuer_mismatch', askedAt + jwksCooldownSeconds * 1000);
    try {
      return this.#remember(iss, this.#read(iss, returned, earlier?.found), askedAt);
    } catch (error) {
      // Anything but a message of ours may contain secrets.
      const fault = error instanceof TypeError ? error.message : `Reading it threw ${nameOfFault(error)}`;
      this.#warn(`returned what cannot be used. ${fault}`);
      // A mistake is an answer: the one before no longer counts.
      return this.#rejectFor(iss, 'issuer_unavailable', clock.now() + retryMs);
    }
  }

  #remember(iss: string, found: FoundIssuer, askedAt: number): Trust {
    const { clock } = this.#options;
    let issuer = this.#known.peek(iss);
    if (issuer?.found !== found) {
      this.#known.peek(iss)?.leave();
      issuer = new KnownIssuer(found, this.#options, (each) => this.#use(each));
      if (this.#isStopped) found.keys.stop();
      issuer.usedAt = clock.now();
      this.#known.set(iss, issuer);
    }
    issuer.confirm(askedAt);
    this.#schedule(issuer);
    return issuer.trust;
  }

  /** A token of an issuer was verified, now or earlier. Returns whether it can still be trusted. */
  #use(issuer: KnownIssuer): boolean {
    if (this.#known.peek(issuer.iss) !== issuer) return false;
    this.#known.verify(issuer.iss);
    return !this.#mustWait(issuer, this.#options.clock.now());
  }

  /** Asks again if it is time to. Returns whether a request must wait, because the last answer is too old. */
  #mustWait(issuer: KnownIssuer, now: number): boolean {
    const { iss } = issuer;
    issuer.usedAt = now;
    if (now < issuer.askAgainAt) return false;
    if (now >= issuer.dueAt || this.#questions.isLost(iss)) return true;
    if (this.#questions.isPending(iss)) return false;
    const { waitUntil } = this.#options;
    const asked = this.#askOnce(iss);
    if (waitUntil && isPromise(asked)) notify(() => waitUntil(asked));
    return false;
  }

  /**
   * Asks again even if no request does, so that an issuer that the application has removed leaves with its keys. One
   * that nobody uses leaves too.
   */
  #schedule(issuer: KnownIssuer, at = issuer.askAgainAt): void {
    const { clock } = this.#options;
    issuer.cancel();
    if (this.#isStopped) return;
    const wake = () => (issuer.isUnused ? this.#forget(issuer.iss) : void this.#askOnce(issuer.iss));
    issuer.cancel = clock.schedule(wake, Math.max(0, at - clock.now()));
  }

  #forget(iss: string): void {
    this.#known.peek(iss)?.leave();
    this.#known.delete(iss);
  }

  #rejectFor(iss: string, reason: Rejected['reason'], until: number): Rejected {
    this.#forget(iss);
    this.#rejected.set(iss, { reason, until });
    return rejectFor(reason);
  }

  /** Returns the last answer while the application cannot tell. */
  #keep(iss: string, hasFailed = false): TrustOrRejected {
    const issuer = this.#known.peek(iss);
    const now = this.#options.clock.now();
    if (!issuer || issuer.hasExpired) {
      this.#forget(iss);
      return hasFailed ? this.#rejectFor(iss, 'issuer_unavailable', now + retryMs) : rejectFor('issuer_unavailable');
    }
    issuer.doubt(now, hasFailed);
    this.#schedule(issuer, Math.max(issuer.askAgainAt, now + retryMs));
    return issuer.trust;
  }
}
