import { Rejected, rejections } from '../rejections.ts';
import { printable } from '../values/ascii.ts';
import { isJsonObject } from '../values/json.ts';
import { type Check, check } from './checks/explained.ts';
import type { Suggestion } from './unchecked/suggestion.ts';

/** The result of one check. */
export interface ExplainedCheck {
  /** Such as `signature` or `audience`. */
  readonly name: string;
  /** What the token has. Not escaped. */
  readonly has: string;
  /** Whether the token passes it. */
  readonly verdict: 'passed' | 'rejected' | 'not reached';
  /** The verdict in words. Not escaped. */
  readonly words: string;
}

/** What the guard decides about a token, and why. */
export interface Explanation {
  /** In the order in which the guard makes them. */
  readonly checks: readonly ExplainedCheck[];
  /** Whether routes that require only a token accept it. */
  readonly isAccepted: boolean;
  /** Status of the response to a request with this token; undefined if the missing issuer and audience decide. */
  readonly status: number | undefined;
  /** The error that its body names, as `error` or as `code`; undefined if the status is 200. */
  readonly error: string | undefined;
  /** What to change, or that the token is accepted. Not escaped. */
  readonly advice: string;
  /** Without an issuer and an audience: the options that would accept the token; undefined if it is no JWT. */
  readonly suggestion: Suggestion | undefined;
  /** Returns a line for each check and one for the response, in printable ASCII. Defaults to no colour. */
  render(hasColour?: boolean): string;
}

/** What the claims of a token would lead to if its signature had been verified. */
export type Unverified = Rejected | 'accepted';

/** The checks that nothing but a key, or the application, can decide. */
const unverifiable = ['binding', 'schema', 'signature'];

/**
 * The checks before the one that rejected have passed. Those after it were not reached. A reason that no check names is
 * a row of its own, and which of the others have passed is then unknown.
 * @param unverified what the checks that were not reached would decide; undefined if that is unknown
 */
export function withVerdicts(
  checks: readonly Check[],
  rejected: Rejected | undefined,
  unverified?: Unverified,
): readonly ExplainedCheck[] {
  const indexOf = (outcome: Unverified = 'accepted') =>
    [...checks, undefined].findIndex((each) => !each || (outcome instanceof Rejected && outcome.reason in each.advice));
  const rejecting = indexOf(rejected);
  if (rejected && rejecting === checks.length) {
    const { reason } = rejected;
    const row = check(reason, undefined, rejections[reason].description, { [reason]: '' });
    return withVerdicts([row, ...checks], rejected);
  }
  const last = unverified === undefined ? rejecting : indexOf(unverified);
  return checks.flatMap(({ name, has, wants, passed }, index): ExplainedCheck[] => {
    if (index === rejecting) return [{ name, has: has ?? 'none', verdict: 'rejected', words: `rejected: ${wants}` }];
    if (has === undefined) return [];
    if (index < rejecting) return [{ name, has, verdict: 'passed', words: passed }];
    const would = index === last ? `rejected: ${wants}` : 'accepted';
    const words = unverifiable.includes(name) ? 'not verified' : `not verified, would be ${would}`;
    return [{ name, has, verdict: 'not reached', words: index > last ? 'not reached' : words }];
  });
}

const verdictColours: Readonly<Record<ExplainedCheck['verdict'], number>> = {
  passed: 32,
  rejected: 31,
  'not reached': 2,
};

/** Longer values are truncated, except the rejected one. */
const maxValueLength = 80;

/** Returns an explanation that can be rendered. */
export const withRender = (explanation: Omit<Explanation, 'render'>): Explanation => ({
  ...explanation,
  render: (hasColour = false) => renderExplanation(explanation, hasColour),
});

/** Returns an explanation for a terminal, one line per check. A token can have any characters, so all are escaped. */
function renderExplanation(explanation: Omit<Explanation, 'render'>, hasColour: boolean): string {
  const { checks, status, error, advice, suggestion } = explanation;
  const paint = (colour: number, text: string) => (hasColour ? `\u001b[${colour}m${text}\u001b[0m` : text);
  const rows = checks.map(({ name, has, verdict, words }) => {
    const isCut = has.length > maxValueLength && verdict !== 'rejected';
    const value = isCut ? `${escaped(has.slice(0, maxValueLength))}...` : escaped(has);
    return { name, value, end: paint(verdictColours[verdict], escaped(words)) };
  });
  const width = Math.min(maxValueLength, Math.max(...rows.map(({ value }) => value.length)));
  const lines = rows.map(({ name, value, end }) => `${name.padEnd(12)}${value.padEnd(width)}  ${end}`);
  const response = [status, error].filter((part) => part !== undefined).join(' ');
  const last = escaped(response === '' ? advice : `${response}: ${advice}`);
  const suggested = suggestion === undefined ? [] : ['', ...renderSuggestion(suggestion).map(escaped)];
  return `${[...lines, paint(verdictColours[status === 200 ? 'passed' : 'rejected'], last), ...suggested].join('\n')}\n`;
}

/** Returns a value of an option in code. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (!isJsonObject(value)) return typeof value === 'string' ? `'${value}'` : `${value}`;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${literal(member)}`);
  return `{ ${members.join(', ')} }`;
}

/** Returns lines with the suggestion as settings for a shell, and as options in code. Its values need no escapes. */
function renderSuggestion({ options, settings, page, warnings }: Suggestion): readonly string[] {
  return [
    ...Object.entries(settings).map(([name, value]) => `${name}=${/[^\w.,:/@=-]/.test(value) ? `'${value}'` : value}`),
    '',
    'createGuard({',
    ...Object.entries(options).map(([name, value]) => `  ${name}: ${literal(value)},`),
    '})',
    '',
    ...warnings,
    ...(page === undefined ? [] : [`Other settings that this issuer may need: ${page}`]),
  ];
}

const escaped = (text: string) => printable(text, Number.POSITIVE_INFINITY);
