import type { CheckedOptions, FindIssuer } from '../types.ts';
import type { TimeAndRandom } from '../values/clock.ts';
import { Limited, type WithinLimit } from '../values/time-limit.ts';

/*
 * Questions to the application about issuers: how many at the same time, and how long. When they are asked, and what
 * follows from the answers, is decided in issuer-finder.ts. Every `iss` is unverified here.
 */

/**
 * Questions at the same time, about names that are not known, and about those that are: a database has only so many
 * connections, and a flood of invented names must not keep an issuer that the application has removed.
 */
export const maxQuestions = 100;

export interface QuestionOptions extends Pick<CheckedOptions, 'jwksTimeoutSeconds'>, Pick<TimeAndRandom, 'clock'> {
  readonly ask: FindIssuer;
  readonly withinLimit: WithinLimit;
}

/** What the function of the application returned, or why that is unknown. A question that took too long is given up. */
export type Answer = { readonly returned: unknown } | 'failed' | 'given up';

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

  /** Whether a question took too long: it may have ended without an answer, with the request that asked it. */
  isLost(iss: string): boolean {
    return this.#pending.has(iss) && !this.isPending(iss);
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

  /** Asks about an issuer, and resolves to what `settle` makes of the answer. */
  ask(iss: string, settle: (answer: Answer, askedAt: number) => Outcome): Promise<Outcome> {
    const askedAt = this.#options.clock.now();
    const question: Question<Outcome> = { lostAt: askedAt + this.#options.jwksTimeoutSeconds * 1000 };
    this.#pending.set(iss, question);
    question.outcome = this.#ask(iss).then((answer) => {
      // It must not overwrite what a later one found.
      if (this.#pending.get(iss) !== question) return settle('given up', askedAt);
      this.#pending.delete(iss);
      return settle(answer, askedAt);
    });
    return question.outcome;
  }

  async #ask(iss: string): Promise<Answer> {
    const { ask, withinLimit } = this.#options;
    const limited = new Limited();
    try {
      return { returned: await withinLimit(limited, ask(iss, limited)) };
    } catch {
      // What an application throws may contain secrets.
      return 'failed';
    }
  }
}
