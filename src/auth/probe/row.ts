import type { Members } from '../values/json.ts';
import { type Base, type Change, type Forgery, forge } from './forge.ts';
import type { KeyServer } from './served-issuer.ts';

// Here is what a row is, and how one is written in a line. What is sent over the network, and when, is decided elsewhere.

/** `must` is what a standard demands, `should` what it or good practice recommends. */
export type Level = 'must' | 'should';
/** What a row needs: only the URL, a good token of any issuer, or an issuer whose key signs what the row wants. */
export type Needs = 'nothing' | 'token' | 'issuer';
/** Where standards differ: which of them decides what is a `must`. */
export type Profile = 'rfc6750' | 'rfc9068' | 'mcp' | 'fapi2';

/** One request. By default, it has no credentials. */
export interface Attempt {
  /** Presented as good tokens are: as a bearer token, or with a proof. */
  readonly token?: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly method?: string;
  /** Changes the URL. */
  readonly url?: (url: string) => string;
  /** A form. */
  readonly body?: string;
}

/** What came back. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `served` is the class of status of a good token, `refused` any other up to 499 but 429, and `unclear` the rest. */
  readonly outcome: 'served' | 'refused' | 'unclear';
  /** The response in one line, or why there is none. */
  readonly words: string;
}

export interface Finding {
  readonly verdict: 'passed' | 'failed' | 'skipped' | 'inconclusive';
  /** What came, or why the row was skipped. */
  readonly got: string;
}

/** A target under test, and what a row can do with it. */
export interface Trial {
  readonly base: Base;
  readonly url: string;
  readonly method: string;
  /** The scopes that the target requires. */
  readonly scope: readonly string[];
  readonly profile: Profile | undefined;
  /** The responses of the controls: to a good token (if there is one), and without credentials. */
  readonly good: Answer | undefined;
  readonly bare: Answer;
  /** The issuer, if it can be reached over the network. */
  readonly server: KeyServer | undefined;
  /** Whether callbacks, floods and huge headers may be sent. */
  readonly isIntrusive: boolean;
  /** The scheme in which good tokens are presented. */
  readonly scheme: 'Bearer' | 'DPoP';
  /** Whether the challenge or the metadata name DPoP. */
  readonly hasDpop: boolean;
  /** The metadata (RFC 9728) and their URL, if there are any on this host. */
  readonly metadata: Members | undefined;
  readonly metadataUrl: string | undefined;
  /** The newest nonce for proofs that the target gave out. */
  nonce(): string | undefined;
  send(attempt: Attempt): Promise<Answer>;
  /** Reads another URL of the same host without credentials. */
  read(url: string): Promise<Answer>;
}

export interface Row {
  readonly id: string;
  /** The standard and section that demand it. */
  readonly rule: string;
  readonly level: Level;
  readonly needs: Needs;
  readonly sent: string;
  readonly expected: string;
  /** How such a fault is usually repaired. */
  readonly remedy: string;
  /** Levels in profiles that differ. */
  readonly profiles?: Readonly<Partial<Record<Profile, Level>>> | undefined;
  /** The changes to a good token, if that is what is sent. */
  readonly forgeries?: readonly Forgery[];
  /** Returns why the row does not apply. */
  readonly skip?: ((trial: Trial) => string | undefined) | undefined;
  readonly run: (trial: Trial) => Promise<Finding>;
}

/** What the rows of a topic share, and one of them may have differently. */
type Told = Pick<Row, 'rule' | 'needs' | 'remedy'> & Partial<Pick<Row, 'level' | 'expected' | 'profiles' | 'skip'>>;
type Way = Pick<Row, 'run'> & { readonly expected?: string };
type Line = readonly [sent: string, what: Forgery | readonly Forgery[] | Way, more?: Partial<Told>];

/** Returns the rows of a topic, whose name begins their IDs. */
export const topic = (name: string, told: Told, lines: Readonly<Record<string, Line>>): readonly Row[] =>
  Object.entries(lines).map(([id, [sent, what, more]]) => {
    const { run, expected } = isWay(what) ? what : refused(what);
    const forgeries = isWay(what) ? {} : { forgeries: [what].flat() as readonly Forgery[] };
    const shared = { level: 'must' as const, expected: expected ?? 'a refusal (4xx)', ...told, ...more };
    return { id: `${name}-${id}`, sent, run, ...forgeries, ...shared };
  });

const isWay = (what: Line[1]): what is Way => typeof what === 'object' && 'run' in what;

/** Refuses each of these tokens. */
const refused = (forgeries: Forgery | readonly Forgery[]): Way => ({
  run: (trial) =>
    refuses(
      trial,
      ([forgeries].flat() as Forgery[]).map((each) => ({ token: forge(trial.base, each) })),
    ),
});

/** Accepts each of these tokens. */
export const accepted = (...forgeries: readonly Forgery[]): Way => ({
  expected: 'success, as with any good token',
  run: (trial) =>
    accepts(
      trial,
      forgeries.map((each) => ({ token: forge(trial.base, each) })),
    ),
});

/** Refuses each of these requests. */
export const requests = (...attempts: readonly (Attempt | ((trial: Trial) => Attempt))[]): Way => ({
  run: (trial) =>
    refuses(
      trial,
      attempts.map((each) => (typeof each === 'function' ? each(trial) : each)),
    ),
});

/** Accepts this request. */
export const acceptedRequest = (attempt: (trial: Trial) => Attempt): Way => ({
  expected: 'success, as with any good token',
  run: (trial) => accepts(trial, [attempt(trial)]),
});

/** Decides about the response to a request: `fault` returns what is wrong with it. */
export const response = (
  expected: string,
  attempt: Attempt | ((trial: Trial) => Attempt),
  fault: (answer: Answer, trial: Trial) => string | undefined,
): Way => ({
  expected,
  async run(trial) {
    const answer = await trial.send(typeof attempt === 'function' ? attempt(trial) : attempt);
    if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got: answer.words };
    const got = fault(answer, trial);
    return got === undefined ? { verdict: 'passed', got: answer.words } : { verdict: 'failed', got };
  },
});

export const finding = (expected: string, run: (trial: Trial) => Promise<Finding>): Way => ({ expected, run });

/** Sends requests until one is served, or it is unclear whether it is. */
export async function refuses(trial: Trial, attempts: readonly Attempt[]): Promise<Finding> {
  return all(trial, attempts, 'refused', 'served');
}

async function accepts(trial: Trial, attempts: readonly Attempt[]): Promise<Finding> {
  return all(trial, attempts, 'served', 'refused');
}

async function all(
  trial: Trial,
  attempts: readonly Attempt[],
  want: 'served' | 'refused',
  fault: 'served' | 'refused',
) {
  let last: Finding = { verdict: 'skipped', got: 'nothing to send' };
  for (const [at, attempt] of attempts.entries()) {
    const { outcome, words } = await trial.send(attempt);
    const got = attempts.length > 1 && outcome !== want ? `${words} (variant ${at + 1} of ${attempts.length})` : words;
    if (outcome === fault) return { verdict: 'failed' as const, got };
    if (outcome === 'unclear') last = { verdict: 'inconclusive', got };
    else if (last.verdict !== 'inconclusive') last = { verdict: 'passed', got };
  }
  return last;
}

/** Returns a change for each value of a member of the header, or of a claim. */
export const headers = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ header: { [name]: value } }));
export const claims = (name: string, ...values: readonly unknown[]): readonly Change[] =>
  values.map((value) => ({ claims: { [name]: value } }));

/** The subject of good tokens, by which a response to another client is noticed. */
export const controlSubject = 'probe-control';

/** Skips a row of a target without a scope. */
export const isScoped = ({ scope }: Trial) => (scope.length > 0 ? undefined : 'The target names no scope');
