import { type Forgery, forge } from '../forge/forge.ts';
import { printable } from '../values/text.ts';
import type { Answer, Attempt, Finding, Row, Trial } from './row.ts';

// Here is how a row is written: a token in a line, a request as an object. What each means is in row.ts.

/** What the rows of a topic share, and one of them may have differently. */
type Told = Pick<Row, 'rule' | 'needs' | 'remedy'> &
  Partial<Pick<Row, 'level' | 'expected' | 'profiles' | 'onlyIn' | 'skip' | 'ownCode' | 'disturbs' | 'fetches'>>;
/** What is sent, how often, and what must come back. */
type Way = Pick<Row, 'run' | 'requests' | 'expected' | 'forgeries'>;
type RequestLine = Pick<Row, 'sent'> & Way & Partial<Told>;
type TokenLine = readonly [sent: string, what: Forgery | readonly Forgery[] | Way, more?: Partial<Told>];
/** The rows of a topic, whose name begins their IDs. */
type Topic<Name extends string, Line> = readonly Row<`${Name}-${Extract<keyof Line, string>}`>[];

/** Returns the rows of a topic about requests. */
export function requests<Name extends string, Line extends Readonly<Record<string, RequestLine>>>(
  name: Name,
  told: Told,
  lines: Line,
): Topic<Name, Line> {
  const rows = Object.entries(lines).map(([id, line]) => {
    // What is written instead of one remedy is not written instead of another.
    const { ownCode } = line.remedy === undefined ? { ...told, ...line } : line;
    return { id: `${name}-${id}`, level: 'must', ...told, ...line, ownCode };
  });
  return rows as unknown as Topic<Name, Line>;
}

/** Returns the rows of a topic about tokens, which must be rejected unless a line says otherwise. */
export function tokens<Name extends string, Line extends Readonly<Record<string, TokenLine>>>(
  name: Name,
  told: Told,
  lines: Line,
): Topic<Name, Line> {
  const asRequest = ([sent, what, more]: TokenLine): RequestLine => {
    const way = isWay(what) ? what : rejectedTokens(...([what].flat() as readonly Forgery[]));
    return { sent, ...way, ...more };
  };
  const entries = Object.entries(lines).map(([id, line]) => [id, asRequest(line)] as const);
  return requests(name, told, Object.fromEntries(entries)) as unknown as Topic<Name, Line>;
}

const isWay = (what: TokenLine[1]): what is Way => typeof what === 'object' && 'run' in what;

/** Sends at most so many requests, and decides by itself. */
export const finding = (expected: string, requests: number, run: Row['run']): Way => ({ expected, requests, run });
/** Rejects each of these requests. */
export const rejected = (...attempts: readonly Attempt[]): Way =>
  finding('a rejection (4xx)', attempts.length, (trial) => rejects(trial, ...attempts));
/** Accepts each of these requests. */
export const accepted = (...attempts: readonly Attempt[]): Way =>
  finding('success, as with any good token', attempts.length, (trial) => all(trial, attempts, 'served', 'rejected'));
const presenting =
  (way: typeof accepted) =>
  (...forgeries: readonly Forgery[]): Way => ({ ...way(...forgeries.map((token) => ({ token }))), forgeries });
export const acceptedTokens = presenting(accepted);
export const rejectedTokens = presenting(rejected);

/** What is wrong with a response, or why it decides nothing. */
export type Fault = string | Finding | undefined;

/** Decides about the responses to requests: `fault` returns what is wrong with one. */
export const response = (
  expected: string,
  attempts: Attempt | readonly Attempt[],
  fault: (answer: Answer, trial: Trial) => Fault | Promise<Fault>,
): Way =>
  finding(expected, [attempts].flat().length, async (trial) => {
    let words = '';
    const sent = [attempts].flat() as readonly Attempt[];
    for (const [at, attempt] of sent.entries()) {
      const answer = await trial.sendOnce(attempt);
      if (answer.outcome === 'unclear') return { verdict: 'inconclusive', got: answer.words };
      const got = await fault(answer, trial);
      if (typeof got === 'object') return got;
      if (got !== undefined) return { verdict: 'failed', got: got + variant(trial, at, sent) };
      words = answer.words;
    }
    return { verdict: 'passed', got: words };
  });

/** What a good token gets must not come. A spelling may be another route, which is public. */
export const unlikeTheTarget = (
  attempts: Attempt | readonly Attempt[],
  isFault: (answer: Answer) => boolean = () => true,
): Way =>
  response('anything but the protected response', attempts, async (answer, { isProtected }) =>
    isFault(answer) && (await isProtected(answer)) ? answer.words : undefined,
  );

/** Says which of several requests it was. */
function variant(trial: Trial, at: number, attempts: readonly Attempt[]): string {
  const { [at]: attempt, length } = attempts;
  if (attempt === undefined || length === 1) return '';
  const difference = printable(differenceIn(attempt, trial), 60);
  return ` (variant ${at + 1} of ${length}${difference && `: ${difference}`})`;
}

/** Returns what is changed in a request, with nothing of a good token. */
function differenceIn({ path, query, headers, token }: Attempt, { base, url }: Trial): string {
  if (path) return path(new URL(url).pathname);
  if (query !== undefined) return `?${query}`;
  if (headers) return headers.map(([name, value]) => `${name}: ${value}`).join(', ');
  const change = typeof token === 'function' ? token(base) : token;
  if (typeof change !== 'object') return '';
  const members = { ...change.header, ...change.claims };
  const shown = JSON.stringify(members, (_, value: unknown) => (value === undefined ? '(absent)' : value));
  return shown === '{}' ? '' : shown;
}

/** Sends requests until one is served. A token that its change leaves as it is, such as an opaque one, is not sent. */
export async function rejects(trial: Trial, ...attempts: readonly Attempt[]): Promise<Finding> {
  const { base } = trial;
  const changed = attempts.filter(
    ({ token }) => token === undefined || !base.token || forge(base, token) !== base.token,
  );
  return all(trial, changed, 'rejected', 'served');
}

async function all(trial: Trial, attempts: readonly Attempt[], want: Answer['outcome'], fault: Answer['outcome']) {
  let last: Finding = { verdict: 'skipped', got: 'The token has no part that can be changed so' };
  for (const [at, attempt] of attempts.entries()) {
    const { outcome, words } = await trial.send(attempt);
    const got = outcome === want ? words : words + variant(trial, at, attempts);
    if (outcome === fault) return { verdict: 'failed' as const, got };
    if (outcome === 'unclear') last = { verdict: 'inconclusive', got };
    else if (last.verdict !== 'inconclusive') last = { verdict: 'passed', got };
  }
  return last;
}

/** Why rows do not apply to a target. */
export const isScoped = ({ base }: Trial) => (base.scope === '' ? 'The target names no scope' : undefined);
export const isBearer = ({ scheme }: Trial) => (scheme === 'Bearer' ? undefined : 'Tokens are bound to keys');
export const isServed = ({ server }: Trial) =>
  server ? undefined : 'The issuer publishes its keys in memory: --serve-issuer';
export const isFetched = (trial: Trial) =>
  isServed(trial) ?? (trial.hasSideKeys() ? undefined : 'The API has not fetched the keys of these rows');
