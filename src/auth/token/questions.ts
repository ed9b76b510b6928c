import type { CheckedOptions, FindIssuer } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { nameOfFault } from '../values/faults.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';
import type { FoundIssuer } from './known-issuer.ts';

/*
 * Questions to the application about issuers: how many at the same time, how long, and what an answer means. When they
 * are asked, and what is kept of the answers, is decided in issuer-finder.ts. Every `iss` is unverified here.
 */

/**
 * Questions at the same time, about names that are not known, and about those that are: a database has only so many
 * connections, and a flood of invented names must not keep an issuer that the application has removed.
 */
export const maxQuestions = 100;

export interface QuestionOptions
  extends Pick<CheckedOptions, 'jwksTimeoutSeconds' | 'jwksMaxAgeSeconds'>,
    Pick<TimeAndRandom, 'clock'> {
  readonly ask: FindIssuer;
  /**
   * Checks what the application returned for `iss`. Returns `earlier` if it says the same.
   * @throws {TypeError} it is not valid; the message says why
   */
  readonly read: (iss: string, returned: unknown, earlier: FoundIssuer | undefined) => FoundIssuer;
  readonly withinLimit: WithinLimit;
}

/** The issuer that the application returned, or why there is none. A question that took too long can be given up. */
export type Answer = FoundIssuer | 'unknown' | 'unusable' | 'failed' | 'given up';

interface Question<Outcome> {
  /** Undefined until the function of the application has returned. */
  outcome?: Promise<Outcome>;
  /** On Cloudflare Workers, a question may end without an answer, with the request that asked it. */
  readonly lostAt: number;
}

/** One question about an issuer at a time, for all that wait for it. */
export class Questions<Outcome> {
  readonly #options: QuestionOptions;
  readonly #pending = new Map<string, Question<Outcome>>();
  #warnAt = Number.NEGATIVE_INFINITY;

  constructor(options: QuestionOptions) {
    this.#options = options;
  }

  /** The issuers that are asked about. */
  get issuers(): readonly string[] {
    return [...this.#pending.keys()];
  }

  isPending(iss: string): boolean {
    return this.#options.clock.now() < (this.#pending.get(iss)?.lostAt ?? 0);
  }

  /** Whether no more questions can be asked about issuers like this one. */
  areTooMany(isLike: (iss: string) => boolean): boolean {
    if (this.#pending.size < maxQuestions) return false;
    for (const iss of this.issuers) if (!this.isPending(iss)) this.#pending.delete(iss);
    return this.issuers.filter(isLike).length >= maxQuestions;
  }

  /** Resolves to what comes of the pending question; undefined after a time limit, because the question may be lost. */
  async waitFor(iss: string): Promise<Outcome | undefined> {
    try {
      return (await this.#options.withinLimit(new Limited(), this.#pending.get(iss)?.outcome)) as Outcome | undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Asks about an issuer, and resolves to what `settle` makes of the answer.
   * @param earlierOf returns the answer before, as of when there is another
   */
  ask(
    iss: string,
    earlierOf: () => FoundIssuer | undefined,
    settle: (answer: Answer, askedAt: number) => Outcome,
  ): Promise<Outcome> {
    const askedAt = this.#options.clock.now();
    const question: Question<Outcome> = { lostAt: askedAt + this.#options.jwksTimeoutSeconds * 1000 };
    this.#pending.set(iss, question);
    question.outcome = this.#ask(iss, question, earlierOf).then((answer) => settle(answer, askedAt));
    return question.outcome;
  }

  async #ask(iss: string, question: Question<Outcome>, earlierOf: () => FoundIssuer | undefined): Promise<Answer> {
    const { ask, read, withinLimit, jwksTimeoutSeconds } = this.#options;
    const limited = new Limited();
    const limitedAsk = async () => ({ returned: await withinLimit(limited, ask(iss, limited)) });
    const answer = await limitedAsk().catch(() => undefined);
    // A question that was given up must not overwrite what a later one found.
    if (this.#pending.get(iss) !== question) return 'given up';
    this.#pending.delete(iss);
    if (!answer) {
      // What an application throws may contain secrets.
      this.#warn(`failed, or took longer than ${jwksTimeoutSeconds} seconds`);
      return 'failed';
    }
    if ((answer.returned ?? undefined) === undefined) return 'unknown';
    try {
      return read(iss, answer.returned, earlierOf());
    } catch (error) {
      // Anything but a message of ours may contain secrets.
      const fault = error instanceof TypeError ? error.message : `Reading it threw ${nameOfFault(error)}`;
      this.#warn(`returned what cannot be used. ${fault}`);
      return 'unusable';
    }
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
