import type { Members } from '../values/json.ts';
import { type Base, type Change, type Forgery, forge } from './forge.ts';
import type { Received } from './http/sender.ts';
import type { KeyServer } from './served-issuer.ts';

// Here is what a row is, and how one is written in a line. What is sent over the network, and when, is decided elsewhere.

/** `must` is what a standard demands, `should` what it or good practice recommends. */
export type Level = 'must' | 'should';
/** What a row needs: only the URL, a good token of any issuer, or an issuer whose key signs what the row wants. */
export type Needs = 'nothing' | 'token' | 'issuer';
/** Where standards differ: which of them decides what is a `must`. */
export type Profile = 'rfc6750' | 'rfc9068' | 'mcp' | 'fapi2';

/** One request. By default, it has no credentials. `TOKEN` in its headers, query and body stands for a good token. */
export interface Attempt {
  /** Presented as good tokens are: as a bearer token, or with a proof. */
  readonly token?: Forgery;
  readonly scheme?: 'Bearer' | 'DPoP';
  /** Proofs for this request, changed: by default one if the scheme is DPoP. */
  readonly proofs?: readonly Change[];
  readonly headers?: readonly (readonly [name: string, value: string])[];
  readonly method?: string;
  /** Changes the path of the URL. */
  readonly path?: (path: string) => string;
  /** Added to the query of the URL. */
  readonly query?: string;
  readonly body?: string;
}

/** What came back, and what it means. */
export interface Answer extends Received {
  /** `served` is the class of status of a good token, `refused` any other up to 499 but 429, and `unclear` the rest. */
  readonly outcome: 'served' | 'refused' | 'unclear';
}

interface Finding {
  readonly verdict: 'passed' | 'failed' | 'skipped' | 'inconclusive';
  /** What came, or why the row was skipped. */
  readonly got: string;
}

/** A target under test, and what a row can do with it. */
export interface Trial {
  readonly base: Base;
  readonly url: string;
  readonly method: string;
  readonly profile: Profile | undefined;
  /** The responses of the controls: to a good token (if there is one), and without credentials. */
  readonly good: Answer | undefined;
  readonly bare: Answer;
  /** The issuer, if it can be reached over the network. */
  readonly server: KeyServer | undefined;
  /** Whether floods and huge headers may be sent. */
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
  /** As `send`, but a request that several rows have in common is sent once. */
  sendOnce(attempt: Attempt): Promise<Answer>;
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
  readonly forgeries?: readonly Forgery[] | undefined;
  /** Returns why the row does not apply. */
  readonly skip?: ((trial: Trial) => string | undefined) | undefined;
  readonly run: (trial: Trial) => Promise<Finding>;
}

/** What the rows of a topic share, and one of them may have differently. */
type Told = Pick<Row, 'rule' | 'needs' | 'remedy'> & Partial<Pick<Row, 'level' | 'expected' | 'profiles' | 'skip'>>;
type Way = Pick<Row, 'run' | 'expected' | 'forgeries'>;
type Line = readonly [sent: string, what: Forgery | readonly Forgery[] | Way, more?: Partial<Told>];

/** Returns the rows of a topic, whose name begins their IDs. */
export const topic = (name: string, told: Told, lines: Readonly<Record<string, Line>>): readonly Row[] =>
  Object.entries(lines).map(([id, [sent, what, more]]) => {
    const way = isWay(what) ? what : refusedTokens(...([what].flat() as readonly Forgery[]));
    return { id: `${name}-${id}`, sent, level: 'must', ...way, ...told, ...more };
  });

const isWay = (what: Line[1]): what is Way => typeof what === 'object' && 'run' in what;

export const finding = (expected: string, run: Row['run']): Way => ({ expected, run });
/** Refuses each of these requests. */
export const refused = (...attempts: readonly Attempt[]): Way =>
  finding('a refusal (4xx)', (trial) => refuses(trial, ...attempts));
/** Accepts each of these requests. */
export const accepted = (...attempts: readonly Attempt[]): Way =>
  finding('success, as with any good token', (trial) => all(trial, attempts, 'served', 'refused'));
const presenting =
  (way: typeof accepted) =>
  (...forgeries: readonly Forgery[]): Way => ({ ...way(...forgeries.map((token) => ({ token }))), forgeries });
export const acceptedTokens = presenting(accepted);
const refusedTokens = presenting(refused);

/** Decides about the responses to requests: `fault` returns what is wrong with one. */
export const response = (
  expected: string,
  attempts: Attempt | readonly Attempt[],
  fault: (answer: Answer, trial: Trial) => string | undefined,
): Way =>
  finding(expected, async (trial) => {
    let words = '';
    for (const attempt of [attempts].flat() as readonly Attempt[]) {
      const answer = await trial.sendOnce(attempt);
      if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got: answer.words };
      const got = fault(answer, trial);
      if (got !== undefined) return { verdict: 'failed', got };
      words = answer.words;
    }
    return { verdict: 'passed', got: words };
  });

/** Sends requests until one is served. A token that its change leaves as it is, such as an opaque one, is not sent. */
export async function refuses(trial: Trial, ...attempts: readonly Attempt[]): Promise<Finding> {
  const { base } = trial;
  const changed = attempts.filter(
    ({ token }) => token === undefined || !base.token || forge(base, token) !== base.token,
  );
  return all(trial, changed, 'refused', 'served');
}

async function all(trial: Trial, attempts: readonly Attempt[], want: Answer['outcome'], fault: Answer['outcome']) {
  let last: Finding = { verdict: 'skipped', got: 'The token has no part that can be changed so' };
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

export const isScoped = ({ base }: Trial) => (base.scope === '' ? 'The target names no scope' : undefined);
export const isBearer = ({ scheme }: Trial) => (scheme === 'Bearer' ? undefined : 'Tokens are bound to keys');

/** The subject of good tokens, by which a response to another client is noticed. */
export const controlSubject = 'probe-control';
